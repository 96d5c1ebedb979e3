/* Answers by a grammar: whatever chooses their tokens, they match it. */
#include "sampling/generate.h"

#include "sampling/grammar/matcher.h"
#include "sampling/grammar/source.h"
#include "tests/lib/tiny_text.h"

static struct model model;
static struct engine engine;
static struct sequence sequence;
static struct generate_config config;
static struct sampler_config sampler;
static struct answer answers[4];

static int set_up(void **state)
{
    (void)state;
    tiny_speaker(&model, 11);
    assert_ok(engine_init(&engine, &model, 8));
    assert_ok(sequence_init(&sequence, &engine));
    generate_config_init(&config);
    sampler_config_init(&sampler);
    config.max_new_tokens = 30;
    sampler.seed = 3;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sequence_release(&sequence);
    assert_int_equal(engine.cache.n_free, engine.cache.n_pages);
    engine_release(&engine);
    tiny_speaker_release(&model);
    return 0;
}

/* Whether a text matches the grammar of the settings: 2, begins one that does: 1, or not: 0. */
static int matches(const char *text, size_t n)
{
    struct grammar *g;
    struct matcher *m;
    assert_ok(grammar_load(&g, sampler.grammar));
    assert_ok(matcher_new(&m, g, MATCHER_NODES));
    int s = matcher_start(m);
    for (size_t i = 0; i < n; i++)
        s = matcher_step(m, s, (unsigned char)text[i]);
    const int how = matcher_ends(m, s) ? 2 : s != MATCHER_DEAD;
    matcher_free(m);
    grammar_free(g);
    return how;
}

static void answer_prompt(const char *prompt)
{
    struct prompt p = {0};
    assert_ok(prompt_encode(&p, &model, &config, prompt, strlen(prompt)));
    assert_ok(generate(&sequence, &p, &config, &sampler, NULL, answers));
    prompt_release(&p);
}

static void release_answers(void)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        answer_release(&answers[i]);
}

/* An answer that was not cut off matches; one that was could have gone on. */
static void check_answers(int n)
{
    for (int i = 0; i < n; i++) {
        const struct answer *a = &answers[i];
        const bool cut = a->finish == FINISH_LENGTH || a->finish == FINISH_CONTEXT;
        if (matches(buf_text(&a->text), a->text.n) < (cut ? 1 : 2))
            fail_msg("%s: \"%s\", %s", sampler.grammar, buf_text(&a->text), finish_name(a->finish));
    }
}

static void whatever_chooses(void **state)
{
    (void)state;
    static const char *const grammars[] = {
        "root ::= \"yes\" | \"no\" | \"the end\"",
        "root ::= [a-e]{3} (\", \" [a-e]{3}){,3}",
        "root ::= (\"the\" | [ .])*",
        "root ::= \"\\\"\" [^\"\\n]{2,12} \"\\\"\"",
    };
    int ended = 0;
    for (size_t i = 0; i < sizeof grammars / sizeof *grammars; i++)
        for (int way = 0; way < 8; way++) {
            sampler.grammar = (char *)grammars[i];
            sampler.temperature = way == 0 ? 0 : 1;
            sampler.top_k = way == 1 ? 4 : 0;
            sampler.mirostat = way == 2 ? 2 : 0;
            sampler.ignore_eos = way == 3;
            config.penalty_alpha = way == 1 ? 0.6f : 0;
            config.num_beams = way == 3 || way == 4 ? 3 : 1;
            config.num_return_sequences = way == 4 || way == 5 ? 3 : 1;
            config.trim = way != 6;
            sampler.logit_bias = way == 7 ? "0:-5,102:3" : NULL;
            answer_prompt(way % 2 == 0 ? "x = 1" : "the end of ");
            check_answers(config.num_return_sequences);
            ended += answers[0].finish != FINISH_LENGTH;
            release_answers();
        }
    assert_true(ended > 12);
}

/* Where nothing is left the answer ends: with a text that matches, or in the middle. */
static void nothing_is_left(void **state)
{
    (void)state;
    sampler.grammar = "root ::= \"ab\" \"!\"";
    sampler.ignore_eos = true;
    for (int way = 0; way < 3; way++) {
        config.num_beams = way == 1 ? 2 : 1;
        config.penalty_alpha = way == 2 ? 0.5f : 0;
        sampler.top_k = way == 2 ? 3 : 0;
        sampler.bad_words = NULL;
        answer_prompt("the");
        assert_string_equal(buf_text(&answers[0].text), "ab!");
        assert_int_equal(answers[0].finish, FINISH_GRAMMAR);
        assert_int_equal(sequence.ids.n, answers[0].n_prompt + answers[0].ids.n);
        release_answers();
        sampler.bad_words = "!";
        answer_prompt("the");
        assert_string_equal(buf_text(&answers[0].text), "ab");
        assert_int_equal(answers[0].finish, FINISH_NO_TOKEN);
        release_answers();
    }
}

