/* Weights that are finite, fit fp16, and yet make NaN of every text, since their keys do not: they
 * are in no checkpoint and answer no prompt, and what was good before them stays. */
#include "kvcache/sequence.h"
#include "model/base/par.h"
#include "sampling/chain/logits.h"
#include "tests/lib/trial.h"
#include "tests/lib/thin.h"

#include <math.h>

/* What the model says of a text, as a session would ask it. */
static bool answers(struct model *m)
{
    static const token_id ids[] = {5, 9, 100, 7};
    struct engine e;
    struct sequence s;
    assert_ok(engine_init(&e, m, 1));
    assert_ok(sequence_init(&s, &e));
    assert_ok(sequence_feed(&s, ids, 4, NULL));
    bool good = logits_are_finite(s.logits, (size_t)m->config.n_vocab);
    sequence_release(&s);
    engine_release(&e);
    return good;
}

static void copy_fingerprint(unsigned char out[32], struct model *m)
{
    memcpy(out, model_fingerprint(m), 32);
}

/* The steps after `good` are wild, by this rate. */
static void go_until_lost(struct trial *t, struct run *r, int good, const char *rate,
                          unsigned char before[32])
{
    char steps[32];
    if (good > 0) {
        snprintf(steps, sizeof steps, "steps=%d", good);
        assert_ok(run_change(r, (char *const[]){steps}, 1));
        assert_ok(run_go(r));
        assert_int_equal(run_saved_step(r), good);
        assert_true(answers(t->model));
    }
    copy_fingerprint(before, t->model);
    const uint64_t version = t->model->version;
    /* Steps whose merged weights would leave fp16 are left out. */
    assert_ok(run_change(
        r, (char *const[]){"steps=40", "schedule=constant", "max_bad_steps=100", (char *)rate}, 4));
    assert_int_equal(run_go(r), ERR_NOT_FINITE);
    assert_int_equal(run_status(r), RUN_LOST);
    assert_true(good == 0 || t->model->version > version);
}

static void expect_as_before(struct trial *t, const unsigned char before[32])
{
    unsigned char now[32];
    copy_fingerprint(now, t->model);
    assert_memory_equal(now, before, 32);
    assert_true(answers(t->model));
}

/* Whatever uses the weights first: a checkpoint, an evaluation, a sample, the end. */
static int count_sample(void *user, struct buf *out)
{
    (void)out;
    ++*(int *)user;
    return 0;
}

static void test_first_use(void **state)
{
    (void)state;
    static const char *const uses[][4] = {
        {"save_every=5", "eval_every=0", "sample_every=0", "log_every=100"},
        {"save_every=0", "eval_every=5", "sample_every=0", "log_every=100"},
        {"save_every=0", "eval_every=0", "sample_every=5", "log_every=100"},
        {"save_every=0", "eval_every=0", "sample_every=0", "log_every=100"}};
    static const int at[] = {5, 5, 5, 40};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        for (int rank = 0; rank <= 4; rank += 4) {
            struct trial t;
            struct run *r;
            if (!thin_runs((int)i * 2 + rank / 4, 3))
                continue;
            unsigned char before[32];
            char adapter[24], text[96];
            int samples = 0;
            const struct run_events e = {.sample = count_sample, .user = &samples};
            snprintf(adapter, sizeof adapter, "rank=%d", rank);
            trial_open(&t, (const char *const[]){uses[i][0], uses[i][1], uses[i][2], uses[i][3],
                                                 adapter, "warmup=0", "weight_decay=0", NULL});
            assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
            go_until_lost(&t, r, 0, rank > 0 ? "learning_rate=20" : "learning_rate=100", before);
            assert_int_equal(run_step(r), at[i]);
            snprintf(text, sizeof text,
                     "stopped at step %d: in fp16 inference makes NaN or infinite logits", at[i]);
            assert_non_null(strstr(err_text(), text));
            assert_non_null(strstr(err_text(), "there is no checkpoint before them; a lower "
                                               "learning_rate may help"));
            assert_int_equal(samples, 0);
            assert_int_equal(run_saved_step(r), -1);
            expect_as_before(&t, before);
            assert_null(t.model->adapter);
            assert_false(t.model->changed);
            /* Nothing goes on from there, nor is it saved later. */
            assert_int_equal(run_go(r), ERR_NOT_FINITE);
            assert_int_equal(run_save(r), ERR_NOT_FINITE);
            assert_int_equal(run_step(r), at[i]);
            expect_as_before(&t, before);
            run_free(r);
            assert_true(answers(t.model));
            trial_close(&t);
        }
}

/* After good steps their checkpoint remains, the model has what it answered with, and the run goes
 * on from there as if the wild steps had not been. */
