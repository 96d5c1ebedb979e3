#include "tests/lib/trial.h"

#include "model/base/progress.h"
#include "tests/lib/crowd.h"
#include "train/run/checkpoint.h"
#include "weights/open.h"

#include <stdlib.h>
#include <string.h>

/* Of all optimizers that trials have. */
static const char *const block_names[] = {"exp_avg", "exp_avg_sq", "exp_avg_unit"};

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

static void read_tensor(struct buf *out, const struct source *s, int tensor)
{
    const struct param_tensor *t = &s->table.tensors[tensor];
    const struct tensor_reader *r = &s->readers[tensor];
    const size_t n = (size_t)t->rows * (size_t)t->cols, bytes = n * dtype_bytes(r->dtype);
    assert_ok(buf_reserve(out, bytes));
    assert_ok(r->read(r->user, out->data + out->n, 0, n));
    out->n += bytes;
}

/* All files' tensors of this name, with or without ":FIRST" behind it, in their order. */
static void read_block(struct buf *out, const struct block_files *f, const char *name)
{
    const size_t length = strlen(name);
    for (uint64_t next = 0, at = UINT64_MAX;; at = next) {
        const struct tensor_entry *found = NULL;
        const struct file *file = NULL;
        for (int i = 0; i < f->n; i++)
            for (int k = 0; k < f->files[i].n; k++) {
                const struct tensor_entry *e = &f->files[i].entries[k];
                const char *end = e->name + length;
                if (strncmp(e->name, name, length) != 0 || (*end != '\0' && *end != ':'))
                    continue;
                const uint64_t first = *end == ':' ? strtoull(end + 1, NULL, 10) : 0;
                if (e->bytes > 0 && (at == UINT64_MAX || first > at) &&
                    (found == NULL || first < next)) {
                    found = e;
                    file = &f->files[i].file;
                    next = first;
                }
            }
        if (found == NULL)
            return;
        assert_ok(buf_reserve(out, found->bytes));
        assert_ok(file_read_at(file, out->data + out->n, found->offset, found->bytes));
        out->n += found->bytes;
    }
}

void trial_read_end(struct trial *t, struct buf *out)
{
    char name[64];
    struct checkpoint c;
    struct source s;
    snprintf(name, sizeof name, "run/step-%06d", TRIAL_STEPS);
    assert_ok(checkpoint_open(&c, scratch_path(&t->scratch, name), NULL));
    assert_ok(source_open(&s, c.path, 0, true, NULL));
    for (int i = 0; i < s.table.n_tensors; i++)
        read_tensor(out, &s, i);
    for (size_t i = 0; i < sizeof block_names / sizeof *block_names; i++)
        read_block(out, &c.blocks, block_names[i]);
    source_close(&s);
    checkpoint_close(&c);
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
        crowd_interrupt();
}

int trial_go(struct run *r, int *pauses)
{
    int rc;
    while ((rc = run_go(r)) == ERR_INTERRUPTED && *pauses < 1000) {
        interrupt_clear();
        ++*pauses;
    }
    return rc;
}

void keep_line(void *user, const struct metrics *m)
{
    struct metrics *lines = user;
    lines[m->step] = *m;
}
