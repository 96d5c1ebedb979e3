/* What an answer's tokens were chosen from is what they were drawn from, whatever became of the
 * context meanwhile. */
#include "repl/session/explain.h"

#include "model/base/par.h"
#include "sampling/generate.h"
#include "tests/lib/test.h"
#include "tests/lib/tiny_text.h"

#include <math.h>

static struct model model;
static struct engine engine;
static struct sequence sequence;
static struct settings settings;

static int set_up(void **state)
{
    (void)state;
    par_open(2, false);
    tiny_speaker(&model, 11);
    assert_ok(engine_init(&engine, &model, 4));
    assert_ok(sequence_init(&sequence, &engine));
    settings_init(&settings);
    settings.sampler.seed = 3;
    settings.sampler.ignore_eos = true;
    settings.sampler.temperature = 1;
    settings.sampler.top_p = 1;
    settings.sampler.top_k = 3;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sequence_release(&sequence);
    engine_release(&engine);
    tiny_speaker_release(&model);
    return 0;
}

/* Draw two answers, explain each: every token was one of the three that were left, with the
 * probability that it had. */
static void check_explained(size_t n_prompt, int n_new)
{
    struct answer answers[2] = {0};
    struct prompt p = {0};
    struct chooser by;
    struct generate_callbacks callbacks = {.want_logprobs = true};
    token_id ids[1024];
    assert_in_range(n_prompt, 1, 1024);
    tiny_ids(ids, n_prompt, &model.config, 5);
    settings.generate.max_new_tokens = n_new;
    settings.generate.num_return_sequences = 2;
    assert_ok(ids_add(&p.ids, ids, n_prompt));
    assert_ok(generate(&sequence, &p, &settings.generate, &settings.sampler, &callbacks, answers));
    chooser_init(&by, &settings);
    for (int k = 0; k < 2; k++) {
        struct explanation e;
        struct ids text = {0};
        assert_ok(ids_add(&text, ids, n_prompt));
        assert_ok(ids_add(&text, answers[k].ids.data, answers[k].ids.n));
        struct explained t = {.ids = text.data, .n = text.n, .start = n_prompt};
        t.first = n_prompt + (size_t)k * 2;
        t.last = text.n;
        t.max = 4;
        assert_ok(explain(&e, &engine, &t, &by, &settings, NULL));
        assert_int_equal(e.n, t.last - t.first);
        for (size_t i = 0; i < e.n; i++) {
            const struct choice *c = &e.list[i];
            assert_int_equal(c->number, i + 1 + (size_t)k * 2);
            assert_int_equal(c->chosen.id, text.data[t.first + i]);
            assert_true(c->chosen.p_chain > 0);
            assert_in_range(c->chosen.rank, 1, 3);
            assert_float_equal(log((double)c->chosen.p_model),
                               (double)answers[k].logprobs[c->number - 1], 1e-5);
        }
        explanation_release(&e);
        ids_release(&text);
        answer_release(&answers[k]);
    }
    prompt_release(&p);
}

static void an_answer_is_explained_as_it_was_drawn(void **state)
{
    (void)state;
    check_explained(9, 20);
}

/* Which keeps half of it, more than once. */
static void so_is_one_that_slid(void **state)
{
    (void)state;
    const int n_ctx = model.config.n_ctx;
    settings.generate.on_full = ON_FULL_SLIDE;
    check_explained(9, 2 * n_ctx + 5);
    check_explained((size_t)n_ctx, n_ctx);
    check_explained((size_t)n_ctx + 30, n_ctx / 2 + 9);
}

