/* With drafts, answers are those of one token a pass, to the last bit. */
#include "sampling/generate.h"
#include "kvcache/snapshot.h"
#include "sampling/scheduler.h"

#include "model/base/par.h"
#include "model/base/progress.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny_text.h"

#include <stdio.h>

enum { PROMPTS = 8, TEXTS = 3, MODES = 2 };

static struct model model;
static struct engine engine;
static struct sequence sequence;
static struct generate_config config;
static struct sampler_config sampler;
static int n_cases, n_drafted, n_accepted;

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

static int set_up_model(uint64_t seed)
{
    tiny_speaker(&model, seed);
    assert_ok(engine_init(&engine, &model, PROMPTS));
    assert_ok(sequence_init(&sequence, &engine));
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    n_cases = n_drafted = n_accepted = 0;
    return set_up_model(11);
}

static void release_model(void)
{
    sequence_release(&sequence);
    assert_int_equal(engine.cache.n_free, engine.cache.n_pages);
    engine_release(&engine);
    tiny_speaker_release(&model);
}

static int tear_down(void **state)
{
    (void)state;
    interrupt_clear();
    release_model();
    return 0;
}

/* A little certainty, which the random model has not: it goes on with what it said. */
static void sharpen(float temperature)
{
    sampler.temperature = temperature;
    sampler.top_p = 1;
}

enum { WAYS = 34 };
/* Settings number `way`: everything that has to do with where a text goes and where it ends. */
static void choose_settings(int way)
{
    generate_config_init(&config);
    sampler_config_init(&sampler);
    config.max_new_tokens = 40;
    sampler.ignore_eos = true;
    sharpen(0.1f);
    /* clang-format off */
    switch (way) {
    case 0: sampler.temperature = 0; break;
    case 1: sampler.temperature = 0.8f, sampler.top_p = 0.95f; break;
    case 2: sampler.temperature = 2; break;
    case 3: sampler.top_k = 3; break;
    case 4: sampler.top_p = 0.5f; break;
    case 5: sampler.min_p = 0.2f; break;
    case 6: sampler.typical_p = 0.6f; break;
    case 7: sampler.top_n_sigma = 1; break;
    case 8: sampler.xtc_probability = 0.5f, sampler.xtc_threshold = 0.1f; break;
    case 9: sampler.topk_uniform = true, sampler.top_k = 2; break;
    case 10: sampler.dynatemp_range = 0.09f; break;
    case 11: sampler.mirostat = 1, sampler.mirostat_tau = 2; break;
    case 12: sampler.mirostat = 2, sampler.mirostat_tau = 1, sampler.temperature = 0.3f; break;
    case 13: sampler.repetition_penalty = 1.2f, sampler.temperature = 0; break;
    case 14: sampler.frequency_penalty = 0.05f, sampler.presence_penalty = 0.1f; break;
    case 15: sampler.repetition_penalty = 1.1f, sampler.penalty_window = 7; break;
    case 16: sampler.dry_multiplier = 0.3f, sampler.dry_allowed_length = 6; break;
    case 17: sampler.dry_multiplier = 0.8f, sampler.temperature = 0; break;
    case 18: sampler.no_repeat_ngram_size = 9; break;
    case 19: sampler.bad_words = "the,ab"; break;
    case 20: sampler.logit_bias = "258:1,102:0.5,33:-inf"; break;
    case 21: sampler.chain = "min_p,temperature,penalties", sampler.min_p = 0.1f; break;
    case 22: sampler.ignore_eos = false, sampler.logit_bias = "0:1"; break;
    case 23: config.stop_token = "102,the,33", sampler.ignore_eos = false; break;
    case 24:
        config.stop_token = "102,the", sampler.ignore_eos = false, sampler.min_new_tokens = 20;
        break;
    case 25: config.stop = "e,ab,of the", sampler.temperature = 0; break;
    case 26: config.stop = "the end of the end,cabcab,x = 1"; break;
    case 27: config.on_full = ON_FULL_SLIDE, config.max_new_tokens = 250; break;
    case 28: config.on_full = ON_FULL_SLIDE, config.max_new_tokens = 250, sampler.temperature = 0;
        break;
    case 29: config.max_new_tokens = 1000; break; /* to the end of the context */
    case 30: config.device_loop = false; break;
    case 31: config.device_iterations = 5; break;
    case 32: config.num_return_sequences = TEXTS; break;
    case 33: config.max_new_tokens = 2; break;
    }
    /* clang-format on */
}

