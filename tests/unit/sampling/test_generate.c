#include "sampling/generate.h"

#include "model/base/par.h"
#include "model/base/progress.h"
#include "tests/lib/tiny_text.h"

#include <math.h>
#include <stdio.h>

static struct model model;
static struct engine engine;
static struct sequence sequence;
static struct generate_config config;
static struct sampler_config sampler;

static int set_up(void **state)
{
    (void)state;
    tiny_speaker(&model, 11);
    assert_ok(engine_init(&engine, &model, 4));
    assert_ok(sequence_init(&sequence, &engine));
    generate_config_init(&config);
    sampler_config_init(&sampler);
    config.max_new_tokens = 20;
    sampler.seed = 3;
    sampler.ignore_eos = true;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    interrupt_clear();
    sequence_release(&sequence);
    assert_int_equal(engine.cache.n_free, engine.cache.n_pages);
    engine_release(&engine);
    tiny_speaker_release(&model);
    return 0;
}

/* What the callbacks were told. */
struct heard {
    struct buf text[8];
    int statuses, interrupt_at, calls;
};

static void hear_text(void *user, int answer, const char *bytes, size_t n)
{
    struct heard *h = user;
    assert_true(n > 0);
    assert_ok(buf_add(&h->text[answer], bytes, n));
    if (++h->calls == h->interrupt_at)
        interrupt_raise();
}

static void hear_status(void *user, const char *sentence)
{
    struct heard *h = user;
    assert_non_null(strstr(sentence, "context full"));
    h->statuses++;
}

static struct heard heard;

static int ask_prompt(const struct prompt *p, struct answer *answers)
{
    struct generate_callbacks callbacks = {
        .text = hear_text, .status = hear_status, .user = &heard, .want_logprobs = true};
    for (int i = 0; i < 8; i++)
        buf_release(&heard.text[i]);
    heard.statuses = heard.calls = 0;
    memset(answers, 0, (size_t)config.num_return_sequences * sizeof *answers);
    int rc = generate(&sequence, p, &config, &sampler, &callbacks, answers);
    for (int i = 0; rc == 0 && i < config.num_return_sequences; i++)
        assert_string_equal(buf_text(&answers[i].text), buf_text(&heard.text[i]));
    return rc;
}

static int ask(const char *text, struct answer *answers)
{
    struct prompt p = {0};
    assert_ok(prompt_encode(&p, &model, &config, text, strlen(text)));
    int rc = ask_prompt(&p, answers);
    prompt_release(&p);
    return rc;
}

static void same_ids(const struct answer *a, const struct answer *b)
{
    assert_int_equal(a->ids.n, b->ids.n);
    assert_memory_equal(a->ids.data, b->ids.data, a->ids.n * sizeof(token_id));
    assert_memory_equal(a->logprobs, b->logprobs, a->ids.n * sizeof(float));
    assert_string_equal(buf_text(&a->text), buf_text(&b->text));
    assert_int_equal(a->finish, b->finish);
}

static void check_same(const char *text, const struct answer *expected)
{
    struct answer a;
    assert_ok(ask(text, &a));
    same_ids(&a, expected);
    answer_release(&a);
}

/* Step by step with the sequence alone: what generation means. */
static void greedy_is_the_most_likely_token(void **state)
{
    (void)state;
    struct answer a;
    sampler.temperature = 0;
    config.stop_token = (char *)"7";
    assert_ok(ask("the end", &a));
    struct sequence s;
    struct ids ids = {0};
    assert_ok(sequence_init(&s, &engine));
    assert_ok(tokenizer_encode(model.tokenizer, &ids, "the end", 7, 0));
    assert_ok(sequence_set(&s, ids.data, ids.n, NULL));
    for (size_t i = 0; i < a.ids.n; i++) {
        token_id best = -1;
        for (token_id id = 0; id < TINY_V; id++)
            if (id != 7 && (best < 0 || s.logits[id] > s.logits[best]))
                best = id;
        assert_int_equal(a.ids.data[i], best);
        assert_ok(sequence_feed(&s, &best, 1, NULL));
    }
    assert_int_equal(a.ids.n, 20);
    assert_int_equal(sequence.ids.n, ids.n + 20);
    assert_memory_equal(sequence.ids.data, s.ids.data, s.ids.n * sizeof(token_id));
    ids_release(&ids);
    sequence_release(&s);
    answer_release(&a);
}

