/* A run and its folder: what is kept, gone on from, and refused. */
#include "tests/lib/trial.h"

#include "train/run/folder.h"

/* Into another folder: what is there is left alone, and what is new is a run of its own. */
static void test_resumed_elsewhere(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    struct resume q;
    struct run_config c;
    const struct run_events e = {0};
    char other[PATH_MAX + 32];
    trial_open(&t, NULL);
    trial_finish(&t);
    trial_go_back(&t, &q, "run/step-000008");
    for (int i = 0; i < 2; i++) {
        snprintf(other, sizeof other, "folder=%s/other", t.scratch.folder);
        assert_ok(run_config_copy(&c, &q.stored));
        assert_ok(run_config_words(&c, (char *const[]){other, "steps=8"}, 2));
        if (i == 0) {
            assert_ok(trial_resume(&r, &t, &q, &c, &e));
            assert_int_equal(run_saved_step(r), -1);
            assert_ok(run_go(r));
            run_free(r);
            assert_true(file_exists(scratch_path(&t.scratch, "other/step-000008")));
        } else {
            assert_int_equal(run_resume_check(&q, &c), ERR_EXISTS);
        }
        run_config_release(&c);
    }
    run_resume_close(&q);
    /* The run's own folder is as it was. */
    trial_expect_reference(&t, trial_modes[0]);
    trial_close(&t);
}

/* A run that did not begin leaves no folder behind, and those of others alone. */
static void test_undone(void **state)
{
    (void)state;
    struct scratch s;
    struct run_folder f;
    scratch_open(&s);
    for (int i = 0; i < 3; i++) {
        const char *first = i == 0 ? "runs" : "runs/a";
        if (i == 1)
            assert_ok(file_make_folder(scratch_path(&s, "runs")));
        assert_ok(run_folder_open(&f, scratch_path(&s, i == 2 ? "runs/a/b//" : "runs/a/b")));
        assert_true(file_exists(scratch_path(&s, "runs/a/b/lock")));
        run_folder_undo(&f);
        assert_false(file_exists(scratch_path(&s, first)));
        assert_int_equal(file_exists(scratch_path(&s, "runs")), i > 0);
    }
    assert_ok(run_folder_open(&f, scratch_path(&s, "runs/a/b")));
    scratch_write(&s, "runs/a/notes", "abc", 3);
    run_folder_undo(&f);
    assert_false(file_exists(scratch_path(&s, "runs/a/b")));
    assert_true(file_exists(scratch_path(&s, "runs/a/notes")));
    scratch_close(&s);
}

/* What somebody put into an old checkpoint stays, and stops nothing. */
static void test_a_folder_in_a_checkpoint(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    const struct run_events e = {0};
    trial_open(&t, (const char *const[]){"steps=4", "keep_last=1", "eval_every=0", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
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
    /* A working file that had its name still when its trainer was killed goes, as do the metrics of
     * a resume that was. */
    scratch_write(&t.scratch, "run/.nameless-a1B2c3", "abc", 3);
    scratch_write(&t.scratch, "run/metrics.jsonl.a1B2c3.tmp", "abc", 3);
    struct resume q;
    trial_go_back(&t, &q, "run");
    assert_ok(run_config_words(&t.config, (char *const[]){(char *)"steps=12"}, 1));
    assert_ok(trial_resume(&r, &t, &q, &t.config, &e));
    assert_false(file_exists(scratch_path(&t.scratch, "run/.nameless-a1B2c3")));
    assert_false(file_exists(scratch_path(&t.scratch, "run/metrics.jsonl.a1B2c3.tmp")));
    run_free(r);
    run_resume_close(&q);
    assert_int_equal(rmdir(scratch_path(&t.scratch, "run/step-000004.tmp-removed/notes")), 0);
    trial_close(&t);
}

/* The rate grows until the weights are spoilt: the best is not the last. */
static void test_best_is_kept(void **state)
{
    (void)state;
    for (int keep = 0; keep < 2; keep++) {
        struct trial t;
        struct run *r;
        char best[64];
        const struct run_events e = {0};
        trial_open(&t, (const char *const[]){"eval_every=3", "save_every=0", "keep_last=1",
                                             "learning_rate=1", "warmup=12", "warmup_init=1e-4",
                                             keep ? "keep_best=on" : "keep_best=off", NULL});
        assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
        assert_ok(run_go(r));
        const struct metrics *m = run_metrics(r);
        assert_in_range(m->best_step, 1, TRIAL_STEPS - 1);
        snprintf(best, sizeof best, "run/step-%06d", (int)m->best_step);
        assert_int_equal(file_exists(scratch_path(&t.scratch, best)), keep);
        run_free(r);
        trial_close(&t);
    }
}

static void expect_refused(struct trial *t, struct resume *q, const char *word,
                           const char *sentence)
{
    struct run_config c;
    struct run *r;
    const struct run_events e = {0};
    assert_ok(run_config_copy(&c, &q->stored));
    assert_ok(run_config_words(&c, (char *const *)&word, 1));
    assert_int_equal(trial_resume(&r, t, q, &c, &e), ERR_MISMATCH);
    if (strstr(err_text(), sentence) == NULL)
        fail_msg("expected \"%s\", got \"%s\"", sentence, err_text());
    run_config_release(&c);
}

static void test_what_cannot_change(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    struct resume q;
    const struct run_events e = {0};
    trial_open(&t, (const char *const[]){"steps=4", NULL});
    assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
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
    assert_int_equal(run_new(&r, &t.config, t.model, NULL, &e), ERR_EXISTS);
    assert_true(run_folder_has_checkpoint(t.config.checkpoint.folder));
    trial_go_back(&t, &q, "run");
    expect_refused(&t, &q, "sequence_length=20", "training.sequence_length was 40 in this run");
    expect_refused(&t, &q, "dropout=0.2", "training.dropout was 0.1 in this run");
    expect_refused(&t, &q, "optimizer=lamb", "optimizer.optimizer was adamw in this run");
    expect_refused(&t, &q, "optimizer=muon", "optimizer.optimizer was adamw in this run");
    expect_refused(&t, &q, "shuffle=off", "data.shuffle was on in this run");
    expect_refused(&t, &q, "data=README.md", "the data has changed since the checkpoint");
    expect_refused(&t, &q, "validation=README.md",
                   "data.validation was empty in this run and cannot become README.md: where it is "
                   "empty, documents of the data are held out");
    run_resume_close(&q);
    trial_close(&t);
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
               {"bad_in_a_row", "1", "counts more than there was"},
               {"line_tokens", "1000000000000", "counts more than there was"},
               {"best_step", "13", "counts more than there was"},
               {"validations_since_best", "14", "counts more than there was"},
               {"line_targets", "1000000000000", "counts more than there was"},
               {"step", "11", "its state is of step 11"}};
    struct trial t;
    struct run *r;
    struct resume q;
    const struct run_events e = {0};
    trial_open(&t, NULL);
    trial_finish(&t);
    trial_go_back(&t, &q, "run");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *was = json_incref(json_object_get(q.checkpoint.state, bad[i].key));
        json_object_set_new(q.checkpoint.state, bad[i].key,
                            json_loads(bad[i].value, JSON_DECODE_ANY, NULL));
        assert_int_not_equal(trial_resume(&r, &t, &q, &t.config, &e), 0);
        if (strstr(err_text(), bad[i].says) == NULL)
            fail_msg("%s = %s: %s", bad[i].key, bad[i].value, err_text());
        json_object_set_new(q.checkpoint.state, bad[i].key, was);
    }
    assert_ok(trial_resume(&r, &t, &q, &t.config, &e));
    run_free(r);
    run_resume_close(&q);
    trial_close(&t);
}