static void test_what_remains(void **state)
{
    (void)state;
    static const char *const kinds[] = {"rank=0", "rank=4", "precision=float16", "phased=on"};
    for (int kind = 0; kind < 4; kind++) {
        if (!thin_runs(kind + 1, 2))
            continue;
        const char *what = kinds[kind];
        const int rank = kind == 1 ? 4 : 0;
        struct trial t;
        struct run *r;
        struct resume q;
        struct metrics lines[64] = {0};
        unsigned char before[32], end[2][32];
        const struct run_events e = {.line = keep_line, .user = lines}, none = {0};
        trial_open(&t, (const char *const[]){what, "save_every=4", "eval_every=4", "log_every=4",
                                             "warmup=0", "schedule=constant", NULL});
        assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
        go_until_lost(&t, r, 4, rank > 0 ? "learning_rate=60" : "learning_rate=100", before);
        assert_int_equal(run_step(r), 8);
        assert_non_null(strstr(err_text(),
                               "the checkpoint of step 4 remains; a lower learning_rate "
                               "may help: `:train resume "));
        assert_int_equal(run_saved_step(r), 4);
        expect_as_before(&t, before);
        assert_true((t.model->adapter != NULL) == (rank > 0));
        assert_true(rank == 0 || (t.model->adapter->on && !t.model->adapter->changed));
        assert_false(t.model->changed);
        /* The step's training has its line, and a validation loss only where there is one. */
        assert_int_equal(lines[8].step, 8);
        assert_int_equal(lines[8].validation_step, 4);
        assert_true(isfinite(lines[8].loss) && isfinite(lines[8].validation_loss));
        run_free(r);
        for (int k = 0; k < 2; k++) { /* once from the folder, once without any wild step */
            trial_configure(&t, (const char *const[]){what, "save_every=4", "eval_every=4",
                                                      "log_every=4", "warmup=0",
                                                      "schedule=constant", "steps=8", NULL});
            if (k == 0) {
                trial_go_back(&t, &q, "run");
                assert_int_equal(q.checkpoint.step, 4);
                assert_ok(trial_resume(&r, &t, &q, &t.config, &none));
            } else {
                trial_close(&t);
                trial_open(&t, (const char *const[]){what, "save_every=4", "eval_every=4",
                                                     "log_every=4", "warmup=0", "schedule=constant",
                                                     "steps=8", NULL});
                assert_ok(run_new(&r, &t.config, t.model, NULL, &none));
            }
            assert_ok(run_go(r));
            copy_fingerprint(end[k], t.model);
            run_free(r);
            if (k == 0)
                run_resume_close(&q);
        }
        assert_memory_equal(end[0], end[1], 32);
        trial_close(&t);
    }
}

/* A pause is a use too: instead of weights that answer with nothing the model has those before. */
static void test_pause(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    unsigned char before[32];
    struct ticks ticks = {.every = 11};
    const struct run_events e = {.tick = raise_at_tick, .user = &ticks};
    trial_open(&t, (const char *const[]){"save_every=0", "eval_every=0", "warmup=0",
                                         "schedule=constant", "learning_rate=100", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    copy_fingerprint(before, t.model);
    assert_int_equal(run_go(r), ERR_NOT_FINITE);
    interrupt_clear();
    assert_int_equal(run_step(r), 3);
    assert_int_equal(run_status(r), RUN_LOST);
    expect_as_before(&t, before);
    run_free(r);
    trial_close(&t);
}

/* While the last evaluation is at work a weight of the model becomes NaN, after all probes. */
struct spoiler {
    struct model *model;
    bool at_work;
};

static void spoil_position(void *user, const char *what, uint64_t done, uint64_t total)
{
    const struct spoiler *s = user;
    (void)done;
    (void)total;
    if (s->at_work && strcmp(what, "scoring") == 0)
        s->model->params.wpe[30 * s->model->config.n_embd] = NAN;
}

/* What an evaluation finds where the probe found nothing has the same consequence. */
static void test_evaluation_finds_it(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    struct metrics lines[16] = {0};
    unsigned char before[32];
    struct spoiler spoiler = {0};
    const struct progress progress = {.step = spoil_position, .user = &spoiler};
    const struct run_events e = {.line = keep_line, .progress = &progress, .user = lines};
    trial_open(&t, (const char *const[]){"save_every=4", "eval_every=4", "steps=4", NULL});
    spoiler.model = t.model;
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_ok(run_go(r));
    copy_fingerprint(before, t.model);
    spoiler.at_work = true;
    assert_ok(run_change(r, (char *const[]){"steps=12"}, 1));
    assert_int_equal(run_go(r), ERR_NOT_FINITE);
    assert_non_null(strstr(err_text(), "stopped at step 8: "));
    assert_non_null(strstr(err_text(), "the checkpoint of step 4 remains"));
    assert_int_equal(run_status(r), RUN_LOST);
    assert_int_equal(run_saved_step(r), 4);
    assert_int_equal(lines[8].validation_step, 4);
    expect_as_before(&t, before);
    run_free(r);
    trial_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_use),
        cmocka_unit_test(test_what_remains),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_evaluation_finds_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
