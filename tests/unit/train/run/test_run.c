/* A run: whatever interrupts it, it ends at the bits of one that nothing interrupted. */
#include "model/base/par.h"
#include "tests/lib/opens.h"
#include "tests/lib/trial.h"
#include "train/run/trainer_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static void test_paused_between_micro_batches(void **state)
{
    const char *const *mode = *state;
    struct trial t;
    struct run *r;
    struct ticks ticks = {.every = 2};
    int pauses = 0, rc;
    const struct run_events e = {.tick = raise_at_tick, .user = &ticks};
    trial_open(&t, mode);
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    while ((rc = run_go(r)) == ERR_INTERRUPTED) {
        assert_int_equal(run_status(r), RUN_PAUSED);
        /* New weights from the first step on; before it the model's own, which nobody changed. */
        assert_true(t.model->version > 1 || run_step(r) == 0);
        interrupt_clear();
        pauses++;
        /* Changes of this kind are none of the run's past. */
        if (pauses == 3)
            assert_ok(run_change(r, (char *const[]){"log_every=1"}, 1));
    }
    assert_int_equal(rc, 0);
    assert_in_range(pauses, TRIAL_STEPS, 3 * TRIAL_STEPS);
    run_free(r);
    trial_expect_reference(&t, mode);
    trial_close(&t);
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
    struct trial t;
    struct run *r;
    pthread_t thread;
    int pauses = 0, rc;
    const struct run_events e = {0};
    trial_open(&t, mode);
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
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
    trial_expect_reference(&t, mode);
    trial_close(&t);
}

static void test_other_team_in_the_middle(void **state)
{
    const char *const *mode = *state;
    struct trial t;
    struct run *r;
    struct ticks ticks = {.every = 4}; /* a step begins anew with another team */
    int threads = 1, rc;
    const struct run_events e = {.tick = raise_at_tick, .user = &ticks};
    trial_open(&t, mode);
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    while ((rc = run_go(r)) == ERR_INTERRUPTED) {
        interrupt_clear();
        assert_ok(par_open(threads = threads % 3 + 1, false));
    }
    assert_int_equal(rc, 0);
    run_free(r);
    assert_ok(par_open(0, false));
    trial_expect_reference(&t, mode);
    trial_close(&t);
}

/* Stopped in the middle of a step, thrown away, and gone on with from what was kept. */
static void test_from_a_checkpoint(void **state)
{
    const char *const *mode = *state;
    struct trial t;
    struct run *r;
    struct resume q;
    struct ticks ticks = {.every = 20}; /* six steps, and two parts of the seventh */
    const struct run_events stops = {.tick = raise_at_tick, .user = &ticks}, e = {0};
    trial_open(&t, mode);
    assert_ok(run_new(&r, &t.config, t.model, NULL, &stops));
    assert_int_equal(run_go(r), ERR_INTERRUPTED);
    interrupt_clear();
    int64_t step = run_step(r);
    assert_int_equal(step, 6);
    assert_true(t.model->changed);
    assert_ok(run_save(r));
    assert_int_equal(run_saved_step(r), step);
    assert_false(t.model->changed);
    run_free(r);
    trial_go_back(&t, &q, "run");
    assert_int_equal(q.checkpoint.step, step);
    assert_ok(trial_resume(&r, &t, &q, &q.stored, &e));
    assert_int_equal(run_step(r), step);
    assert_ok(run_go(r));
    run_free(r);
    run_resume_close(&q);
    trial_expect_reference(&t, mode);
    trial_close(&t);
}

/* A pause before the first step leaves the weights as they were, and as nobody has to save them. */
static void test_paused_before_the_first_step(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    struct ticks ticks = {.every = 2};
    const struct run_events e = {.tick = raise_at_tick, .user = &ticks};
    unsigned char before[32], after[32];
    trial_open(&t, NULL);
    params_hash(&t.model->params, before);
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_int_equal(run_go(r), ERR_INTERRUPTED);
    interrupt_clear();
    params_hash(&t.model->params, after);
    assert_int_equal(run_step(r), 0);
    assert_false(t.model->changed);
    assert_memory_equal(after, before, sizeof before);
    run_free(r);
    trial_close(&t);
}

static void count_at_tick(void *user, const struct metrics *m, int64_t step, double part)
{
    uint64_t *counts = user;
    (void)m;
    if (part == 0 && step < TRIAL_STEPS)
        counts[step] = mem_count();
}

