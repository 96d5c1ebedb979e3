/* With drafts, answers are those of one token a pass, to the last bit. */
#include "sampling/generate.h"
#include "kvcache/snapshot.h"
#include "sampling/scheduler.h"

#include "model/base/par.h"
#include "model/base/progress.h"
#include "tests/lib/scratch.h"
#include "tests/lib/thin.h"
#include "tests/lib/tiny_text.h"
#include "tests/lib/ways.h"

#include <stdio.h>

enum { PROMPTS = 8, TEXTS = WAYS_TEXTS };

/* The ways to draft, and what the drafts of a model are said to cost: nothing, or a little. */
enum { MODES = 4 };
static const enum speculate mode_how[MODES] = {SPECULATE_LOOKUP, SPECULATE_AUTO, SPECULATE_MODEL,
                                               SPECULATE_MODEL};
static const float mode_share[MODES] = {0, 0, -1, 0.05f};

static struct model model, drafter;
static struct engine engine, drafter_engine;
static struct sequence sequence;
static struct generate_config config;
static struct sampler_config sampler;
static enum dtype cache_dtype;
static int n_cases, n_drafted, n_accepted, mode_drafted[MODES], mode_accepted[MODES];

static const char *const prompts[PROMPTS] = {
    "the end of the end of the end of the end of the end of",
    "one two one two one two one two one two",
    "abcabcabcabcabcabcabcabc",
    "x = 1;\ny = 2;\nx = 1;\ny = 2;\nx = 1;\ny",
    "the quick brown fox jumps over a lazy dog",
    "e",
    "\xff\xc3\xff\xc3\xff\xc3 ",
    "",
};

/* The drafter has the first layer alone, so that it is right at times, or all, and less context. */
static void set_up_drafter(uint64_t seed)
{
    struct config c = model.config;
    c.n_layer = seed % 3 == 0 ? c.n_layer : 1;
    c.n_ctx -= seed % 2 == 0 ? 20 : 0;
    tiny_init(&drafter, &c, DTYPE_F16, seed);
    assert_ok(engine_init_as(&drafter_engine, &drafter, PROMPTS, cache_dtype));
    engine_use_drafter(&engine, &drafter_engine);
}

static int set_up_model(uint64_t seed)
{
    tiny_speaker(&model, seed);
    assert_ok(engine_init_as(&engine, &model, PROMPTS, cache_dtype));
    set_up_drafter(seed);
    assert_ok(sequence_init(&sequence, &engine));
    return 0;
}

static int set_up_cache(enum dtype dtype)
{
    cache_dtype = dtype;
    n_cases = n_drafted = n_accepted = 0;
    return set_up_model(11);
}
static int set_up(void **state)
{
    (void)state;
    return set_up_cache(DTYPE_F16);
}
static int set_up_q8(void **state)
{
    (void)state;
    return set_up_cache(DTYPE_Q8);
}

static void release_model(void)
{
    sequence_release(&sequence);
    assert_int_equal(engine.cache.n_free, engine.cache.n_pages);
    assert_int_equal(drafter_engine.cache.n_free, drafter_engine.cache.n_pages);
    engine_release(&engine);
    engine_release(&drafter_engine);
    tiny_speaker_release(&model);
    tiny_release(&drafter);
}

static int tear_down(void **state)
{
    (void)state;
    interrupt_clear();
    release_model();
    return 0;
}

static void choose_settings(int way)
{
    ways_choose(way, &config, &sampler);
}

static char *speculate_text(enum speculate how)
{
    static char texts[][8] = {"auto", "off", "lookup", "MODEL"};
    return texts[how];
}

static int ask(const char *text, enum speculate how, const struct generate_callbacks *callbacks,
               struct answer *answers)
{
    const struct generate_callbacks scored = {.want_logprobs = true};
    struct prompt p = {0};
    config.speculate = speculate_text(how);
    memset(answers, 0, (size_t)config.num_return_sequences * sizeof *answers);
    assert_ok(prompt_encode(&p, &model, &config, text, strlen(text)));
    int rc = generate(&sequence, &p, &config, &sampler, callbacks == NULL ? &scored : callbacks,
                      answers);
    prompt_release(&p);
    return rc;
}

