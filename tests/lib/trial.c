#include "tests/lib/trial.h"

const char *const trial_modes[N_TRIAL_MODES][5] = {
    {NULL}, {"precision=float16", "loss_scaling=4e6", "loss_scaling_growth=3", NULL}};

void trial_configure(struct trial *t, const char *const *more)
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
                                        "keep_last=100",
                                        "matrices=own"};
    char folder[PATH_MAX + 16];
    snprintf(folder, sizeof folder, "folder=%s/run", t->scratch.folder);
    const char *in[] = {folder};
    run_config_release(&t->config);
    assert_ok(run_config_init(&t->config));
    assert_ok(run_config_words(&t->config, (char *const *)words, sizeof words / sizeof *words));
    assert_ok(run_config_words(&t->config, (char *const *)in, 1));
    for (int i = 0; more != NULL && more[i] != NULL; i++)
        assert_ok(run_config_words(&t->config, (char *const *)&more[i], 1));
    assert_ok(run_config_resolve(&t->config, &t->model->config));
}

void trial_load(struct trial *t, const char *path)
{
    model_free(t->model);
    t->model = NULL;
    assert_ok(
        model_load(&t->model, path, &(struct load_config){.dtype = DTYPE_F16, .seed = 3}, NULL));
}

void trial_open(struct trial *t, const char *const *more)
{
    memset(t, 0, sizeof *t);
    scratch_open(&t->scratch);
    trial_load(t, "random:tests/cli/data/config.json");
    trial_configure(t, more);
}

void trial_close(struct trial *t)
{
    model_free(t->model);
    run_config_release(&t->config);
    scratch_close(&t->scratch);
}

void trial_finish(struct trial *t)
{
    struct run *r;
    const struct run_events e = {0};
    assert_ok(run_new(&r, &t->config, t->model, NULL, &e));
    assert_ok(run_go(r));
    assert_int_equal(run_status(r), RUN_FINISHED);
    run_free(r);
}

void trial_go_back(struct trial *t, struct resume *q, const char *name)
{
    assert_ok(run_resume_open(q, scratch_path(&t->scratch, name), NULL));
    trial_load(t, q->checkpoint.path);
}

int trial_resume(struct run **out, struct trial *t, struct resume *q, const struct run_config *c,
                 const struct run_events *e)
{
    int rc = run_resume_check(q, c);
    return rc == 0 ? run_resume(out, q, t->model, e) : rc;
}

void trial_read_end(struct trial *t, struct buf *out)
{
    char name[64];
    snprintf(name, sizeof name, "run/step-%06d/model.safetensors", TRIAL_STEPS);
    assert_ok(file_read_all(out, scratch_path(&t->scratch, name), 1 << 24));
    snprintf(name, sizeof name, "run/step-%06d/training.safetensors", TRIAL_STEPS);
    assert_ok(file_read_all(out, scratch_path(&t->scratch, name), 1 << 24));
}

/* The end of the run that nothing interrupts; and of it alone, so made once a mode. */
static const struct buf *end_of_reference(const char *const *mode)
{
    static struct buf ends[N_TRIAL_MODES];
    int i = 0;
    while (trial_modes[i] != mode)
        i++;
    struct buf *end = &ends[i];
    if (end->n == 0) {
        struct trial t;
        struct run *r;
        const struct run_events e = {0};
        trial_open(&t, mode);
        assert_ok(run_new(&r, &t.config, t.model, NULL, &e));
        assert_ok(run_go(r));
        assert_int_equal(run_status(r), RUN_FINISHED);
        assert_int_equal(run_saved_step(r), TRIAL_STEPS);
        assert_false(t.model->changed);
        const struct metrics *m = run_metrics(r);
        assert_true(mode[0] == NULL ? m->overflows == 0
                                    : m->overflows > 0 && m->overflows < TRIAL_STEPS);
        assert_int_equal(m->skipped, m->overflows);
        run_free(r);
        trial_read_end(&t, end);
        trial_close(&t);
    }
    return end;
}

void trial_expect_reference(struct trial *t, const char *const *mode)
{
    const struct buf *expected = end_of_reference(mode);
    struct buf end = {0};
    trial_read_end(t, &end);
    assert_int_equal(end.n, expected->n);
    assert_memory_equal(end.data, expected->data, end.n);
    buf_release(&end);
}

void raise_at_tick(void *user, const struct metrics *m, int64_t step, double part)
{
    (void)m;
    (void)step;
    (void)part;
    struct ticks *t = user;
    if (++t->n % t->every == 0)
        interrupt_raise();
}

void keep_line(void *user, const struct metrics *m)
{
    struct metrics *lines = user;
    lines[m->step] = *m;
}