static void every_way_of_looping_gives_the_same(void **state)
{
    (void)state;
    struct answer a;
    assert_ok(ask("the end ", &a));
    assert_int_equal(a.ids.n, 20);
    config.device_loop = false;
    check_same("the end ", &a);
    config.device_loop = true;
    config.device_iterations = 7;
    check_same("the end ", &a);
    config.device_iterations = 1000;
    check_same("the end ", &a);
    answer_release(&a);
}

static void a_held_blank_begins_the_answer(void **state)
{
    (void)state;
    struct prompt p = {0};
    assert_ok(prompt_encode(&p, &model, &config, "the ", 4));
    assert_true(p.held_space);
    assert_int_equal(p.ids.n, 1);
    for (int draw = 0; draw < 8; draw++) {
        struct answer a;
        sampler.draw = draw;
        assert_ok(ask_prompt(&p, &a));
        size_t n;
        const char *piece = tokenizer_bytes(model.tokenizer, a.ids.data[0], &n);
        assert_true(n > 0 && piece[0] == ' ');
        struct buf whole = {0};
        assert_ok(tokenizer_decode(model.tokenizer, &whole, a.ids.data, a.ids.n));
        assert_int_equal(whole.n, a.text.n + 1);
        assert_memory_equal(whole.data + 1, a.text.data, a.text.n);
        buf_release(&whole);
        answer_release(&a);
    }
    prompt_release(&p);
    assert_ok(prompt_encode(&p, &model, &config, "the  ", 5));
    assert_true(p.held_space);
    assert_int_equal(p.ids.n, 2);
    prompt_release(&p);
    config.trim = false;
    assert_ok(prompt_encode(&p, &model, &config, "the ", 4));
    assert_false(p.held_space);
    assert_int_equal(p.ids.n, 2);
    prompt_release(&p);
}

/* Samples are the draws, whether they run together, one by one, or in turns. */
static void samples_are_draws(void **state)
{
    (void)state;
    struct answer all[7];
    config.num_return_sequences = 7; /* the engine holds 4 */
    assert_ok(ask("the end", all));
    config.num_return_sequences = 1;
    bool differ = false;
    for (int i = 0; i < 7; i++) {
        sampler.draw = i;
        check_same("the end", &all[i]);
        differ |= strcmp(buf_text(&all[0].text), buf_text(&all[i].text)) != 0;
    }
    assert_true(differ);
    for (int i = 0; i < 7; i++)
        answer_release(&all[i]);
}

/* Four samples of a prompt of 130 ids: its two whole pages once, a last page each. */
static int pages_seen;
static void count_pages(void *user, int answer, const char *bytes, size_t n)
{
    (void)user, (void)answer, (void)bytes, (void)n;
    int used = engine.cache.n_pages - engine.cache.n_free;
    pages_seen = used > pages_seen ? used : pages_seen;
}

static void samples_share_the_prompt(void **state)
{
    (void)state;
    struct prompt p = {0};
    struct answer all[4] = {0};
    token_id ids[130];
    tiny_ids(ids, 130, &model.config, 1);
    assert_ok(ids_add(&p.ids, ids, 130));
    config.num_return_sequences = 4;
    config.max_new_tokens = 10;
    config.device_loop = false;
    struct generate_callbacks callbacks = {.text = count_pages};
    assert_ok(generate(&sequence, &p, &config, &sampler, &callbacks, all));
    assert_int_equal(pages_seen, 2 + 4); /* the sequence is in the first one's place */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(all[i].ids.n, 10);
        answer_release(&all[i]);
    }
    prompt_release(&p);
}

static void goes_on_and_keeps_the_sequence(void **state)
{
    (void)state;
    struct answer whole, part, rest;
    sampler.temperature = 0;
    assert_ok(ask("the end", &whole));
    config.max_new_tokens = 8;
    assert_ok(ask("the end", &part));
    assert_true(part.n_reused >= part.n_prompt - 1);
    config.max_new_tokens = 12;
    assert_ok(ask_prompt(NULL, &rest));
    assert_int_equal(rest.n_prompt, part.n_prompt + 8);
    assert_int_equal(rest.n_reused, rest.n_prompt - 1);
    assert_memory_equal(rest.ids.data, whole.ids.data + 8, 12 * sizeof(token_id));
    answer_release(&whole);
    answer_release(&part);
    answer_release(&rest);
}

