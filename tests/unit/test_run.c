/* A run: whatever interrupts it, it ends at the bits of one that nothing interrupted. */
#include "train/run.h"

#include "model/base/par.h"
#include "tests/unit/scratch.h"
#include "model/base/json.h"
#include "tests/unit/tiny.h"
#include "train/data/batches.h"
#include "train/eval/eval.h"
#include "train/masters.h"
#include "train/run_config.h"
#include "train/step.h"
#include "weights/load.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { STEPS = 12 };

struct made {
    struct scratch scratch;
    struct model *model;
    struct run_config config;
};

static void configure(struct made *t, const char *const *more)
{
    static const char *const words[] = {"data=generated",
                                        "generated_tokens=3000",
                                        "validation_fraction=0.1",
                                        "steps=12",
                                        "sequence_length=40",
                                        "micro_batch_size=2",
                                        "gradient_accumulation=3",
                                        "dropout=0.1",
                                        "learning_rate=1e-3",
                                        "eval_every=5",
                                        "log_every=4",
                                        "save_every=4",
                                        "sample_every=0",
                                        "keep_last=100"};
    char folder[PATH_MAX + 16];
    snprintf(folder, sizeof folder, "folder=%s/run", t->scratch.folder);
    const char *in[] = {folder};
    run_config_release(&t->config);
    assert_ok(run_config_init(&t->config));
    assert_ok(run_config_words(&t->config, (char *const *)words, sizeof words / sizeof *words));
    assert_ok(run_config_words(&t->config, (char *const *)in, 1));
    for (int i = 0; more != NULL && more[i] != NULL; i++)
        assert_ok(run_config_words(&t->config, (char *const *)&more[i], 1));
    assert_ok(run_config_settle(&t->config, &t->model->config));
}

static void load(struct made *t, const char *path)
{
    model_free(t->model);
    t->model = NULL;
    assert_ok(
        model_load(&t->model, path, &(struct load_config){.kind = LINEAR_F16, .seed = 3}, NULL));
}

static void open_all(struct made *t, const char *const *more)
{
    memset(t, 0, sizeof *t);
    scratch_open(&t->scratch);
    load(t, "random:tests/cli/data/config.json");
    configure(t, more);
}

static void close_all(struct made *t)
{
    model_free(t->model);
    run_config_release(&t->config);
    scratch_close(&t->scratch);
}

/*
 * The ways of training whose end must not depend on what interrupts it: a test's state is one of
 * these. In float16 the scale is too great at first, so that some steps are left out.
 */
static const char *const modes[][5] = {
    {NULL}, {"precision=float16", "loss_scaling=4e6", "loss_scaling_growth=3", NULL}};
enum { N_MODES = sizeof modes / sizeof *modes };

/* What a run leaves: the last checkpoint's weights and moments, but not its clock. */
static void read_end(struct made *t, struct buf *out)
{
    char name[64];
    snprintf(name, sizeof name, "run/step-%06d/model.safetensors", STEPS);
    assert_ok(file_read_all(out, scratch_path(&t->scratch, name), 1 << 24));
    snprintf(name, sizeof name, "run/step-%06d/training.safetensors", STEPS);
    assert_ok(file_read_all(out, scratch_path(&t->scratch, name), 1 << 24));
}

/* The end of the run that nothing interrupts; and of it alone, so made once a mode. */
static const struct buf *reference(const char *const *mode)
{
    static struct buf ends[N_MODES];
    int i = 0;
    while (modes[i] != mode)
        i++;
    struct buf *end = &ends[i];
    if (end->n == 0) {
        struct made t;
        struct run *r;
        const struct run_events e = {0};
        open_all(&t, mode);
        assert_ok(run_new(&r, &t.config, t.model, &e));
        assert_ok(run_go(r));
        assert_int_equal(run_state(r), RUN_FINISHED);
        assert_int_equal(run_saved_step(r), STEPS);
        assert_false(t.model->changed);
        const struct metrics *m = run_metrics(r);
        assert_true(mode[0] == NULL ? m->overflows == 0 : m->overflows > 0 && m->overflows < STEPS);
        assert_int_equal(m->skipped, m->overflows);
        run_free(r);
        read_end(&t, end);
        close_all(&t);
    }
    return end;
}

static void expect_reference(struct made *t, const char *const *mode)
{
    const struct buf *expected = reference(mode);
    struct buf end = {0};
    read_end(t, &end);
    assert_int_equal(end.n, expected->n);
    assert_memory_equal(end.data, expected->data, end.n);
    buf_release(&end);
}

struct ticks {
    int n, every; /* Ctrl-C at each of so many micro-batches */
};

static void raise_at_tick(void *user, const struct metrics *m, int64_t step, double part)
{
    (void)m;
    (void)step;
    (void)part;
    struct ticks *t = user;
    if (++t->n % t->every == 0)
        interrupt_raise();
}