static int ask(const char *text, enum speculate how, const struct generate_callbacks *callbacks,
               struct answer *answers)
{
    const struct generate_callbacks scored = {.want_logprobs = true};
    struct prompt p = {0};
    config.speculate = how;
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
    static const enum speculate how[MODES] = {SPECULATE_LOOKUP, SPECULATE_AUTO};
    struct answer plain[TEXTS], drafted[TEXTS];
    struct ids ids = {0};
    sequence_truncate(&sequence, 0);
    assert_ok(ask(text, SPECULATE_OFF, NULL, plain));
    assert_int_equal(plain[0].n_drafted, 0);
    assert_ok(ids_add(&ids, sequence.ids.data, sequence.ids.n));
    const int n_cached = sequence.kv.n;
    for (int mode = 0; mode < MODES; mode++) {
        sequence_truncate(&sequence, 0);
        assert_ok(ask(text, how[mode], NULL, drafted));
        for (int i = 0; i < config.num_return_sequences; i++)
            same_answer(&plain[i], &drafted[i]);
        assert_int_equal(sequence.ids.n, ids.n);
        assert_memory_equal(sequence.ids.data, ids.data, ids.n * sizeof(token_id));
        assert_int_equal(sequence.kv.n, n_cached);
        release_answers(drafted);
    }
    release_answers(plain);
    ids_release(&ids);
}

static void texts_are_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 11; seed < 19; seed++) {
        release_model();
        set_up_model(seed);
        for (int way = 0; way < WAYS; way++) {
            choose_settings(way);
            for (int i = 0; i < PROMPTS; i++) {
                sampler.seed = seed * 100 + (uint64_t)i;
                check_prompt(prompts[i]);
            }
        }
    }
    printf("# %d answers, %d of %d drafted tokens accepted\n", n_cases, n_accepted, n_drafted);
    assert_true(n_cases > 4000 && n_accepted > 10000 && n_accepted < n_drafted - 10000);
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
    config.speculate = how;
    *b = (struct batch){.own = config};
    b->own.speculate = SPECULATE_OFF;
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
        for (int n = 0; n < 3; n++) {
            run_lines(&drafted, n == 1 ? SPECULATE_AUTO : SPECULATE_LOOKUP, slots[n]);
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
    assert_true(n_cases > 700 && n_accepted > 500 && n_accepted < n_drafted - 500);
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
        assert_ok(ask(prompts[i], SPECULATE_LOOKUP, NULL, &drafted));
        n_drafted += drafted.n_drafted;
        n_accepted += drafted.n_accepted;
        answer_release(&drafted);
        save_session(path, &bytes);
        assert_int_equal(bytes.n, expected.n);
        assert_memory_equal(bytes.data, expected.data, bytes.n);
        for (int how = 0; how < 2; how++) {
            assert_ok(snapshot_load(&sequence, path, NULL, NULL, &settings));
            mem_free(settings);
            config.speculate = how == 0 ? SPECULATE_OFF : SPECULATE_LOOKUP;
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
            int rc = ask(prompts[at % 4], SPECULATE_LOOKUP, &callbacks, &part);
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
        cmocka_unit_test_setup_teardown(threads_do_not_matter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_interrupted_text_goes_on, set_up, tear_down),
    };
    assert_ok(par_open(1, false));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