static void stop_strings_end_the_text(void **state)
{
    (void)state;
    struct answer whole, cut;
    sampler.draw = 2;
    assert_ok(ask("the end", &whole));
    /* A piece out of the middle, over a token border, in escapes. */
    size_t at = whole.text.n / 2, n = 3;
    char stop[16] = "";
    for (size_t i = 0; i < n; i++)
        snprintf(stop + 4 * i, 5, "\\x%02x", (unsigned char)whole.text.data[at + i]);
    config.stop = stop;
    assert_ok(ask("the end", &cut));
    assert_int_equal(cut.finish, FINISH_STOP_STRING);
    char *first = memmem(whole.text.data, whole.text.n, whole.text.data + at, n);
    assert_int_equal(cut.text.n, first - whole.text.data);
    assert_memory_equal(cut.text.data, whole.text.data, cut.text.n);
    assert_true(cut.ids.n < whole.ids.n);
    config.device_loop = false;
    check_same("the end", &cut);
    answer_release(&whole);
    answer_release(&cut);
}

static void a_stop_token_is_not_in_the_answer(void **state)
{
    (void)state;
    struct answer whole, cut;
    char id[16];
    assert_ok(ask("the end", &whole));
    snprintf(id, sizeof id, "%d", (int)whole.ids.data[0]);
    sampler.ignore_eos = false;
    config.stop_token = id;
    assert_ok(ask("the end", &cut));
    assert_int_equal(cut.finish, FINISH_STOP_TOKEN);
    assert_int_equal(cut.ids.n, 0);
    assert_int_equal(sequence.ids.n, (size_t)cut.n_prompt);
    answer_release(&cut);
    assert_ok(ask_prompt(NULL, &cut)); /* nothing was lost: it ends again at once */
    assert_int_equal(cut.ids.n, 0);
    answer_release(&cut);
    answer_release(&whole);
}

/* Their texts or ids, one or several; each ends an answer. */
static void stop_tokens_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int n;
        token_id ids[3];
    } cases[] = {{"th", 1, {257}},
                 {"\\n", 1, {1 + '\n'}},
                 {"7", 1, {7}},
                 {"th,\\n,9,7,9", 3 + 1, {257, 1 + '\n', 9}},
                 {"\\,", 1, {1 + ','}}};
    static const char *const wrong[] = {"no token", "272", "99999999999999999999", "th,272", "7,"};
    struct stop_tokens found;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        config.stop_token = (char *)cases[i].text;
        assert_ok(generate_stop_tokens(&found, &config, &model));
        assert_int_equal(found.n, cases[i].n);
        for (int k = 0; k < found.n && k < 3; k++)
            assert_int_equal(found.ids[k], cases[i].ids[k]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        config.stop_token = (char *)wrong[i];
        assert_int_equal(generate_stop_tokens(&found, &config, &model), ERR_RANGE);
    }
    struct answer whole, cut;
    config.stop_token = NULL;
    assert_ok(ask("the end", &whole));
    char ids[32];
    size_t first = 0;
    while (whole.ids.data[first] != whole.ids.data[3] && whole.ids.data[first] != whole.ids.data[1])
        first++;
    snprintf(ids, sizeof ids, "%d,%d", (int)whole.ids.data[3], (int)whole.ids.data[1]);
    sampler.ignore_eos = false;
    config.stop_token = ids;
    assert_ok(ask("the end", &cut));
    assert_int_equal(cut.finish, FINISH_STOP_TOKEN);
    assert_int_equal(cut.ids.n, first);
    answer_release(&cut);
    answer_release(&whole);
}

static void lengths_of_nothing_and_one(void **state)
{
    (void)state;
    struct answer a;
    config.max_new_tokens = 0;
    assert_ok(ask("the end", &a));
    assert_int_equal(a.ids.n, 0);
    assert_int_equal(a.finish, FINISH_LENGTH);
    answer_release(&a);
    config.max_new_tokens = 1;
    assert_ok(ask("the end", &a));
    assert_int_equal(a.ids.n, 1);
    assert_int_equal(a.finish, FINISH_LENGTH);
    answer_release(&a);
    assert_ok(ask("", &a)); /* an empty text begins with the begin token */
    assert_int_equal(a.n_prompt, 1);
    assert_int_equal(sequence.ids.data[0], 0);
    answer_release(&a);
}