static void test_paused_between_micro_batches(void **state)
{
    const char *const *mode = *state;
    struct made t;
    struct run *r;
    struct ticks ticks = {.every = 2};
    int pauses = 0, rc;
    const struct run_events e = {.tick = raise_at_tick, .user = &ticks};
    open_all(&t, mode);
    assert_ok(run_new(&r, &t.config, t.model, &e));
    while ((rc = run_go(r)) == ERR_INTERRUPTED) {
        assert_int_equal(run_state(r), RUN_PAUSED);
        /* New weights from the first step on; before it the model's own, which nobody changed. */
        assert_true(t.model->version > 1 || run_step(r) == 0);
        interrupt_clear();
        pauses++;
        /* Changes of this kind are none of the run's past. */
        if (pauses == 3)
            assert_ok(run_change(r, (char *const[]){"log_every=1"}, 1));
    }
    assert_int_equal(rc, 0);
    assert_in_range(pauses, STEPS, 3 * STEPS);
    run_free(r);
    expect_reference(&t, mode);
    close_all(&t);
}

/* Interrupts that fall wherever they fall: within a pass, an evaluation, a checkpoint. */
static atomic_bool raising;
static void *raise_often(void *arg)
{
    (void)arg;
    for (long us = 200; raising; us = us * 7 % 3001 + 100) {
        nanosleep(&(struct timespec){0, us * 1000}, NULL);
        interrupt_raise();
    }
    return NULL;
}

static void test_paused_anywhere(void **state)
{
    const char *const *mode = *state;
    struct made t;
    struct run *r;
    pthread_t thread;
    int pauses = 0, rc;
    const struct run_events e = {0};
    open_all(&t, mode);
    assert_ok(run_new(&r, &t.config, t.model, &e));
    raising = true;
    assert_int_equal(pthread_create(&thread, NULL, raise_often, NULL), 0);
    while ((rc = run_go(r)) == ERR_INTERRUPTED && pauses < 2000) {
        interrupt_clear();
        /* One that never comes to its turn would go on for ever. */
        if (++pauses == 200)
            raising = false;
    }
    raising = false;
    pthread_join(thread, NULL);
    interrupt_clear();
    assert_int_equal(rc, 0);
    assert_true(pauses > 0);
    run_free(r);
    expect_reference(&t, mode);
    close_all(&t);
}

static void see_activations(void *user, const struct metrics *m, const struct watch *w)
{
    int64_t *steps = user;
    const struct watched_stats s = watch_stats(w, 1, WATCHED_MLP);
    assert_true(s.std > 0 && isfinite(s.max) && s.max > s.std && s.zeros < 0.5);
    assert_true(watch_stats(w, 0, WATCHED_ATTENTION).std > 0);
    *steps = *steps * 100 + m->step;
}

/* Being looked at, also from the middle of a step on, changes nothing. */
static void test_activations_are_logged(void **state)
{
    (void)state;
    struct made t;
    struct run *r;
    struct buf lines = {0};
    int64_t steps = 0;
    const struct run_events e = {.activations = see_activations, .user = &steps};
    const char *const more[] = {"log_activations_every=5", "tensorboard=on", NULL};
    open_all(&t, more);
    assert_ok(run_new(&r, &t.config, t.model, &e));
    assert_ok(run_go(r));
    assert_int_equal(steps, 510);
    run_free(r);
    assert_ok(file_read_all(&lines, scratch_path(&t.scratch, "run/metrics.jsonl"), 1 << 20));
    const char *first = strstr(buf_text(&lines), "\"activation_means\":{\"h.0.attention\":");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "\"activation_means\""));
    assert_non_null(strstr(first, "\"activation_zeros\":{\"h.0.attention\":0"));
    buf_release(&lines);
    expect_reference(&t, modes[0]);
    close_all(&t);
}

static void test_other_team_in_the_middle(void **state)
{
    const char *const *mode = *state;
    struct made t;
    struct run *r;
    struct ticks ticks = {.every = 4}; /* a step begins anew with another team */
    int threads = 1, rc;
    const struct run_events e = {.tick = raise_at_tick, .user = &ticks};
    open_all(&t, mode);
    assert_ok(run_new(&r, &t.config, t.model, &e));
    while ((rc = run_go(r)) == ERR_INTERRUPTED) {
        interrupt_clear();
        assert_ok(par_open(threads = threads % 3 + 1, false));
    }
    assert_int_equal(rc, 0);
    run_free(r);
    assert_ok(par_open(0, false));
    expect_reference(&t, mode);
    close_all(&t);
}