static void test_no_allocation_in_a_step(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    uint64_t counts[TRIAL_STEPS] = {0};
    const struct run_events e = {.tick = count_at_tick, .user = counts};
    trial_open(&t, (const char *const[]){"eval_every=0", "log_every=1000", "save_every=0", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    assert_ok(run_go(r));
    /* After the line of the first step. */
    assert_true(counts[1] > 0);
    for (int i = 2; i < TRIAL_STEPS; i++)
        assert_int_equal(counts[i], counts[1]);
    run_free(r);
    trial_close(&t);
}

static void raise_at_last_line(void *user, const struct metrics *m)
{
    (void)user;
    if (m->step == TRIAL_STEPS)
        interrupt_raise();
}

/* Nothing is left to stop then. */
static void test_interrupted_when_all_is_done(void **state)
{
    static const char *const saves[] = {"save_every=0", "save_every=12"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct run_events e = {.line = raise_at_last_line};
        struct trial t;
        struct run *r;
        trial_open(&t, (const char *const[]){"eval_every=0", saves[i], NULL});
        assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
        assert_ok(run_go(r));
        assert_int_equal(run_status(r), RUN_FINISHED);
        assert_int_equal(run_saved_step(r), TRIAL_STEPS);
        run_free(r);
        trial_close(&t);
    }
    interrupt_clear();
}

static void raise_at_last_activations(void *user, const struct metrics *m,
                                      const struct activation_stats *w)
{
    (void)user;
    (void)w;
    if (m->step == TRIAL_STEPS)
        interrupt_raise();
}

static int64_t in_state(const struct resume *q, const char *name)
{
    int64_t value = -1;
    assert_ok(json_take_int(q->checkpoint.state, name, 0, INT64_MAX, &value));
    return value;
}

/* Whoever leaves the run in its last validation and comes back gets it, and has it once. */
static void test_left_in_the_last_validation(void **state)
{
    (void)state;
    const struct run_events stops = {.activations = raise_at_last_activations}, e = {0};
    struct trial t;
    struct resume q;
    struct run *r;
    trial_open(&t, (const char *const[]){"log_activations_every=12", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &stops));
    assert_int_equal(run_go(r), ERR_INTERRUPTED);
    interrupt_clear();
    assert_ok(run_save(r));
    run_free(r);
    for (int i = 0; i < 2; i++) {
        trial_go_back(&t, &q, "run");
        assert_int_equal(q.checkpoint.step, TRIAL_STEPS);
        assert_int_equal(in_state(&q, "due"), i == 0 ? DUE_EVAL | DUE_LINE : 0);
        assert_int_equal(in_state(&q, "validation_step"), i == 0 ? 10 : TRIAL_STEPS);
        assert_ok(trial_resume(&r, &t, &q, &q.stored, &e));
        assert_ok(run_go(r));
        run_free(r);
        run_resume_close(&q);
    }
    trial_expect_reference(&t, trial_modes[0]);
    trial_close(&t);
}

/* A change that no step follows is kept all the same: where it ends the run, and at a pause. */
static void test_change_without_a_step(void **state)
{
    (void)state;
    static char *const words[][2] = {{"steps=8", "grad_clip=2"}, {"steps=12", "grad_clip=3"}};
    struct ticks ticks = {.every = 1};
    const struct run_events events[] = {{0}, {.tick = raise_at_tick, .user = &ticks}};
    struct trial t;
    struct resume q;
    struct run *r;
    trial_open(&t, (const char *const[]){"steps=8", NULL});
    trial_finish(&t);
    for (int i = 0; i < 3; i++) {
        trial_go_back(&t, &q, "run");
        assert_int_equal(q.checkpoint.step, 8);
        assert_int_equal(q.stored.training.steps, i == 2 ? 12 : 8);
        assert_true(q.stored.optimizer.grad_clip == (float)(i + 1));
        if (i < 2) {
            struct run_config c;
            assert_ok(run_config_copy(&c, &q.stored));
            assert_ok(run_config_words(&c, words[i], 2));
            assert_ok(trial_resume(&r, &t, &q, &c, &events[i]));
            assert_int_equal(run_go(r), i == 0 ? 0 : ERR_INTERRUPTED);
            interrupt_clear();
            assert_int_equal(run_step(r), 8);
            assert_ok(run_save(r));
            run_free(r);
            run_config_release(&c);
        }
        run_resume_close(&q);
    }
    trial_close(&t);
}

/* What was verified is what is gone on from: nothing of a checkpoint is opened again by its name.
 */
static void test_resuming_opens_each_file_once(void **state)
{
    static const char *const of_model[] = {"model.safetensors", "training.safetensors",
                                           "state.json",        "manifest.json",
                                           "config.json",       NULL};
    static const char *const of_adapter[] = {"adapter_model.safetensors", "adapter_config.json",
                                             "training.safetensors", NULL};
    const char *const *mode = *state;
    struct trial t;
    struct resume q;
    struct run *r;
    const struct run_events e = {0};
    trial_open(&t, mode);
    trial_finish(&t);
    for (const char *const *file = mode == NULL ? of_model : of_adapter; *file != NULL; file++) {
        struct model *m = NULL;
        const int watch = opens_watch(scratch_path(&t.scratch, "run/step-000012"));
        assert_ok(run_resume_open(&q, scratch_path(&t.scratch, "run"), NULL));
        assert_ok(run_resume_check(&q, &q.stored));
        assert_ok(model_read(&m, &q.model, DTYPE_F16, NULL));
        assert_ok(run_resume(&r, &q, m, &e));
        assert_int_equal(opens_count(watch, *file), 1);
        run_free(r);
        run_resume_close(&q);
        model_free(m);
    }
    trial_close(&t);
}

int main(void)
{
#define IN_MODE(test, i) cmocka_unit_test_prestate(test, (void *)trial_modes[i])
    static const char *const with_adapter[] = {"rank=2", NULL};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resuming_opens_each_file_once),
        cmocka_unit_test_prestate(test_resuming_opens_each_file_once, (void *)with_adapter),
        IN_MODE(test_paused_between_micro_batches, 0),
        IN_MODE(test_paused_anywhere, 0),
        IN_MODE(test_other_team_in_the_middle, 0),
        IN_MODE(test_from_a_checkpoint, 0),
        IN_MODE(test_paused_between_micro_batches, 1),
        IN_MODE(test_paused_anywhere, 1),
        IN_MODE(test_other_team_in_the_middle, 1),
        IN_MODE(test_from_a_checkpoint, 1),
        cmocka_unit_test(test_paused_before_the_first_step),
        cmocka_unit_test(test_interrupted_when_all_is_done),
        cmocka_unit_test(test_left_in_the_last_validation),
        cmocka_unit_test(test_change_without_a_step),
        cmocka_unit_test(test_no_allocation_in_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