static void a_full_context_stops_or_slides(void **state)
{
    (void)state;
    struct answer a;
    struct prompt p = {0};
    token_id ids[151];
    tiny_ids(ids, 151, &model.config, 1);
    assert_ok(ids_add(&p.ids, ids, 151));
    config.max_new_tokens = 300;
    assert_int_equal(ask_prompt(&p, &a), ERR_FULL);
    assert_non_null(strstr(err_text(), "151 tokens, the context holds 150"));
    answer_release(&a);
    assert_ok(ask("the end", &a));
    assert_int_equal(a.finish, FINISH_CONTEXT);
    assert_int_equal(sequence.ids.n, 151);
    assert_int_equal(a.ids.n, (size_t)(151 - a.n_prompt));
    assert_int_equal(heard.statuses, 0);
    answer_release(&a);
    config.on_full = ON_FULL_SLIDE;
    assert_ok(ask("the end", &a));
    assert_int_equal(a.ids.n, 300);
    assert_int_equal(heard.statuses, 1);
    assert_true(a.slid);
    assert_true(sequence.ids.n <= 151);
    assert_memory_equal(sequence.ids.data, a.ids.data + 300 - sequence.ids.n,
                        sequence.ids.n * sizeof(token_id));
    config.device_iterations = 50;
    check_same("the end", &a);
    config.device_loop = false;
    check_same("the end", &a);
    answer_release(&a);
    config.max_new_tokens = 5;
    assert_ok(ask_prompt(&p, &a));
    assert_int_equal(a.n_prompt, 75);
    assert_int_equal(heard.statuses, 1);
    answer_release(&a);
    prompt_release(&p);
}

/* The same model, another context. */
static void set_context(int n_ctx)
{
    sequence_release(&sequence);
    engine_release(&engine);
    model.config.n_ctx = n_ctx;
    assert_ok(engine_init(&engine, &model, 4));
    assert_ok(sequence_init(&sequence, &engine));
}

/* The last token is never fed, and is the one a longer context has there. */
static void a_full_context_says_one_token_more(void **state)
{
    (void)state;
    static const int prompts[] = {1, 63, 99, 100};
    struct answer longer[3], a[3];
    for (int way = 0; way < 4; way++) {
        config.num_return_sequences = way == 3 ? 1 : 3;
        config.num_beams = way == 2 ? 3 : 1;
        config.penalty_alpha = way == 3 ? 0.6f : 0;
        sampler.top_k = way == 3 ? 4 : 50;
        sampler.temperature = way == 0 ? 0 : 1;
        for (int i = 0; i < 4; i++) {
            struct prompt p = {0};
            token_id ids[100];
            size_t n_prompt = (size_t)prompts[i], n = 101 - n_prompt;
            tiny_ids(ids, n_prompt, &model.config, 1);
            assert_ok(ids_add(&p.ids, ids, n_prompt));
            set_context(150);
            config.max_new_tokens = (int)n;
            assert_ok(ask_prompt(&p, longer));
            set_context(100);
            config.max_new_tokens = 1000;
            for (int loop = 0; loop < 2; loop++) {
                config.device_loop = loop;
                assert_ok(ask_prompt(&p, a));
                assert_int_equal(sequence.ids.n, 101);
                assert_int_equal(heard.statuses, 0);
                for (int k = 0; k < config.num_return_sequences; k++) {
                    assert_int_equal(a[k].finish, FINISH_CONTEXT);
                    assert_int_equal(a[k].ids.n, n);
                    /* Contrastive search weighs what it has fed. */
                    assert_memory_equal(a[k].ids.data, longer[k].ids.data,
                                        (n - (way == 3)) * sizeof(token_id));
                    answer_release(&a[k]);
                }
            }
            for (int k = 0; k < config.num_return_sequences; k++)
                answer_release(&longer[k]);
            prompt_release(&p);
        }
    }
}

static void a_context_of_one_token_says_one(void **state)
{
    (void)state;
    struct answer a;
    set_context(1);
    for (int way = 0; way < 3; way++) {
        config.num_beams = way == 1 ? 2 : 1;
        config.penalty_alpha = way == 2 ? 0.6f : 0;
        sampler.top_k = way == 2 ? 4 : 50;
        config.on_full = ON_FULL_STOP;
        assert_ok(ask("", &a));
        assert_int_equal(a.ids.n, 1);
        assert_int_equal(a.finish, FINISH_CONTEXT);
        answer_release(&a);
        config.on_full = ON_FULL_SLIDE;
        assert_ok(ask("", &a));
        assert_int_equal(a.ids.n, way == 1 ? 1 : 20);
        assert_int_equal(heard.statuses, 1);
        answer_release(&a);
    }
}