/* Stopped in the middle of a step, thrown away, and gone on with from what was kept. */
static void test_from_a_checkpoint(void **state)
{
    const char *const *mode = *state;
    struct made t;
    struct run *r;
    struct checkpoint cp;
    struct run_config stored;
    struct ticks ticks = {.every = 20}; /* six steps, and two parts of the seventh */
    const struct run_events stops = {.tick = raise_at_tick, .user = &ticks}, e = {0};
    open_all(&t, mode);
    assert_ok(run_new(&r, &t.config, t.model, &stops));
    assert_int_equal(run_go(r), ERR_INTERRUPTED);
    interrupt_clear();
    int64_t step = run_step(r);
    assert_int_equal(step, 6);
    assert_true(t.model->changed);
    assert_ok(run_save(r));
    assert_int_equal(run_saved_step(r), step);
    assert_false(t.model->changed);
    run_free(r);
    assert_ok(checkpoint_open(&cp, scratch_path(&t.scratch, "run"), NULL));
    assert_int_equal(cp.step, step);
    load(&t, cp.path);
    assert_ok(run_stored_config(&stored, &cp));
    assert_ok(run_config_settle(&stored, &t.model->config));
    assert_ok(run_resume(&r, &cp, &stored, t.model, &e));
    assert_int_equal(run_step(r), step);
    assert_ok(run_go(r));
    run_free(r);
    run_config_release(&stored);
    checkpoint_close(&cp);
    expect_reference(&t, mode);
    close_all(&t);
}

/* Into another folder: what is there is left alone, and what is new is a run of its own. */
static void test_resumed_elsewhere(void **state)
{
    (void)state;
    struct made t;
    struct run *r;
    struct checkpoint cp;
    struct run_config c;
    const struct run_events e = {0};
    char other[PATH_MAX + 32];
    open_all(&t, NULL);
    assert_ok(run_new(&r, &t.config, t.model, &e));
    assert_ok(run_go(r));
    run_free(r);
    assert_ok(checkpoint_open(&cp, scratch_path(&t.scratch, "run/step-000008"), NULL));
    load(&t, cp.path);
    for (int i = 0; i < 2; i++) {
        snprintf(other, sizeof other, "folder=%s/other", t.scratch.folder);
        assert_ok(run_stored_config(&c, &cp));
        assert_ok(run_config_words(&c, (char *const[]){other, "steps=8"}, 2));
        assert_ok(run_config_settle(&c, &t.model->config));
        if (i == 0) {
            assert_ok(run_resume(&r, &cp, &c, t.model, &e));
            assert_int_equal(run_saved_step(r), -1);
            assert_ok(run_go(r));
            run_free(r);
            assert_true(file_exists(scratch_path(&t.scratch, "other/step-000008")));
        } else {
            assert_int_equal(run_check_resume(&cp, &c), ERR_EXISTS);
            assert_int_equal(run_resume(&r, &cp, &c, t.model, &e), ERR_EXISTS);
        }
        run_config_release(&c);
    }
    checkpoint_close(&cp);
    /* The run's own folder is as it was. */
    expect_reference(&t, modes[0]);
    close_all(&t);
}

/* What somebody put into an old checkpoint stays, and stops nothing. */
static void test_a_folder_in_a_checkpoint(void **state)
{
    (void)state;
    struct made t;
    struct run *r;
    const struct run_events e = {0};
    open_all(&t, (const char *const[]){"steps=4", "keep_last=1", "eval_every=0", NULL});
    assert_ok(run_new(&r, &t.config, t.model, &e));
    assert_ok(run_go(r));
    assert_ok(file_make_folder(scratch_path(&t.scratch, "run/step-000004/notes")));
    for (int steps = 8; steps <= 12; steps += 4) {
        char more[24];
        snprintf(more, sizeof more, "steps=%d", steps);
        assert_ok(run_change(r, (char *const[]){more}, 1));
        assert_ok(run_go(r));
        assert_false(file_exists(scratch_path(&t.scratch, "run/step-000004")));
    }
    run_free(r);
    assert_true(file_exists(scratch_path(&t.scratch, "run/step-000004.tmp-removed/notes")));
    struct checkpoint cp;
    assert_ok(checkpoint_open(&cp, scratch_path(&t.scratch, "run"), NULL));
    load(&t, cp.path);
    assert_ok(run_resume(&r, &cp, &t.config, t.model, &e));
    run_free(r);
    checkpoint_close(&cp);
    assert_int_equal(rmdir(scratch_path(&t.scratch, "run/step-000004.tmp-removed/notes")), 0);
    close_all(&t);
}

