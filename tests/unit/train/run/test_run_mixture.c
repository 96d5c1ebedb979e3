/* A run on several sources: paused, changed and gone on with, it ends as one that nothing stopped.
 */
#include "model/base/progress.h"
#include "tests/lib/trial.h"
#include "tests/lib/thin.h"

#include <math.h>

static const char *const mixed[] = {
    "data=generated:0.7:..0.5,tests/golden/eval/wiki.txt:0.3,generated:0.2:0.5..", "eval_every=0",
    "log_every=1", NULL};

static void read_weights(struct trial *t, struct buf *out)
{
    assert_ok(file_read_all(out, scratch_path(&t->scratch, "run/step-000012/model.safetensors"),
                            1 << 24));
}

/* Of the run in one go. */
static const struct buf *whole(void)
{
    static struct buf end;
    if (end.n == 0) {
        struct trial t;
        trial_open(&t, mixed);
        trial_finish(&t);
        read_weights(&t, &end);
        trial_close(&t);
    }
    return &end;
}

static void expect_whole(struct trial *t)
{
    struct buf end = {0};
    read_weights(t, &end);
    assert_int_equal(end.n, whole()->n);
    assert_memory_equal(end.data, whole()->data, end.n);
    buf_release(&end);
}

static int setup(void **state)
{
    static struct scratch cache;
    (void)state;
    scratch_open(&cache);
    setenv("XDG_CACHE_HOME", cache.folder, 1);
    *state = &cache;
    return 0;
}

static int teardown(void **state)
{
    scratch_close(*state);
    buf_release((struct buf *)whole());
    return 0;
}

/* Longer and shorter as far as nothing that was drawn would have been drawn otherwise. */
static void change_length(struct run *r)
{
    char *const longer[] = {"steps=24"}, *const shorter[] = {"steps=4"},
                *const back[] = {"steps=12"};
    assert_ok(run_change(r, longer, 1));
    assert_int_equal(run_change(r, shorter, 1), ERR_MISMATCH);
    assert_int_equal(run_settings(r)->training.steps, 24);
    assert_ok(run_change(r, back, 1));
    assert_int_equal(run_change(r, (char *const[]){"data=generated:1"}, 1), ERR_MISMATCH);
}

static void pauses_change_nothing(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    struct ticks ticks = {.every = 2};
    const struct run_events e = {.tick = raise_at_tick, .user = &ticks};
    int rc;
    trial_open(&t, mixed);
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
    while ((rc = run_go(r)) == ERR_INTERRUPTED) {
        interrupt_clear();
        if (run_step(r) == 4)
            change_length(r);
    }
    assert_int_equal(rc, 0);
    const struct metrics *m = run_metrics(r);
    assert_int_equal(m->n_sources, 2);
    assert_string_equal(m->sources[0].path, "generated");
    assert_string_equal(m->sources[1].path, "tests/golden/eval/wiki.txt");
    run_free(r);
    expect_whole(&t);
    trial_close(&t);
}

static void every_checkpoint_leads_to_the_end(void **state)
{
    (void)state;
    static const char *const often[] = {"save_every=1", NULL};
    struct trial t;
    struct source_reads *first, *last;
    int n_first, n_last;
    trial_open(&t, mixed);
    assert_ok(run_config_words(&t.config, (char *const *)often, 1));
    trial_finish(&t);
    assert_ok(metrics_read_sources(&first, &n_first, scratch_path(&t.scratch, "run")));
    for (int step = 11; step > 0; step -= THIN ? 4 : 2) { /* the phases meet at 6 */
        char name[64];
        struct run *r;
        struct resume q;
        const struct run_events e = {0};
        snprintf(name, sizeof name, "run/step-%06d", step);
        trial_go_back(&t, &q, name);
        assert_ok(trial_resume(&r, &t, &q, &t.config, &e));
        assert_int_equal(run_step(r), step);
        assert_ok(run_go(r));
        run_free(r);
        run_resume_close(&q);
        expect_whole(&t);
    }
    assert_ok(metrics_read_sources(&last, &n_last, scratch_path(&t.scratch, "run")));
    assert_int_equal(n_first, 2);
    assert_int_equal(n_last, 2);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(first[i].path, last[i].path);
        assert_true(first[i].times > 0 && first[i].times == last[i].times);
    }
    mem_free(first);
    mem_free(last);
    trial_close(&t);
}

static void other_weights_are_another_run(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        int rc;
    } cases[] = {
        {"data=generated:0.7:..0.5,tests/golden/eval/wiki.txt:0.4,generated:0.2:0.5..",
         ERR_MISMATCH},
        {"data=generated:0.7:..0.6,tests/golden/eval/wiki.txt:0.3,generated:0.2:0.6..",
         ERR_MISMATCH},
        {"data=generated,tests/golden/eval/wiki.txt", ERR_MISMATCH},
        {"steps=6", ERR_MISMATCH},
        {"steps=30", ERR_MISMATCH},
        {"learning_rate=2e-3", 0},
    };
    struct trial t;
    trial_open(&t, mixed);
    trial_finish(&t);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run *r = NULL;
        struct resume q;
        struct run_config c;
        const struct run_events e = {0};
        trial_go_back(&t, &q, "run/step-000008");
        assert_ok(run_config_copy(&c, &t.config));
        assert_ok(run_config_words(&c, (char *const[]){(char *)cases[i].word}, 1));
        assert_int_equal(trial_resume(&r, &t, &q, &c, &e), cases[i].rc);
        run_free(r);
        run_config_release(&c);
        run_resume_close(&q);
    }
    trial_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_change_nothing),
        cmocka_unit_test(every_checkpoint_leads_to_the_end),
        cmocka_unit_test(other_weights_are_another_run),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