/* A stop token, a stop string and the length hold for the last token too. */
static void the_last_token_may_end_the_text(void **state)
{
    (void)state;
    struct answer whole, cut;
    char id[16];
    sampler.temperature = 0;
    set_context(11);
    config.max_new_tokens = 1000;
    assert_ok(ask("the end", &whole));
    size_t n = whole.ids.n;
    assert_int_equal(whole.finish, FINISH_CONTEXT);
    assert_int_equal(n, 12 - whole.n_prompt);
    config.max_new_tokens = (int)n;
    assert_ok(ask("the end", &cut));
    assert_int_equal(cut.finish, FINISH_LENGTH);
    assert_int_equal(cut.ids.n, n);
    answer_release(&cut);
    config.max_new_tokens = 1000;
    snprintf(id, sizeof id, "%d", (int)whole.ids.data[n - 1]);
    size_t first = 0;
    while (whole.ids.data[first] != whole.ids.data[n - 1])
        first++;
    assert_int_equal(first, n - 1);
    sampler.ignore_eos = false;
    config.stop_token = id;
    assert_ok(ask("the end", &cut));
    assert_int_equal(cut.finish, FINISH_STOP_TOKEN);
    assert_int_equal(cut.ids.n, n - 1);
    assert_int_equal(sequence.ids.n, 11);
    answer_release(&cut);
    assert_ok(ask_prompt(NULL, &cut)); /* nothing was lost: it ends again at once */
    assert_int_equal(cut.finish, FINISH_STOP_TOKEN);
    answer_release(&cut);
    sampler.min_new_tokens = (int)n;
    assert_ok(ask("the end", &cut));
    assert_int_equal(cut.finish, FINISH_CONTEXT);
    assert_int_equal(cut.ids.n, n);
    answer_release(&cut);
    answer_release(&whole);
}

/* An answer that the context ended, gone on from with slide, is the one that slid itself. */
static void a_slide_goes_on_from_a_full_text(void **state)
{
    (void)state;
    struct answer whole, part, rest;
    sampler.temperature = 0;
    config.max_new_tokens = 300;
    assert_ok(ask("the end", &part));
    size_t n = part.ids.n;
    assert_int_equal(ask_prompt(NULL, &rest), ERR_FULL);
    assert_non_null(strstr(err_text(), "151 tokens, the context holds 150"));
    assert_int_equal(sequence.ids.n, 151);
    answer_release(&rest);
    config.on_full = ON_FULL_SLIDE;
    config.max_new_tokens = 300 - (int)n;
    assert_ok(ask_prompt(NULL, &rest));
    assert_int_equal(rest.n_prompt, 75);
    assert_true(rest.slid);
    config.max_new_tokens = 300;
    assert_ok(ask("the end", &whole));
    assert_memory_equal(whole.ids.data, part.ids.data, n * sizeof(token_id));
    assert_memory_equal(whole.ids.data + n, rest.ids.data, rest.ids.n * sizeof(token_id));
    answer_release(&whole);
    answer_release(&part);
    answer_release(&rest);
}

/* A prompt that is cut, and the answer that fills the context once more. */
static void a_slide_is_said_once(void **state)
{
    (void)state;
    struct answer a;
    struct prompt p = {0};
    for (token_id id = 0; id < 151; id++)
        assert_ok(ids_add(&p.ids, &(token_id){1 + id % 7}, 1));
    config.on_full = ON_FULL_SLIDE;
    config.max_new_tokens = 100;
    for (int searching = 0; searching < 2; searching++) {
        config.penalty_alpha = searching ? 0.6f : 0;
        sampler.top_k = searching ? 4 : 0;
        assert_ok(ask_prompt(&p, &a));
        assert_int_equal(a.n_prompt, 75);
        assert_int_equal(a.ids.n, 100);
        assert_true(a.slid);
        assert_int_equal(heard.statuses, 1);
        answer_release(&a);
    }
    prompt_release(&p);
}