/* A pause before the first step leaves the weights as they were, and as nobody has to save them. */
static void test_paused_before_the_first_step(void **state)
{
    (void)state;
    struct made t;
    struct run *r;
    struct ticks ticks = {.every = 2};
    const struct run_events e = {.tick = raise_at_tick, .user = &ticks};
    unsigned char before[32], after[32];
    open_all(&t, NULL);
    params_hash(&t.model->params, before);
    assert_ok(run_new(&r, &t.config, t.model, &e));
    assert_int_equal(run_go(r), ERR_INTERRUPTED);
    interrupt_clear();
    params_hash(&t.model->params, after);
    assert_int_equal(run_step(r), 0);
    assert_false(t.model->changed);
    assert_memory_equal(after, before, sizeof before);
    run_free(r);
    close_all(&t);
}

static void expect_refused(struct made *t, const struct checkpoint *cp, const char *word,
                           const char *sentence)
{
    struct run_config c;
    struct run *r;
    const struct run_events e = {0};
    assert_ok(run_stored_config(&c, cp));
    assert_ok(run_config_words(&c, (char *const *)&word, 1));
    assert_ok(run_config_settle(&c, &t->model->config));
    assert_int_equal(run_resume(&r, cp, &c, t->model, &e), ERR_MISMATCH);
    if (strstr(err_text(), sentence) == NULL)
        fail_msg("expected \"%s\", got \"%s\"", sentence, err_text());
    run_config_release(&c);
}

static void test_what_cannot_change(void **state)
{
    (void)state;
    struct made t;
    struct run *r;
    struct checkpoint cp;
    const struct run_events e = {0};
    open_all(&t, (const char *const[]){"steps=4", NULL});
    assert_ok(run_new(&r, &t.config, t.model, &e));
    assert_int_equal(run_change(r, (char *const[]){"seed=9"}, 1), ERR_MISMATCH);
    assert_int_equal(run_change(r, (char *const[]){"micro_batch_size=6"}, 1), ERR_MISMATCH);
    assert_int_equal(run_change(r, (char *const[]){"learning_rate=nan"}, 1), ERR_RANGE);
    assert_int_equal(run_change(r, (char *const[]){"folder=elsewhere"}, 1), ERR_MISMATCH);
    assert_int_equal(run_change(r, (char *const[]){"decay=all"}, 1), ERR_MISMATCH);
    assert_int_equal(run_change(r, (char *const[]){"tensorboard=off"}, 1), ERR_MISMATCH);
    assert_ok(run_change(r, (char *const[]){"learning_rate=1e-4"}, 1));
    assert_true(run_settings(r)->schedule.learning_rate == 1e-4);
    assert_ok(run_go(r));
    run_free(r);
    /* There is a run now. */
    assert_int_equal(run_new(&r, &t.config, t.model, &e), ERR_EXISTS);
    assert_true(run_can_resume(&t.config));
    assert_ok(checkpoint_open(&cp, scratch_path(&t.scratch, "run"), NULL));
    load(&t, cp.path);
    expect_refused(&t, &cp, "sequence_length=20", "training.sequence_length was 40 in this run");
    expect_refused(&t, &cp, "dropout=0.2", "training.dropout was 0.1 in this run");
    expect_refused(&t, &cp, "optimizer=lamb", "optimizer.optimizer was adamw in this run");
    expect_refused(&t, &cp, "shuffle=off", "data.shuffle was on in this run");
    expect_refused(&t, &cp, "data=README.md", "the data has changed since the checkpoint");
    checkpoint_close(&cp);
    close_all(&t);
}

static void test_scale_of_the_loss(void **state)
{
    (void)state;
    struct made t;
    struct run *r;
    const struct run_events e = {0};
    /* Too great for any step, and growing too soon: it falls and rises, and no step counts as bad.
     */
    open_all(&t, (const char *const[]){"precision=float16", "loss_scaling=1e7", "steps=8",
                                       "loss_scaling_growth=1", "max_bad_steps=1", NULL});
    assert_ok(run_new(&r, &t.config, t.model, &e));
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
    close_all(&t);
    /* A scale that stands still is to blame for nothing: such steps are bad. */
    open_all(&t, (const char *const[]){"precision=float16", "loss_scaling=1e7",
                                       "auto_loss_scaling=off", "max_bad_steps=3", NULL});
    assert_ok(run_new(&r, &t.config, t.model, &e));
    assert_int_equal(run_go(r), ERR_RANGE);
    assert_int_equal(run_step(r), 3);
    assert_int_equal(run_change(r, (char *const[]){"precision=float32"}, 1), ERR_MISMATCH);
    run_free(r);
    close_all(&t);
}

static void count_at_tick(void *user, const struct metrics *m, int64_t step, double part)
{
    uint64_t *counts = user;
    (void)m;
    if (part == 0 && step < STEPS)
        counts[step] = mem_count();
}