static void same_answer(const struct answer *a, const struct answer *b)
{
    assert_int_equal(a->ids.n, b->ids.n);
    if (a->ids.n > 0) {
        assert_memory_equal(a->ids.data, b->ids.data, a->ids.n * sizeof(token_id));
        assert_memory_equal(a->logprobs, b->logprobs, a->ids.n * sizeof(float));
    }
    assert_string_equal(buf_text(&a->text), buf_text(&b->text));
    assert_int_equal(a->finish, b->finish);
    assert_int_equal(a->n_prompt, b->n_prompt);
    assert_int_equal(a->n_reused, b->n_reused);
    assert_int_equal(a->n_whole, b->n_whole);
    assert_int_equal(a->n_part, b->n_part);
    assert_int_equal(a->slid, b->slid);
    assert_true(b->n_accepted <= b->n_drafted && (size_t)b->n_accepted <= a->ids.n + 1);
    n_cases++;
    n_drafted += b->n_drafted;
    n_accepted += b->n_accepted;
}

static void release_answers(struct answer *answers)
{
    for (int i = 0; i < config.num_return_sequences; i++)
        answer_release(&answers[i]);
}

/* The same answers, and the same text with the same positions in the cache. */
static void check_prompt(const char *text)
{
    struct answer plain[TEXTS], drafted[TEXTS];
    struct ids ids = {0};
    sequence_truncate(&sequence, 0);
    assert_ok(ask(text, SPECULATE_OFF, NULL, plain));
    assert_int_equal(plain[0].n_drafted, 0);
    assert_ok(ids_add(&ids, sequence.ids.data, sequence.ids.n));
    const int n_cached = sequence.kv.n;
    for (int mode = 0; mode < MODES; mode++) {
        sequence_truncate(&sequence, 0);
        engine.drafter_share = mode_share[mode];
        assert_ok(ask(text, mode_how[mode], NULL, drafted));
        for (int i = 0; i < config.num_return_sequences; i++) {
            same_answer(&plain[i], &drafted[i]);
            mode_drafted[mode] += drafted[i].n_drafted;
            mode_accepted[mode] += drafted[i].n_accepted;
        }
        assert_int_equal(sequence.ids.n, ids.n);
        assert_memory_equal(sequence.ids.data, ids.data, ids.n * sizeof(token_id));
        assert_int_equal(sequence.kv.n, n_cached);
        release_answers(drafted);
    }
    release_answers(plain);
    ids_release(&ids);
}

/* Thinned, each way is that of one model, and for every third prompt. */
static void texts_are_the_same(void **state)
{
    enum { MODELS = 9, OF = 3 * MODELS };
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        const uint64_t seed = 11 + (uint64_t)m;
        release_model();
        set_up_model(seed);
        for (int way = 0; way < WAYS; way++) {
            if (!thin_runs(m * WAYS + way, MODELS))
                continue;
            choose_settings(way);
            for (int i = 0; i < PROMPTS; i++) {
                if (!thin_runs(way + i, 3))
                    continue;
                sampler.seed = seed * 100 + (uint64_t)i;
                check_prompt(prompts[i]);
            }
        }
    }
    printf("# %d answers, %d of %d drafted tokens accepted\n", n_cases, n_accepted, n_drafted);
    for (int mode = 0; mode < MODES; mode++)
        printf("# mode %d: %d of %d\n", mode, mode_accepted[mode], mode_drafted[mode]);
    /* Those that always draft. */
    assert_true(mode_accepted[0] > thin_count(10000, OF) &&
                mode_accepted[2] > thin_count(10000, OF));
    assert_true(n_cases > thin_count(10000, OF) && n_accepted > thin_count(20000, OF) &&
                n_accepted < n_drafted - thin_count(20000, OF));
}

/* ---- batches ---- */

struct batch {
    int given, delivered;
    struct answer answers[PROMPTS];
    struct generate_config own; /* of every third line: without drafts */
};