/* The space that a prompt ends with is not the grammar's, and the answer's first token has it. */
static void a_held_space(void **state)
{
    (void)state;
    sampler.grammar = "root ::= \"the\"";
    answer_prompt("of ");
    assert_string_equal(buf_text(&answers[0].text), "the");
    size_t n;
    assert_int_equal(*tokenizer_bytes(model.tokenizer, answers[0].ids.data[0], &n), ' ');
    release_answers();
    sampler.grammar = "root ::= \" the\"";
    answer_prompt("of");
    assert_string_equal(buf_text(&answers[0].text), " the");
    release_answers();
}

/* An answer that goes on from one that was cut is, with it, the answer that was not. */
static void goes_on(void **state)
{
    (void)state;
    sampler.grammar = "root ::= \"(\" [a-e]{4} (\",\" [a-e]{4}){5} \")\"";
    sampler.temperature = 0;
    for (int space = 0; space < 2; space++) {
        struct buf whole = {0}, parts = {0};
        sampler.grammar_read.n = 0;
        sampler.grammar_read.skip_space = space != 0;
        config.max_new_tokens = 60;
        answer_prompt(space ? "x " : "x");
        assert_int_equal(answers[0].finish, FINISH_STOP_TOKEN);
        assert_ok(buf_add(&whole, answers[0].text.data, answers[0].text.n));
        release_answers();
        config.max_new_tokens = 7;
        answer_prompt(space ? "x " : "x");
        assert_ok(buf_add(&parts, answers[0].text.data, answers[0].text.n));
        for (int i = 0; i < 6 && answers[0].finish == FINISH_LENGTH; i++) {
            sampler.grammar_read.n += (int)answers[0].ids.n;
            release_answers();
            assert_ok(generate(&sequence, NULL, &config, &sampler, NULL, answers));
            assert_ok(buf_add(&parts, answers[0].text.data, answers[0].text.n));
        }
        release_answers();
        assert_string_equal(buf_text(&parts), buf_text(&whole));
        buf_release(&parts);
        buf_release(&whole);
    }
}

/* More readings at once than there is room for are an error, and the text is as it was. */
static void too_many_readings(void **state)
{
    (void)state;
    struct prompt p = {0};
    sampler.grammar = "root ::= s\ns ::= [a-z ] s \"b\" | [a-z ] s \"c\" | \"x\"";
    sampler.logit_bias = "121:-inf"; /* x */
    assert_ok(prompt_encode(&p, &model, &config, "the end", 7));
    for (int way = 0; way < 3; way++) {
        config.num_beams = way == 1 ? 2 : 1;
        config.penalty_alpha = way == 2 ? 0.5f : 0;
        sampler.top_k = way == 2 ? 3 : 0;
        assert_fails(generate(&sequence, &p, &config, &sampler, NULL, answers), ERR_RANGE,
                     "a text can be read in too many ways at once");
        release_answers();
    }
    prompt_release(&p);
}

static void what_excludes_it(void **state)
{
    (void)state;
    struct sampler *s;
    sampler.chain = "temperature,top_p";
    sampler.grammar = "root ::= \"a\"*";
    assert_fails(generate_config_check(&config, &sampler), ERR_RANGE, "chain has no stage grammar");
    sampler.chain = "grammar, top_p";
    assert_ok(generate_config_check(&config, &sampler));
    sampler.grammar = "root ::= \"a\"*";
    config.on_full = ON_FULL_SLIDE;
    assert_fails(generate_config_check(&config, &sampler), ERR_RANGE,
                 "a grammar needs on_full=stop");
    assert_fails(sampler_new(&s, &sampler, TINY_V, 10, NULL, NULL), ERR_UNSUPPORTED,
                 "grammar needs a tokenizer, and this model has none");
    sampler.grammar = "root ::= a";
    assert_fails(sampler_new(&s, &sampler, TINY_V, 10, model.tokenizer, NULL), ERR_FORMAT,
                 "grammar: line 1: there is no rule a");
    sampler.grammar = "/nowhere/a.gbnf";
    assert_fails(sampler_config_check(&sampler), ERR_MISSING, "there is no file /nowhere/a.gbnf");
}

/* Failing allocations leave nothing behind. */
static void without_memory(void **state)
{
    (void)state;
    struct sampler *s;
    uint64_t k = 1;
    sampler.grammar = "root ::= ([a-z]{2} | \"x\"? \"y\" | [\xc3\xa9])+";
    for (int rc = ERR_NOMEM; rc != 0; k++) {
        const size_t before = mem_heap_bytes();
        mem_fail_at(k);
        rc = sampler_new(&s, &sampler, TINY_V, 50, model.tokenizer, NULL);
        mem_fail_at(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        assert_true(rc == 0 || mem_heap_bytes() <= before + 100000); /* the order of the tokens */
    }
    assert_true(k > 20);
    const uint64_t count = mem_count();
    float logits[TINY_V] = {0};
    token_id text[40] = {0};
    for (int n = 0; n < 30; n++)
        text[n + 1] = sampler_pick(s, logits, text, (size_t)n + 1, n).id;
    assert_int_equal(mem_count(), count);
    sampler_free(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whatever_chooses), TEST(nothing_is_left),   TEST(a_held_space),   TEST(goes_on),
        TEST(what_excludes_it), TEST(too_many_readings), TEST(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