static void test_no_allocation_in_a_step(void **state)
{
    (void)state;
    struct made t;
    struct run *r;
    uint64_t counts[STEPS] = {0};
    const struct run_events e = {.tick = count_at_tick, .user = counts};
    open_all(&t, (const char *const[]){"eval_every=0", "log_every=1000", "save_every=0", NULL});
    assert_ok(run_new(&r, &t.config, t.model, &e));
    assert_ok(run_go(r));
    /* After the line of the first step. */
    assert_true(counts[1] > 0);
    for (int i = 2; i < STEPS; i++)
        assert_int_equal(counts[i], counts[1]);
    run_free(r);
    close_all(&t);
}

/* What eval_every finds is what :eval text finds on the same text, by the last bit, at whatever
 * batch; and a named evaluation stands in the metrics. */
static void test_eval_as_the_command_does(void **state)
{
    (void)state;
    enum { N = 500, T = 40 };
    struct made t;
    struct run *r;
    struct engine e;
    struct eval_config c;
    struct eval_result result;
    const struct run_events no_events = {0};
    uint16_t ids[N];
    open_all(&t, NULL);
    for (int i = 0; i < N; i++)
        ids[i] = (uint16_t)(i * i % t.model->config.n_vocab);
    scratch_write(&t.scratch, "held.bin", ids, sizeof ids);
    const char *held = scratch_path(&t.scratch, "held.bin");
    char *validation = mem_sprintf("validation=%s", held),
         *file = mem_sprintf("eval_file=%s", held);
    configure(&t, (const char *const[]){validation, file, "eval=text", "eval_every=4",
                                        "eval_windows=9", "log_every=100", NULL});
    assert_ok(run_new(&r, &t.config, t.model, &no_events));
    assert_ok(run_go(r));
    const struct metrics *m = run_metrics(r);

    eval_config_init(&c);
    c.seq_length = c.last_n = T;
    c.limit = 9;
    assert_ok(engine_init(&e, t.model, 1));
    assert_ok(eval_run(eval_find("text"), &e, NULL, &c, held, &result, NULL));
    assert_int_equal(result.targets, 9 * T);
    assert_int_equal(m->validation_step, STEPS);
    assert_true(m->validation_loss == eval_figure_find(&result, "loss")->value);
    assert_true(m->validation_accuracy == eval_figure_find(&result, "top_1")->value / 100);
    eval_result_release(&result);
    /* The named one has sizes of its own. */
    c.seq_length = c.last_n = 0;
    assert_ok(eval_run(eval_find("text"), &e, NULL, &c, held, &result, NULL));
    assert_non_null(m->evaluation);
    assert_true(eval_figure_find(m->evaluation, "loss")->value ==
                eval_figure_find(&result, "loss")->value);
    struct buf lines = {0};
    assert_ok(file_read_all(&lines, scratch_path(&t.scratch, "run/metrics.jsonl"), 1 << 20));
    assert_non_null(strstr(lines.data, "\"text_loss\""));
    buf_release(&lines);
    eval_result_release(&result);
    engine_release(&e);
    run_free(r);
    mem_free(validation);
    mem_free(file);
    close_all(&t);
}

static void test_eval_must_be_one(void **state)
{
    (void)state;
    struct made t = {0};
    scratch_open(&t.scratch);
    load(&t, "random:tests/cli/data/config.json");
    assert_ok(run_config_init(&t.config));
    assert_ok(run_config_set(&t.config, RUN_COMMAND_LINE, "eval", "wikitxt"));
    assert_int_equal(run_config_settle(&t.config, &t.model->config), ERR_MISSING);
    assert_string_equal(err_text(), "there is no evaluation wikitxt; :eval lists them");
    assert_ok(run_config_set(&t.config, RUN_COMMAND_LINE, "eval", "kl"));
    assert_int_equal(run_config_settle(&t.config, &t.model->config), ERR_UNSUPPORTED);
    assert_string_equal(err_text(), "eval is kl, which compares two models");
    close_all(&t);
}

static void test_validation(void **state)
{
    (void)state;
    struct made t;
    struct run *r;
    const struct run_events e = {0};
    open_all(&t, (const char *const[]){"eval_every=3", "save_every=0", "keep_last=1", NULL});
    assert_ok(run_new(&r, &t.config, t.model, &e));
    assert_true(isnan(run_metrics(r)->validation_loss));
    assert_ok(run_go(r));
    const struct metrics *m = run_metrics(r);
    assert_int_equal(m->validation_step, STEPS);
    assert_true(m->best_loss <= m->validation_loss && m->best_step % 3 == 0 && m->best_step > 0);
    assert_int_equal(m->step, STEPS);
    assert_int_equal(m->samples, STEPS * 6);
    /* The last window of an epoch may be short. */
    assert_in_range(m->tokens, STEPS * 6 * 40 - 40, STEPS * 6 * 40);
    /* The best is kept beside the last. */
    char best[64];
    snprintf(best, sizeof best, "run/step-%06d", (int)m->best_step);
    assert_true(file_exists(scratch_path(&t.scratch, best)));
    run_free(r);
    close_all(&t);
}