static int give_line(void *user, struct generate_request *request, bool wait)
{
    struct batch *b = user;
    (void)wait;
    if (b->given == PROMPTS)
        return REQUEST_END;
    request->generate = b->given % 3 == 2 ? &b->own : NULL;
    request->answers = &b->answers[b->given];
    request->text = prompts[b->given];
    request->n = strlen(prompts[b->given++]);
    return REQUEST_READY;
}

static int take_line(void *user, const struct generate_request *request, int rc,
                     struct answer *answers, int n)
{
    (void)request;
    (void)answers;
    (void)n;
    ((struct batch *)user)->delivered++;
    return rc;
}

static void run_lines(struct batch *b, enum speculate how, int n_slots)
{
    const struct scheduler_callbacks callbacks = {
        .next = give_line, .done = take_line, .want_logprobs = true, .user = b};
    struct scheduler_stats stats;
    config.speculate = speculate_text(how);
    *b = (struct batch){.own = config};
    b->own.speculate = "off";
    assert_ok(scheduler_run(&engine, &config, &sampler, n_slots, &callbacks, &stats));
    assert_int_equal(b->delivered, PROMPTS);
    long drafted = 0, accepted = 0;
    for (int i = 0; i < PROMPTS; i++) {
        drafted += b->answers[i].n_drafted;
        accepted += b->answers[i].n_accepted;
    }
    assert_int_equal(stats.n_drafted_tokens, drafted);
    assert_int_equal(stats.n_accepted_tokens, accepted);
}

static void batches_are_the_same(void **state)
{
    static const int slots[] = {1, 3, PROMPTS};
    struct batch plain, drafted;
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        choose_settings(way);
        if (config.num_return_sequences > 1)
            continue;
        sampler.seed = 5;
        run_lines(&plain, SPECULATE_OFF, slots[way % 3]);
        for (int n = 0; n < 3 + MODES; n++) {
            if (!thin_runs(way * (3 + MODES) + n, 11))
                continue;
            const int mode = n < 3 ? 2 : n - 3;
            engine.drafter_share = mode_share[mode];
            run_lines(&drafted, mode_how[mode], slots[n % 3]);
            for (int i = 0; i < PROMPTS; i++) {
                /* What is shared depends on which texts are read together. */
                drafted.answers[i].n_reused = plain.answers[i].n_reused;
                same_answer(&plain.answers[i], &drafted.answers[i]);
                answer_release(&drafted.answers[i]);
            }
        }
        for (int i = 0; i < PROMPTS; i++)
            answer_release(&plain.answers[i]);
    }
    assert_true(n_cases > thin_count(700, 11) && n_accepted > thin_count(500, 11) &&
                n_accepted < n_drafted - thin_count(500, 11));
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    for (int threads = 2; threads <= 3; threads++) {
        release_model();
        assert_ok(par_open(threads, false));
        set_up_model(12);
        choose_settings(0);
        check_prompt(prompts[0]);
        choose_settings(12);
        check_prompt(prompts[2]);
    }
    release_model();
    assert_ok(par_open(1, false));
    set_up_model(12);
}

/* ---- sessions ---- */

static void save_session(const char *path, struct buf *bytes)
{
    assert_ok(snapshot_save(&sequence, path, NULL, true));
    assert_ok(file_read_all(bytes, path, UINT64_MAX));
}