/* What slid away counts: min_new_tokens is reached once, also where a search begins anew. */
static void tokens_before_a_slide_are_counted(void **state)
{
    (void)state;
    struct answer whole, cut;
    char id[16];
    config.penalty_alpha = 0.6f;
    sampler.top_k = 4;
    config.on_full = ON_FULL_SLIDE;
    config.max_new_tokens = 20;
    set_context(11);
    assert_ok(ask("the end", &whole));
    const size_t n = 12 - (size_t)whole.n_prompt; /* the first token behind the slide */
    for (size_t i = 0; i < n; i++)
        assert_int_not_equal(whole.ids.data[i], whole.ids.data[n]);
    snprintf(id, sizeof id, "%d", (int)whole.ids.data[n]);
    sampler.ignore_eos = false;
    config.stop_token = id;
    for (int least = 0; least < 2; least++) {
        sampler.min_new_tokens = least;
        assert_ok(ask("the end", &cut));
        assert_int_equal(cut.finish, FINISH_STOP_TOKEN);
        assert_int_equal(cut.ids.n, n);
        answer_release(&cut);
    }
    answer_release(&whole);
}

static void interrupt_second(void *user, const char *what, uint64_t done, uint64_t total)
{
    int *calls = user;
    (void)what, (void)done, (void)total;
    if (++*calls == 2)
        interrupt_raise();
}

/* Contrastive search reads the prompt once more: Ctrl-C then is no error. */
static void an_interrupted_search_says_so(void **state)
{
    (void)state;
    struct answer a = {0};
    struct prompt p = {0};
    int calls = 0;
    const struct progress progress = {.step = interrupt_second, .user = &calls};
    const struct generate_callbacks callbacks = {.progress = &progress};
    assert_ok(prompt_encode(&p, &model, &config, "the end", 7));
    config.penalty_alpha = 0.6f;
    sampler.top_k = 4;
    assert_int_equal(generate(&sequence, &p, &config, &sampler, &callbacks, &a), ERR_INTERRUPTED);
    assert_int_equal(a.finish, FINISH_INTERRUPTED);
    assert_false(a.unread);
    assert_int_equal(a.ids.n, 0);
    assert_int_equal(sequence.ids.n, p.ids.n);
    answer_release(&a);
    prompt_release(&p);
}

/* Whatever makes the answer, ids alone have no text that a string could end. */
static void stop_strings_need_a_tokenizer(void **state)
{
    (void)state;
    struct tokenizer *t = model.tokenizer;
    struct answer a = {0};
    const struct prompt p = {.ids = {.data = (token_id[]){1, 2, 3}, .n = 3}};
    model.tokenizer = NULL;
    config.stop = "x";
    for (int way = 0; way < 3; way++) {
        config.num_beams = way == 1 ? 2 : 1;
        config.penalty_alpha = way == 2 ? 0.6f : 0;
        sampler.top_k = way == 2 ? 4 : 0;
        assert_int_equal(generate(&sequence, &p, &config, &sampler, NULL, &a), ERR_MISSING);
        assert_non_null(strstr(err_text(), "stop strings need a tokenizer"));
        answer_release(&a);
    }
    model.tokenizer = t;
}

static void an_interrupt_keeps_what_was_made(void **state)
{
    (void)state;
    struct answer whole, part;
    config.max_new_tokens = 100;
    assert_ok(ask("the end", &whole));
    config.device_loop = false;
    heard.interrupt_at = 5;
    assert_int_equal(ask("the end", &part), ERR_INTERRUPTED);
    heard.interrupt_at = 0;
    assert_int_equal(part.finish, FINISH_INTERRUPTED);
    assert_false(part.unread);
    assert_true(part.ids.n >= 5 && part.ids.n < 100);
    assert_memory_equal(part.ids.data, whole.ids.data, part.ids.n * sizeof(token_id));
    assert_int_equal(sequence.ids.n, part.n_prompt + part.ids.n);
    assert_string_equal(buf_text(&part.text), buf_text(&heard.text[0]));
    answer_release(&part);
    const size_t n = sequence.ids.n;
    assert_int_equal(ask("another", &part), ERR_INTERRUPTED); /* while the prompt is read */
    assert_int_equal(part.finish, FINISH_INTERRUPTED);
    assert_true(part.unread);
    assert_int_equal(sequence.ids.n, n);
    answer_release(&part);
    interrupt_clear();
    config.device_loop = true;
    check_same("the end", &whole);
    answer_release(&whole);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    struct answer a;
    assert_ok(ask("one end", &a));
    sequence_release(&sequence);
    engine_release(&engine);
    assert_ok(par_open(3, false));
    assert_ok(engine_init(&engine, &model, 4));
    assert_ok(sequence_init(&sequence, &engine));
    check_same("one end", &a);
    answer_release(&a);
    sequence_release(&sequence);
    engine_release(&engine);
    assert_ok(par_open(0, true));
    assert_ok(engine_init(&engine, &model, 4));
    assert_ok(sequence_init(&sequence, &engine));
}