static void with_mirostat_its_memory_counts(void **state)
{
    (void)state;
    settings.sampler.mirostat = 2;
    struct answer a = {0};
    struct prompt p = {0};
    struct chooser by;
    struct explanation all, late;
    token_id ids[8];
    tiny_ids(ids, 8, &model.config, 6);
    settings.generate.max_new_tokens = 30;
    settings.generate.num_return_sequences = 1;
    assert_ok(ids_add(&p.ids, ids, 8));
    assert_ok(generate(&sequence, &p, &settings.generate, &settings.sampler, NULL, &a));
    chooser_init(&by, &settings);
    struct explained t = {.ids = sequence.ids.data, .n = 38, .start = 8, .first = 8, .last = 38};
    t.max = 4;
    assert_ok(explain(&all, &engine, &t, &by, &settings, NULL));
    t.first = 37;
    assert_ok(explain(&late, &engine, &t, &by, &settings, NULL));
    assert_memory_equal(&late.list[0].chosen, &all.list[29].chosen, sizeof late.list[0].chosen);
    for (size_t i = 0; i < all.n; i++)
        assert_true(all.list[i].chosen.p_chain > 0);
    explanation_release(&all);
    explanation_release(&late);
    answer_release(&a);
    prompt_release(&p);
}

/* And leave the text in progress alone. */
static void logits_of_a_text_are_those_of_a_sequence(void **state)
{
    (void)state;
    struct ids text = {0};
    float logits[TINY_V];
    token_id ids[40];
    tiny_ids(ids, 40, &model.config, 7);
    assert_ok(ids_add(&text, ids, 40));
    assert_ok(sequence_set(&sequence, ids, 40, NULL));
    const size_t cached = sequence_cached(&sequence);
    assert_ok(explain_logits(logits, &engine, &text, NULL));
    assert_memory_equal(logits, sequence.logits, sizeof logits);
    assert_int_equal(sequence_cached(&sequence), cached);
    ids_release(&text);
}

/* What is said of a text that is too long is about that text. */
static void a_text_beyond_the_context_has_no_logits(void **state)
{
    (void)state;
    const size_t n = (size_t)model.config.n_ctx + 1;
    struct ids text = {0};
    float logits[TINY_V];
    char expected[96];
    const token_id id = 1;
    for (size_t i = 0; i < n; i++)
        assert_ok(ids_add(&text, &id, 1));
    snprintf(expected, sizeof expected, "the text has %zu tokens, the context holds %d", n,
             model.config.n_ctx);
    assert_int_equal(explain_logits(logits, &engine, &text, NULL), ERR_FULL);
    assert_string_equal(err_text(), expected);
    text.n--;
    assert_ok(explain_logits(logits, &engine, &text, NULL));
    ids_release(&text);
}

/* Weights that have become NaN since: no chances are made up from their logits. */
static void what_is_not_finite_is_not_explained(void **state)
{
    (void)state;
    struct chooser by;
    struct explanation e;
    struct ids text = {0};
    float logits[TINY_V];
    token_id ids[12];
    tiny_ids(ids, 12, &model.config, 7);
    assert_ok(ids_add(&text, ids, 12));
    for (int i = 0; i < model.config.n_embd; i++)
        model.params.wpe[9 * model.config.n_embd + i] = NAN;
    model.name = (char *)"odd";
    chooser_init(&by, &settings);
    const struct explained t = {.ids = ids, .n = 12, .start = 4, .first = 4, .last = 12, .max = 4};
    assert_int_equal(explain(&e, &engine, &t, &by, &settings, NULL), ERR_NOT_FINITE);
    assert_non_null(strstr(err_text(), "odd: the logits after 10 tokens are NaN or infinite"));
    assert_null(e.list);
    err_clear();
    assert_int_equal(explain_logits(logits, &engine, &text, NULL), ERR_NOT_FINITE);
    assert_non_null(strstr(err_text(), "odd: the logits after 12 tokens are NaN or infinite"));
    model.name = NULL;
    ids_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_answer_is_explained_as_it_was_drawn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(so_is_one_that_slid, set_up, tear_down),
        cmocka_unit_test_setup_teardown(with_mirostat_its_memory_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(logits_of_a_text_are_those_of_a_sequence, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_text_beyond_the_context_has_no_logits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_finite_is_not_explained, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