/* The file of a session is the same, keys and values too; and what is said after it was loaded. */
static void sessions_are_the_same(void **state)
{
    (void)state;
    const char *path = scratch_path(scratch_of_process(), "session");
    for (int i = 0; i < PROMPTS; i++) {
        struct answer plain, drafted;
        struct buf bytes = {0}, expected = {0};
        char *settings = NULL;
        choose_settings(i % 2 == 0 ? 0 : 14);
        assert_ok(ask(prompts[i], SPECULATE_OFF, NULL, &plain));
        answer_release(&plain);
        save_session(path, &expected);
        sequence_truncate(&sequence, 0);
        engine.drafter_share = -1;
        assert_ok(ask(prompts[i], i < 4 ? SPECULATE_LOOKUP : SPECULATE_MODEL, NULL, &drafted));
        n_drafted += drafted.n_drafted;
        n_accepted += drafted.n_accepted;
        answer_release(&drafted);
        save_session(path, &bytes);
        assert_int_equal(bytes.n, expected.n);
        assert_memory_equal(bytes.data, expected.data, bytes.n);
        for (int how = 0; how < 2; how++) {
            assert_ok(snapshot_load(&sequence, path, NULL, NULL, &settings, NULL));
            mem_free(settings);
            config.speculate = how == 0 ? "off" : i < 4 ? "lookup" : "MODEL";
            struct answer *a = how == 0 ? &plain : &drafted;
            memset(a, 0, sizeof *a);
            assert_ok(generate(&sequence, NULL, &config, &sampler,
                               &(struct generate_callbacks){.want_logprobs = true}, a));
        }
        same_answer(&plain, &drafted);
        answer_release(&plain);
        answer_release(&drafted);
        buf_release(&bytes);
        buf_release(&expected);
    }
    assert_true(n_accepted > 100 && n_accepted < n_drafted);
}

/* ---- Ctrl-C ---- */

struct listening {
    int calls, interrupt_at;
};

static void hear_text(void *user, int answer, const char *bytes, size_t n)
{
    struct listening *l = user;
    (void)answer;
    (void)bytes;
    (void)n;
    if (++l->calls == l->interrupt_at)
        interrupt_raise();
}

/* After Ctrl-C the text goes on as if there had been none. */
static void an_interrupted_text_goes_on(void **state)
{
    (void)state;
    for (int at = 1; at < 60; at += 3)
        for (int way = 0; way < 3; way++) {
            struct answer whole, part, rest;
            struct listening l = {.interrupt_at = at};
            const struct generate_callbacks callbacks = {
                .text = hear_text, .want_logprobs = true, .user = &l};
            choose_settings(way == 0 ? 0 : 14);
            config.max_new_tokens = 100;
            config.device_loop = way == 2;
            sampler.seed = 7;
            assert_ok(ask(prompts[at % 4], SPECULATE_OFF, NULL, &whole));
            engine.drafter_share = -1;
            int rc = ask(prompts[at % 4], at % 2 ? SPECULATE_LOOKUP : SPECULATE_MODEL, &callbacks,
                         &part);
            interrupt_clear();
            assert_true(rc == 0 || rc == ERR_INTERRUPTED);
            assert_int_equal(sequence.ids.n, (size_t)part.n_prompt + part.ids.n);
            assert_true(sequence.kv.n <= (int)sequence.ids.n);
            sampler.position = (int64_t)part.ids.n;
            config.max_new_tokens -= (int)part.ids.n;
            memset(&rest, 0, sizeof rest);
            if (config.max_new_tokens > 0)
                assert_ok(generate(&sequence, NULL, &config, &sampler,
                                   &(struct generate_callbacks){.want_logprobs = true}, &rest));
            assert_int_equal(part.ids.n + rest.ids.n, whole.ids.n);
            assert_memory_equal(part.ids.data, whole.ids.data, part.ids.n * sizeof(token_id));
            for (size_t i = 0; i < rest.ids.n; i++) {
                assert_int_equal(rest.ids.data[i], whole.ids.data[part.ids.n + i]);
                assert_memory_equal(&rest.logprobs[i], &whole.logprobs[part.ids.n + i],
                                    sizeof(float));
            }
            n_cases += rc == ERR_INTERRUPTED;
            answer_release(&whole);
            answer_release(&part);
            answer_release(&rest);
        }
    assert_true(n_cases > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(texts_are_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(batches_are_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sessions_are_the_same, set_up, tear_down),
        {"batches_are_the_same_in_q8", batches_are_the_same, set_up_q8, tear_down, NULL},
        {"sessions_are_the_same_in_q8", sessions_are_the_same, set_up_q8, tear_down, NULL},
        cmocka_unit_test_setup_teardown(threads_do_not_matter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_interrupted_text_goes_on, set_up, tear_down),
    };
    assert_ok(par_open(1, false));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