static void searches_end_as_samples_do(void **state)
{
    (void)state;
    struct answer two[2], cut[2];
    config.num_beams = 2;
    config.num_return_sequences = 2;
    assert_ok(ask("the end ", two));
    assert_int_equal(two[0].ids.n, 20);
    assert_true(two[0].score >= two[1].score);
    assert_int_equal(sequence.ids.n, two[0].n_prompt + 20);
    size_t n;
    assert_int_equal(*tokenizer_bytes(model.tokenizer, two[0].ids.data[0], &n), ' ');
    char stop[8];
    snprintf(stop, sizeof stop, "\\x%02x", (unsigned char)two[0].text.data[two[0].text.n / 2]);
    config.stop = stop;
    assert_ok(ask("the end ", cut));
    assert_int_equal(cut[0].finish, FINISH_STOP_STRING);
    assert_int_equal(sequence.ids.n, cut[0].n_prompt + cut[0].ids.n);
    assert_memory_equal(cut[0].text.data, two[0].text.data, cut[0].text.n);
    for (int i = 0; i < 2; i++) {
        answer_release(&two[i]);
        answer_release(&cut[i]);
    }
    config.stop = NULL;
    config.num_beams = config.num_return_sequences = 1;
    config.penalty_alpha = 0.6f;
    sampler.top_k = 4;
    config.max_new_tokens = 200;
    assert_ok(ask("the end ", two));
    assert_int_equal(two[0].finish, FINISH_CONTEXT);
    assert_int_equal(*tokenizer_bytes(model.tokenizer, two[0].ids.data[0], &n), ' ');
    assert_int_equal(sequence.ids.n, 151);
    answer_release(&two[0]);
    config.on_full = ON_FULL_SLIDE;
    assert_ok(ask("the end ", two));
    assert_int_equal(two[0].finish, FINISH_LENGTH);
    assert_int_equal(two[0].ids.n, 200);
    assert_int_equal(heard.statuses, 1);
    answer_release(&two[0]);
}

/* After a held space the model's own probabilities are those of tokens that begin with one, in a
 * search as in a sample. */
static void a_held_space_is_in_every_logprob(void **state)
{
    (void)state;
    struct answer sample, found;
    sampler.temperature = 0;
    config.max_new_tokens = 1;
    assert_ok(ask("the end ", &sample));
    sampler.top_k = 2;
    for (int way = 0; way < 2; way++) {
        config.num_beams = way == 0 ? 2 : 1;
        config.penalty_alpha = way == 0 ? 0 : 1e-6f;
        assert_ok(ask("the end ", &found));
        assert_int_equal(found.ids.data[0], sample.ids.data[0]);
        assert_true(fabsf(found.logprobs[0] - sample.logprobs[0]) < 1e-5f);
        answer_release(&found);
    }
    answer_release(&sample);
}

static void contrastive_answers_are_all_the_same(void **state)
{
    (void)state;
    struct answer one = {0}, three[3];
    config.penalty_alpha = 0.6f;
    sampler.top_k = 4;
    assert_ok(ask("the end", &one));
    config.num_return_sequences = 3;
    assert_ok(ask("the end", three));
    for (int i = 0; i < 3; i++) {
        same_ids(&three[i], &one);
        assert_int_equal(three[i].n_prompt, one.n_prompt);
        answer_release(&three[i]);
    }
    answer_release(&one);
}