/* What was checked is what is used: by then somebody has taken the checkpoint away. In float16,
 * whose weights memory has as the file does. */
static void test_a_checkpoint_that_goes(void **state)
{
    (void)state;
    const char *const *mode = trial_modes[1];
    struct trial t;
    struct run *r;
    struct resume q;
    struct model *m;
    const struct run_events e = {0};
    char there[PATH_MAX + 32], gone[PATH_MAX + 64];
    trial_open(&t, mode);
    trial_finish(&t);
    snprintf(there, sizeof there, "%s", scratch_path(&t.scratch, "run/step-000008"));
    snprintf(gone, sizeof gone, "%s.tmp-removed", there);
    assert_ok(run_resume_open(&q, there, NULL));
    assert_ok(run_resume_check(&q, &t.config));
    assert_int_equal(rename(there, gone), 0);
    assert_ok(model_read(&m, &q.model, DTYPE_F16, NULL));
    assert_ok(run_resume(&r, &q, m, &e));
    assert_false(file_exists(gone)); /* swept */
    assert_int_equal(run_step(r), 8);
    assert_ok(run_go(r));
    run_free(r);
    model_free(m);
    run_resume_close(&q);
    trial_expect_reference(&t, mode);
    trial_close(&t);
}

static bool has_line(const struct trial *t, int64_t step)
{
    struct buf lines = {0};
    char start[40];
    snprintf(start, sizeof start, "\"step\":%d,", (int)step);
    assert_ok(file_read_all(&lines, scratch_path(&t->scratch, "run/metrics.jsonl"), 1 << 20));
    bool has = strstr(buf_text(&lines), start) != NULL;
    buf_release(&lines);
    return has;
}

struct looks {
    struct trial *trial;
    int n;
};

static void look_at_lines(void *user, const char *text)
{
    struct looks *looks = user;
    const struct trial *t = looks->trial;
    looks->n++;
    if (strstr(text, "are set aside: ") == NULL)
        fail_msg("%s", text);
    assert_false(file_exists(scratch_path(&t->scratch, "run/step-000012")));
    assert_true(has_line(t, 12));
}

/* Back to an older checkpoint: whatever stops it there, one that still counts has its lines. */
static void test_goes_back_in_order(void **state)
{
    (void)state;
    struct trial t;
    struct run *r;
    struct resume q;
    struct looks looks = {.trial = &t};
    const struct progress p = {.note = look_at_lines, .user = &looks};
    const struct run_events e = {.progress = &p};
    trial_open(&t, NULL);
    trial_finish(&t);
    trial_go_back(&t, &q, "run/step-000004");
    assert_ok(trial_resume(&r, &t, &q, &t.config, &e));
    assert_int_equal(looks.n, 1);
    assert_true(has_line(&t, 4));
    assert_false(has_line(&t, 12));
    run_free(r);
    run_resume_close(&q);
    trial_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resumed_elsewhere),
        cmocka_unit_test(test_undone),
        cmocka_unit_test(test_a_folder_in_a_checkpoint),
        cmocka_unit_test(test_best_is_kept),
        cmocka_unit_test(test_what_cannot_change),
        cmocka_unit_test(test_numbers_of_a_state),
        cmocka_unit_test(test_goes_back_in_order),
        cmocka_unit_test(test_a_checkpoint_that_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