/* The rate grows until the weights are spoilt: the best is not the last. */
static void test_best_is_kept(void **state)
{
    (void)state;
    for (int keep = 0; keep < 2; keep++) {
        struct made t;
        struct run *r;
        char best[64];
        const struct run_events e = {0};
        open_all(&t, (const char *const[]){"eval_every=3", "save_every=0", "keep_last=1",
                                           "learning_rate=1", "warmup=12", "warmup_init=1e-4",
                                           keep ? "keep_best=on" : "keep_best=off", NULL});
        assert_ok(run_new(&r, &t.config, t.model, &e));
        assert_ok(run_go(r));
        const struct metrics *m = run_metrics(r);
        assert_in_range(m->best_step, 1, STEPS - 1);
        snprintf(best, sizeof best, "run/step-%06d", (int)m->best_step);
        assert_int_equal(file_exists(scratch_path(&t.scratch, best)), keep);
        run_free(r);
        close_all(&t);
    }
}

/* ---- by hand ---- */

static void keep_line(void *user, const struct metrics *m)
{
    struct metrics *lines = user;
    lines[m->step] = *m;
}

/* The step's number t of a run put together here from its parts: what its line has to say. */
struct by_hand {
    struct model *model;
    struct masters masters;
    struct dataset train, validation;
    struct batches *batches;
    struct step *step;
    struct optimizer optimizer;
    uint64_t windows, tokens;
};

static void open_by_hand(struct by_hand *h, const struct run_config *c)
{
    struct step_config s;
    struct data_config data = c->data;
    const struct load_config load = {.kind = LINEAR_F16, .seed = 3};
    *h = (struct by_hand){0};
    data.seed = c->training.seed;
    assert_ok(model_load(&h->model, "random:tests/cli/data/config.json", &load, NULL));
    assert_ok(dataset_open(&h->train, &h->validation, &data, h->model->tokenizer,
                           h->model->config.n_vocab, NULL));
    assert_ok(batches_new(&h->batches, &h->train, &data, c->training.micro_batch_size,
                          c->training.sequence_length));
    assert_ok(masters_init(&h->masters, h->model, DTYPE_F32, NULL));
    run_config_step(c, &h->model->config, &s);
    assert_ok(step_new(&h->step, &h->masters, &s));
    assert_ok(optimizer_init(&h->optimizer, &c->optimizer, &h->masters));
}

static void close_by_hand(struct by_hand *h)
{
    optimizer_release(&h->optimizer);
    step_free(h->step);
    masters_release(&h->masters);
    batches_free(h->batches);
    dataset_close(&h->train);
    dataset_close(&h->validation);
    model_free(h->model);
}

static void step_by_hand(struct by_hand *h, const struct run_config *c, int t,
                         const struct metrics *line)
{
    const struct training_section *tr = &c->training;
    const token_id *ids, *labels;
    struct step_result one;
    double loss = 0, n = 0, correct = 0;
    step_zero(h->step);
    for (int i = 0; i < tr->gradient_accumulation; i++) {
        assert_ok(batches_next(h->batches, &ids, &labels));
        assert_ok(step_run(h->step, &one, ids, labels, tr->micro_batch_size, tr->sequence_length, 1,
                           h->windows, true));
        h->windows += (uint64_t)tr->micro_batch_size;
        loss += one.loss_sum;
        n += (double)one.n_targets;
        correct += (double)one.n_correct;
    }
    const float rate = (float)schedule_rate(&c->schedule, t, STEPS), scale = (float)(1 / n);
    double norm = optimizer_norm(&h->optimizer, step_gradients(h->step), scale);
    optimizer_step(&h->optimizer, &h->masters, step_gradients(h->step), scale, norm, rate);
    h->tokens += (uint64_t)n;
    assert_true(norm > 2 * (double)c->optimizer.grad_clip);
    assert_int_equal(line->step, t + 1);
    assert_true(line->loss == loss / n && line->accuracy == correct / n);
    assert_true(fabs(line->grad_norm / norm - 1) < 1e-6);
    assert_true((float)line->learning_rate == rate);
    assert_int_equal(line->samples, h->windows);
    assert_int_equal(line->tokens, h->tokens);
    assert_true(line->epoch == (double)h->windows / (double)batches_per_epoch(h->batches));
}

/* Batches, scale of the loss, norm, clip, schedule and masks: a run does with them what their
 * headers say. A step's windows have 128 targets, a power of two, so that even its scale of the
 * loss changes no bit. */