static void refuses_what_is_out_of_range(void **state)
{
    (void)state;
    struct generate_config good = config;
    sampler.top_k = 0;
#define REFUSED(field, value, sentence)                                                            \
    do {                                                                                           \
        config = good;                                                                             \
        config.field = value;                                                                      \
        assert_int_equal(generate_config_check(&config, &sampler), ERR_RANGE);                     \
        assert_string_equal(err_text(), sentence);                                                 \
    } while (0)
    REFUSED(max_new_tokens, -1, "max_new_tokens must be 0 to 1000000, not -1");
    REFUSED(device_iterations, 0, "device_iterations must be 1 to 1000000, not 0");
    REFUSED(num_return_sequences, 0, "num_return_sequences must be 1 to 512, not 0");
    REFUSED(num_beams, 257, "num_beams must be 1 to 256, not 257");
    REFUSED(penalty_alpha, 1.5f, "penalty_alpha must be 0 to 1, not 1.5");
    REFUSED(penalty_alpha, 0.5f, "top_k must be 2 to 512 for contrastive search, not 0");
    REFUSED(length_penalty, NAN, "length_penalty must be -100 to 100, not nan");
    config = good;
    config.num_beams = 2;
    config.num_return_sequences = 3;
    assert_int_equal(generate_config_check(&config, &sampler), ERR_RANGE);
    assert_string_equal(err_text(), "num_return_sequences must be at most num_beams (2), not 3");
    config = good;
    config.stop = (char *)"a,,b";
    assert_int_equal(generate_config_check(&config, &sampler), ERR_RANGE);
    config = good;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
/* A tokenizer's prefix space is put where a text begins, not where one goes on, and what is
 * banned or stops is meant as it stands. */
static void a_prefix_space_is_for_beginnings(void **state)
{
    (void)state;
    struct tokenizer *plain = model.tokenizer;
    struct tokenizer *t = model.tokenizer = tiny_tokenizer_with(true);
    const token_id the = tokenizer_find(t, "the", 3), spaced = tokenizer_find(t, "\xc4\xa0the", 5);
    struct prompt p = {0};
    assert_ok(prompt_encode(&p, &model, &config, "the", 3));
    assert_int_equal(p.ids.n, 1);
    assert_int_equal(p.ids.data[0], spaced);
    assert_ok(prompt_encode(&p, &model, &config, "the", 3));
    assert_int_equal(p.ids.n, 2);
    assert_int_equal(p.ids.data[1], the);
    p.ids.data[1] = 0; /* behind the end of a text another begins */
    assert_ok(prompt_encode(&p, &model, &config, "the", 3));
    assert_int_equal(p.ids.data[2], spaced);
    prompt_release(&p);

    struct stop_tokens stop;
    config.stop_token = "\\n";
    assert_ok(generate_stop_tokens(&stop, &config, &model));
    assert_int_equal(stop.ids[0], '\n' + 1);

    struct sampler *s;
    float logits[TINY_V] = {0};
    sampler.temperature = 0;
    sampler.bad_words = "the";
    logits[the] = 3;
    logits[spaced] = 2;
    logits['x' + 1] = 1;
    assert_ok(sampler_new(&s, &sampler, TINY_V, 100, t, NULL));
    assert_int_equal(sampler_pick(s, logits, (token_id[]){0}, 1, 0).id, 'x' + 1);
    sampler_free(s);
    tokenizer_free(t);
    model.tokenizer = plain;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(greedy_is_the_most_likely_token),
        TEST(every_way_of_looping_gives_the_same),
        TEST(a_held_blank_begins_the_answer),
        TEST(samples_are_draws),
        TEST(samples_share_the_prompt),
        TEST(goes_on_and_keeps_the_sequence),
        TEST(stop_strings_end_the_text),
        TEST(a_stop_token_is_not_in_the_answer),
        TEST(stop_tokens_are_named),
        TEST(lengths_of_nothing_and_one),
        TEST(a_full_context_stops_or_slides),
        TEST(an_interrupt_keeps_what_was_made),
        TEST(a_full_context_says_one_token_more),
        TEST(a_context_of_one_token_says_one),
        TEST(the_last_token_may_end_the_text),
        TEST(a_slide_goes_on_from_a_full_text),
        TEST(a_slide_is_said_once),
        TEST(tokens_before_a_slide_are_counted),
        TEST(stop_strings_need_a_tokenizer),
        TEST(an_interrupted_search_says_so),
        TEST(threads_do_not_matter),
        TEST(searches_end_as_samples_do),
        TEST(a_held_space_is_in_every_logprob),
        TEST(contrastive_answers_are_all_the_same),
        TEST(refuses_what_is_out_of_range),
        TEST(a_prefix_space_is_for_beginnings),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < 8; i++)
        buf_release(&heard.text[i]);
    return failed;
}
