/* Steps that a run leaves out: overflows of float16, and spikes. */
#include "model/base/par.h"
#include "tests/lib/thin.h"
#include "tests/lib/trial.h"

#include <math.h>

static void test_scale_of_the_loss(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    const struct run_events e = {0};
    /* Too great for any step, and growing too soon: it falls and rises, and no step counts as bad.
     */
    trial_open(&t, (const char *const[]){"precision=float16", "loss_scaling=1e7", "steps=8",
                                         "loss_scaling_growth=1", "max_bad_steps=1", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_ok(run_go(r));
    const struct metrics *m = run_metrics(r);
    assert_true(m->overflows >= 3 && m->skipped == m->overflows);
    assert_true(isfinite(m->loss));
    /* A new one is that of the next step. */
    assert_ok(
        run_change(r, (char *const[]){"loss_scaling=256", "steps=9", "loss_scaling_growth=9"}, 3));
    int64_t before = m->overflows;
    assert_ok(run_go(r));
    assert_true(m->loss_scale == 256 && m->overflows == before);
    run_free(r);
    trial_close(&t);
    /* A scale that stands still is to blame for nothing: such steps are bad. */
    trial_open(&t, (const char *const[]){"precision=float16", "loss_scaling=1e7",
                                         "auto_loss_scaling=off", "max_bad_steps=3", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_int_equal(run_go(r), ERR_RANGE);
    assert_int_equal(run_step(r), 3);
    assert_int_equal(run_change(r, (char *const[]){"precision=float32"}, 1), ERR_MISMATCH);
    run_free(r);
    trial_close(&t);
}

/* So many bad steps in a row stop a run, however often it pauses between them; of no such step is
 * there an update, and each counts for the speed. */
static void test_paused_among_bad_steps(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    struct buf lines = {0};
    struct ticks ticks = {.every = 3};
    const struct run_events e = {.tick = raise_at_tick, .user = &ticks};
    int rc, pauses = 0;
    trial_open(&t, (const char *const[]){"precision=float16", "loss_scaling=1e7",
                                         "auto_loss_scaling=off", "max_bad_steps=3",
                                         "log_grads_every=1", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    for (int64_t stop = 3; stop <= 6; stop += 3) {
        while ((rc = run_go(r)) == ERR_INTERRUPTED) {
            interrupt_clear();
            pauses++;
        }
        assert_int_equal(rc, ERR_RANGE);
        assert_int_equal(run_step(r), stop);
    }
    assert_true(pauses >= 5);
    assert_true(run_metrics(r)->tokens_per_s > 0);
    assert_ok(file_read_all(&lines, scratch_path(&t.scratch, "run/metrics.jsonl"), 1 << 20));
    assert_non_null(strstr(buf_text(&lines), "\"update_ratios\":{}"));
    assert_null(strstr(buf_text(&lines), "\"update_ratios\":{\""));
    buf_release(&lines);
    run_free(r);
    trial_close(&t);
}

static void expect_finite_weights(const struct model *m)
{
    float row[4096];
    for (int i = 0; i < m->params.n_tensors; i++) {
        const struct param_tensor *t = &m->params.tensors[i];
        assert_true(t->cols <= 4096);
        for (int k = 0; k < t->rows; k++) {
            params_read(t, row, (uint64_t)k * (uint64_t)t->cols, (size_t)t->cols);
            for (int j = 0; j < t->cols; j++)
                assert_true(isfinite(row[j]));
        }
    }
}

/* Random weights of this size. */
static void load_random(struct trial *t, const char *range)
{
    char name[PATH_MAX + 32], text[256];
    const char *path = scratch_path(&t->scratch, "config.json");
    snprintf(text, sizeof text,
             "{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_head\": 2, \"n_embd\": 32, "
             "\"n_positions\": 256, \"vocab_size\": 257, \"initializer_range\": %s}",
             range);
    scratch_write(&t->scratch, "config.json", text, strlen(text));
    snprintf(name, sizeof name, "random:%s", path);
    trial_load(t, name);
}

/* Decay that multiplies the weights at every step: the first that fp16 could not hold is not
 * taken, nor those after it; what the run leaves, and what prompts are answered by, is good. */
static void test_weights_beyond_fp16(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    struct resume q;
    const struct run_events e = {0};
    trial_open(&t, (const char *const[]){"learning_rate=4", "weight_decay=10", "warmup=0",
                                         "schedule=constant", "max_bad_steps=3", "save_every=1",
                                         "eval_every=0", NULL});
    load_random(&t, "11.5");
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_int_equal(run_go(r), ERR_RANGE);
    assert_non_null(strstr(err_text(), "3 steps in a row would have made weights NaN or infinite "
                                       "in fp16 (beyond 65504)"));
    assert_int_equal(run_now(r).skipped, 3);
    assert_int_equal(run_step(r), 4);
    assert_int_equal(run_saved_step(r), run_step(r));
    expect_finite_weights(t.model);
    run_free(r);
    /* As good to go on from. */
    trial_configure(
        &t, (const char *const[]){"learning_rate=1e-4", "weight_decay=0.1", "steps=14", NULL});
    trial_go_back(&t, &q, "run");
    expect_finite_weights(t.model);
    assert_ok(trial_resume(&r, &t, &q, &t.config, &e));
    assert_ok(run_go(r));
    assert_int_equal(run_status(r), RUN_FINISHED);
    run_free(r);
    run_resume_close(&q);
    trial_close(&t);
}

/* An adapter's own numbers are fp32, but what they make of the weights is shown in fp16: a step
 * that this could not hold is not taken either, whatever the team and the optimizer. */
static void test_merged_beyond_fp16(void **state)
{
    (void)state;
    static const char *const kinds[][2] = {{"optimizer=adamw", "learning_rate=10"},
                                           {"optimizer=adam", "learning_rate=1000"},
                                           {"optimizer=lamb", "learning_rate=1000"}};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        struct buf learned[2] = {{0}, {0}};
        for (int k = 0; k < 2; k++) {
            struct trial t;
            struct run *r;
            const struct run_events e = {0};
            char name[64];
            assert_ok(par_open(1 + 2 * k, false));
            trial_open(&t,
                       (const char *const[]){"weight_decay=10", "warmup=0", "schedule=constant",
                                             "max_bad_steps=3", "rank=3", "save_every=1",
                                             "eval_every=0", kinds[kind][0], kinds[kind][1], NULL});
            assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
            assert_int_equal(run_go(r), ERR_RANGE);
            assert_non_null(strstr(err_text(), "3 steps in a row would have made weights NaN or "
                                               "infinite in fp16 (beyond 65504) with the adapter "
                                               "merged into h."));
            assert_int_equal(run_now(r).skipped, 3);
            assert_true(run_step(r) >= 3);
            assert_int_equal(run_saved_step(r), run_step(r));
            assert_true(t.model->adapter != NULL && t.model->adapter->on);
            expect_finite_weights(t.model);
            snprintf(name, sizeof name, "run/step-%06d/adapter_model.safetensors",
                     (int)run_saved_step(r));
            run_free(r);
            assert_ok(file_read_all(&learned[k], scratch_path(&t.scratch, name), 1 << 24));
            /* What is saved can be loaded. */
            *strrchr(name, '/') = '\0';
            trial_load(&t, scratch_path(&t.scratch, name));
            trial_close(&t);
        }
        assert_int_equal(learned[0].n, learned[1].n);
        assert_memory_equal(learned[0].data, learned[1].data, learned[0].n);
        buf_release(&learned[0]);
        buf_release(&learned[1]);
    }
    par_close();
}

/* What is due at the step that a run stops at is done before it stops. */
static void test_due_at_the_stop(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    struct metrics lines[TRIAL_STEPS + 1] = {0};
    const struct run_events e = {.line = keep_line, .user = lines};
    trial_open(&t, (const char *const[]){"precision=float16", "loss_scaling=1e7",
                                         "auto_loss_scaling=off", "max_bad_steps=3", "log_every=3",
                                         "eval_every=3", "save_every=3", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_int_equal(run_go(r), ERR_RANGE);
    assert_non_null(
        strstr(err_text(), "stopped at step 3: 3 steps in a row had a NaN or infinite loss"));
    assert_int_equal(lines[3].step, 3);
    assert_int_equal(lines[3].validation_step, 3);
    assert_int_equal(run_saved_step(r), 3);
    run_free(r);
    trial_close(&t);
}

/* Ctrl-C as an evaluation begins. */
static void raise_at_scoring(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)user;
    (void)done;
    (void)total;
    if (strcmp(what, "scoring") == 0)
        interrupt_raise();
}

static int count_sample(void *user, struct buf *out)
{
    (void)out;
    ++*(int *)user;
    return 0;
}

/* What is due at the step that a pause falls into is done by the run that goes on from its
 * checkpoint. */
static void test_due_after_a_checkpoint(void **state)
{
    (void)state;
    static const char *const words[] = {"log_every=100", "eval_every=3", "sample_every=3",
                                        "save_every=0",  "steps=5",      NULL};
    struct trial t;
    struct run *r;
    struct resume q;
    struct buf lines = {0};
    int n_samples = 0;
    const struct progress scoring = {.step = raise_at_scoring};
    const struct run_events paused = {.progress = &scoring,
                                      .sample = count_sample,
                                      .user = &n_samples},
                            on = {.sample = count_sample, .user = &n_samples};
    trial_open(&t, words);
    assert_ok(run_new(&r, &t.config, t.model, NULL, &paused));
    assert_int_equal(run_go(r), ERR_INTERRUPTED);
    interrupt_clear();
    assert_int_equal(run_step(r), 3);
    assert_ok(run_save(r));
    run_free(r);
    assert_int_equal(n_samples, 0);

    trial_configure(&t, words);
    trial_go_back(&t, &q, "run");
    assert_ok(trial_resume(&r, &t, &q, &t.config, &on));
    assert_ok(run_go(r));
    run_resume_close(&q);
    run_free(r);
    assert_int_equal(n_samples, 1);
    assert_ok(file_read_all(&lines, scratch_path(&t.scratch, "run/metrics.jsonl"), 1 << 20));
    const char *third = strstr(buf_text(&lines), "\"step\":3,");
    assert_non_null(third);
    static const char *const figures[] = {"validation_loss", "learning_rate", "grad_norm"};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const char *figure = strstr(third, figures[i]);
        assert_true(figure != NULL && figure < strchr(third, '\n'));
    }
    buf_release(&lines);
    trial_close(&t);
}

/* What 80 steps come to: in one go, or with a checkpoint after the first `stop`. */
static struct metrics eighty(const char *const *words, int stop, struct buf *weights)
{
    enum { N = 80 };
    struct trial t;
    struct run *r;
    const struct run_events e = {0};
    char steps[24];
    const char *more[16] = {steps, "schedule=constant", "save_every=0", "eval_every=0"};
    for (int i = 0; words[i] != NULL; i++)
        more[4 + i] = words[i];
    snprintf(steps, sizeof steps, "steps=%d", stop > 0 ? stop : N);
    trial_open(&t, more);
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_ok(run_go(r));
    if (stop > 0) {
        struct resume q;
        run_free(r);
        snprintf(steps, sizeof steps, "steps=%d", N);
        trial_configure(&t, more);
        trial_go_back(&t, &q, "run");
        assert_ok(trial_resume(&r, &t, &q, &t.config, &e));
        assert_ok(run_go(r));
        run_resume_close(&q);
    }
    const struct metrics m = run_now(r);
    assert_int_equal(m.step, N);
    run_free(r);
    assert_ok(file_read_all(weights, scratch_path(&t.scratch, "run/step-000080/model.safetensors"),
                            1 << 24));
    trial_close(&t);
    return m;
}

/* What the guard and the loss scale have learned is part of where a run is. */
static void test_resumed_with_what_it_learned(void **state)
{
    (void)state;
    static const char *const words[][5] = {
        {"spike_z=0.5", "max_bad_steps=80", "learning_rate=1e-5", NULL},
        {"precision=float16", "loss_scaling=4e6", "loss_scaling_growth=7", NULL}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct buf whole = {0}, parts = {0};
        if (!thin_runs((int)i, 2))
            continue;
        struct metrics a = eighty(words[i], 0, &whole), b = eighty(words[i], 61, &parts);
        assert_true(a.skipped > 0);
        assert_int_equal(a.skipped, b.skipped);
        assert_int_equal(a.overflows, b.overflows);
        assert_int_equal(a.tokens, b.tokens);
        assert_true(a.loss_scale == b.loss_scale);
        assert_int_equal(whole.n, parts.n);
        assert_memory_equal(whole.data, parts.data, whole.n);
        buf_release(&whole);
        buf_release(&parts);
    }
}

/* Spikes are left out one by one; it is so many in a row that stop a run. */
static void test_spikes(void **state)
{
    (void)state;
    struct buf end = {0};
    char most[32];
    const char *words[] = {"spike_z=0.1", "max_bad_steps=80", "learning_rate=1e-5", NULL};
    const struct metrics all = eighty(words, 0, &end);
    assert_in_range(all.skipped, 5, 25);
    snprintf(most, sizeof most, "max_bad_steps=%d", (int)all.skipped);
    words[1] = most;
    end.n = 0;
    if (!THIN)
        assert_int_equal(eighty(words, 0, &end).skipped, all.skipped);
    words[0] = "spike_z=0";
    end.n = 0;
    if (!THIN)
        assert_int_equal(eighty(words, 0, &end).skipped, 0);
    buf_release(&end);

    struct trial t;
    struct run *r;
    const struct run_events e = {0};
    const char *const strict[] = {"steps=80", "spike_z=0.001", "max_bad_steps=1",
                                  "learning_rate=1e-5", NULL};
    trial_open(&t, strict);
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_int_equal(run_go(r), ERR_RANGE);
    assert_non_null(strstr(err_text(), "were spikes by spike_z"));
    assert_non_null(strstr(err_text(), "`:train resume spike_z=0` takes such steps"));
    assert_ok(run_change(r, (char *const[]){"spike_z=0"}, 1));
    assert_ok(run_go(r));
    run_free(r);
    trial_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scale_of_the_loss),
        cmocka_unit_test(test_paused_among_bad_steps),
        cmocka_unit_test(test_weights_beyond_fp16),
        cmocka_unit_test(test_merged_beyond_fp16),
        cmocka_unit_test(test_due_at_the_stop),
        cmocka_unit_test(test_due_after_a_checkpoint),
        cmocka_unit_test(test_resumed_with_what_it_learned),
        cmocka_unit_test(test_spikes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