static void test_is_the_sum_of_its_parts(void **state)
{
    (void)state;
    struct made t;
    struct run *r;
    struct by_hand h;
    struct metrics lines[STEPS + 1] = {0};
    unsigned char have[32], want[32];
    const struct run_events e = {.line = keep_line, .user = lines};
    open_all(&t, (const char *const[]){"sequence_length=32", "gradient_accumulation=2",
                                       "grad_clip=0.05", "warmup=3", "seed=5", "log_every=1",
                                       "eval_every=0", "save_every=0", NULL});
    assert_ok(run_new(&r, &t.config, t.model, &e));
    assert_ok(run_go(r));
    open_by_hand(&h, run_settings(r));
    for (int i = 0; i < STEPS; i++)
        step_by_hand(&h, run_settings(r), i, &lines[i + 1]);
    masters_publish(&h.masters, h.model);
    params_hash(&h.model->params, want);
    params_hash(&t.model->params, have);
    assert_memory_equal(have, want, sizeof want);
    close_by_hand(&h);
    run_free(r);
    close_all(&t);
}

/* Each tensor's norm, of the step it is logged at: together they are that step's. To be looked at
 * changes nothing. */
static void test_gradients_are_logged(void **state)
{
    (void)state;
    struct made t;
    struct run *r;
    struct buf text = {0};
    struct metrics lines[STEPS + 1] = {0};
    const struct run_events e = {.line = keep_line, .user = lines};
    int n = 0;
    open_all(&t, (const char *const[]){"eval_every=0", "log_every=1", "log_grads_every=3",
                                       "save_every=0", NULL});
    assert_ok(run_new(&r, &t.config, t.model, &e));
    assert_ok(run_go(r));
    assert_ok(file_read_all(&text, scratch_path(&t.scratch, "run/metrics.jsonl"), 1 << 20));
    for (char *p = text.data; *p != '\0'; p = strchr(p, '\n') + 1) {
        json_t *o, *norms, *norm;
        const char *name;
        double squares = 0;
        assert_ok(json_read_line(&o, p, strcspn(p, "\n")));
        if ((norms = json_object_get(o, "grad_norms")) != NULL) {
            int64_t step = json_integer_value(json_object_get(o, "step"));
            assert_int_equal(step, 3 * ++n);
            assert_int_equal(json_object_size(norms), t.model->params.n_tensors);
            json_object_foreach(norms, name, norm) squares +=
                json_real_value(norm) * json_real_value(norm);
            assert_true(fabs(sqrt(squares) / lines[step].grad_norm - 1) < 1e-5);
        }
        json_decref(o);
    }
    assert_int_equal(n, STEPS / 3);
    buf_release(&text);
    run_free(r);
    expect_reference(&t, modes[0]);
    close_all(&t);
}

/* What 80 steps come to: in one go, or with a checkpoint after the first `stop`. */
static struct metrics eighty(const char *const *words, int stop, struct buf *weights)
{
    enum { N = 80 };
    struct made t;
    struct run *r;
    const struct run_events e = {0};
    char steps[24];
    const char *more[16] = {steps, "schedule=constant", "save_every=0", "eval_every=0"};
    for (int i = 0; words[i] != NULL; i++)
        more[4 + i] = words[i];
    snprintf(steps, sizeof steps, "steps=%d", stop > 0 ? stop : N);
    open_all(&t, more);
    assert_ok(run_new(&r, &t.config, t.model, &e));
    assert_ok(run_go(r));
    if (stop > 0) {
        struct checkpoint cp;
        run_free(r);
        snprintf(steps, sizeof steps, "steps=%d", N);
        configure(&t, more);
        assert_ok(checkpoint_open(&cp, scratch_path(&t.scratch, "run"), NULL));
        load(&t, cp.path);
        assert_ok(run_resume(&r, &cp, &t.config, t.model, &e));
        assert_ok(run_go(r));
        checkpoint_close(&cp);
    }
    const struct metrics m = run_now(r);
    assert_int_equal(m.step, N);
    run_free(r);
    assert_ok(file_read_all(weights, scratch_path(&t.scratch, "run/step-000080/model.safetensors"),
                            1 << 24));
    close_all(&t);
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
    assert_int_equal(eighty(words, 0, &end).skipped, all.skipped);
    words[0] = "spike_z=0";
    end.n = 0;
    assert_int_equal(eighty(words, 0, &end).skipped, 0);
    buf_release(&end);

    struct made t;
    struct run *r;
    const struct run_events e = {0};
    const char *const strict[] = {"steps=80", "spike_z=0.001", "max_bad_steps=1",
                                  "learning_rate=1e-5", NULL};
    open_all(&t, strict);
    assert_ok(run_new(&r, &t.config, t.model, &e));
    assert_int_equal(run_go(r), ERR_RANGE);
    assert_non_null(strstr(err_text(), "were spikes by spike_z"));
    assert_non_null(strstr(err_text(), "train resume spike_z=0 takes such steps"));
    assert_ok(run_change(r, (char *const[]){"spike_z=0"}, 1));
    assert_ok(run_go(r));
    run_free(r);
    close_all(&t);
}

struct clock_seen {
    double before, last; /* hours of the last two lines */
    double first, first_rate;
};

static void see_hours(void *user, const struct metrics *m)
{
    struct clock_seen *seen = user;
    seen->before = seen->last;
    seen->last = m->hours;
    if (m->step == 1) {
        seen->first = m->hours;
        seen->first_rate = m->learning_rate;
    }
}

/* The clock's hours end a run after the first step that reaches them. */
static void test_budget_of_the_clock(void **state)
{
    (void)state;
    struct made t;
    struct run *r;
    struct clock_seen seen = {0};
    const double budget = 1e-4;
    const struct run_events e = {.line = see_hours, .user = &seen};
    const char *const more[] = {
        "budget_hours=1e-4", "log_every=1", "eval_every=0", "steps=0", "warmup=0.5",
        "save_every=0",      NULL};
    open_all(&t, more);
    assert_ok(run_new(&r, &t.config, t.model, &e));
    assert_ok(run_go(r));
    assert_true(run_step(r) > 1);
    /* Hours alone end it, and it is warmed up all the same. */
    if (seen.first < budget / 4) /* on a machine that was not held up */
        assert_true(seen.first_rate < 0.5 * run_settings(r)->schedule.learning_rate);
    assert_true(seen.before < budget && seen.last >= budget);
    run_free(r);
    close_all(&t);
}

/* A state that somebody changed is refused before any number of it is counted on. */
static void test_numbers_of_a_state(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *says;
    } bad[] = {{"guard_steps", "9223372036854775807", "guard_steps"},
               {"optimizer_steps", "9223372036854775807", "optimizer_steps"},
               {"windows", "-1", "windows"},
               {"loss_scale", "0", "loss_scale"},
               {"loss_scale", "1e38", "loss_scale"},
               {"hours", "-5", "hours"},
               {"due", "4096", "due"},
               {"best_step", "13", "counts more than there was"},
               {"line_targets", "1000000000000", "counts more than there was"},
               {"step", "11", "its state is of step 11"}};
    struct made t;
    struct run *r;
    struct checkpoint cp;
    const struct run_events e = {0};
    open_all(&t, NULL);
    assert_ok(run_new(&r, &t.config, t.model, &e));
    assert_ok(run_go(r));
    run_free(r);
    assert_ok(checkpoint_open(&cp, scratch_path(&t.scratch, "run"), NULL));
    load(&t, cp.path);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *was = json_incref(json_object_get(cp.state, bad[i].key));
        json_object_set_new(cp.state, bad[i].key, json_loads(bad[i].value, JSON_DECODE_ANY, NULL));
        assert_int_not_equal(run_resume(&r, &cp, &t.config, t.model, &e), 0);
        if (strstr(err_text(), bad[i].says) == NULL)
            fail_msg("%s = %s: %s", bad[i].key, bad[i].value, err_text());
        json_object_set_new(cp.state, bad[i].key, was);
    }
    assert_ok(run_resume(&r, &cp, &t.config, t.model, &e));
    run_free(r);
    checkpoint_close(&cp);
    close_all(&t);
}

int main(void)
{
#define IN_MODE(test, i) cmocka_unit_test_prestate(test, (void *)modes[i])
    const struct CMUnitTest tests[] = {
        IN_MODE(test_paused_between_micro_batches, 0),
        IN_MODE(test_paused_anywhere, 0),
        IN_MODE(test_other_team_in_the_middle, 0),
        IN_MODE(test_from_a_checkpoint, 0),
        IN_MODE(test_paused_between_micro_batches, 1),
        IN_MODE(test_paused_anywhere, 1),
        IN_MODE(test_other_team_in_the_middle, 1),
        IN_MODE(test_from_a_checkpoint, 1),
        cmocka_unit_test(test_activations_are_logged),
        cmocka_unit_test(test_scale_of_the_loss),
        cmocka_unit_test(test_resumed_elsewhere),
        cmocka_unit_test(test_a_folder_in_a_checkpoint),
        cmocka_unit_test(test_paused_before_the_first_step),
        cmocka_unit_test(test_what_cannot_change),
        cmocka_unit_test(test_no_allocation_in_a_step),
        cmocka_unit_test(test_validation),
        cmocka_unit_test(test_best_is_kept),
        cmocka_unit_test(test_is_the_sum_of_its_parts),
        cmocka_unit_test(test_gradients_are_logged),
        cmocka_unit_test(test_eval_as_the_command_does),
        cmocka_unit_test(test_eval_must_be_one),
        cmocka_unit_test(test_resumed_with_what_it_learned),
        cmocka_unit_test(test_spikes),
        cmocka_unit_test(test_budget_of_the_clock),
        cmocka_unit_test(test_numbers_of_a_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
