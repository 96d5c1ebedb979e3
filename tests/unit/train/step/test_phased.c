/* A step larger than memory: weights, moments, losses and norms are those of a step in memory, to
 * the last bit, whatever is kept and wherever it is stopped; and faults of the disk are said. */
#include "tests/lib/curve.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "model/base/progress.h"
#include "train/step/phased.h"
#include "train/step/weights_disk.h"
#include "train/step/weights_init.h"

#include <sys/resource.h>
#include <unistd.h>

enum { WINDOWS = MICRO * B * STEPS, PER_STEP = 12, TIMES = 3 };

struct trial {
    enum dtype dtype;
    int batch, blocks, kept; /* of layers; kept: of 4, of all that may be kept */
    enum optimizer_kind kind;
    bool untied, stops;
};

struct outcome {
    uint8_t weights[64 << 10], m[64 << 10], v[64 << 10];
    double loss[TIMES], norm[TIMES];
};

static struct config shape_of(const struct trial *t)
{
    /* Layers of no whole pages, and of more than one. */
    struct config c = config_of(4, 2, 20, 24, 20, 31);
    c.tie_word_embeddings = !t->untied;
    return c;
}

struct side {
    struct scratch s;
    struct model m;
    struct weights w;
    struct optimizer *o;
    struct step *step;
    struct phased_step *phased;
    struct phased_place place;
};

static char tiny_name[] = "tiny";

static struct step_config config_of_step(const struct trial *t)
{
    struct step_config s;
    step_config_init(&s);
    s.batch = t->batch;
    s.length = T;
    s.gradient_blocks = t->blocks;
    s.step_tokens = PER_STEP * T;
    s.dropout = (struct dropout_config){.embd = 0.1f, .attn = 0.2f, .resid = 0.1f, .seed = 7};
    return s;
}

static void open_side(struct side *x, const struct trial *t, bool phased)
{
    struct config shape = shape_of(t);
    const struct optimizer_config c = curve_config(t->kind);
    const struct step_config s = config_of_step(t);
    *x = (struct side){0};
    scratch_open(&x->s);
    tiny_init(&x->m, &shape, DTYPE_F32, 5);
    x->m.name = tiny_name;
    const struct weights_place place = {x->s.folder, t->kept, t->kept / 2};
    assert_ok(weights_init_on_disk(&x->w, &x->m, NULL, t->dtype, NULL, phased ? &place : NULL));
    const size_t moments = x->w.n * (size_t)t->kept / 4;
    assert_ok(optimizer_new_on_disk(&x->o, &c, weights_layout(&x->w), phased ? x->s.folder : NULL,
                                    moments));
    x->place = (struct phased_place){.folder = x->s.folder,
                                     .micro_batches = PER_STEP / t->batch,
                                     .n_inputs_kept = t->kept,
                                     .residuals_kept = t->kept > 1,
                                     .n_outside_kept = t->blocks * t->kept / 4};
    if (phased)
        assert_ok(phased_new(&x->phased, &x->w, &s, &x->place));
    else
        assert_ok(step_new(&x->step, &x->w, &s));
}

static void close_side(struct side *x)
{
    phased_free(x->phased);
    step_free(x->step);
    optimizer_free(x->o);
    weights_release(&x->w);
    tiny_release(&x->m);
    scratch_close(&x->s);
}

static void make_ids(token_id *ids, token_id *labels, int first, int n)
{
    for (int i = 0; i < n * T; i++) {
        const uint32_t at = (uint32_t)(first * T + i);
        ids[i] = (token_id)(at * 2654435761U >> 16) % 31;
        labels[i] = (token_id)((at + 1) * 2654435761U >> 16) % 31;
    }
}

/* Ctrl-C, now and then. */
static void stop_sometimes(void *user, double done)
{
    int *count = user;
    (void)done;
    if (++*count % 5 == 0)
        interrupt_raise();
}

static struct step_result run_step(struct side *x, const struct trial *t, int number)
{
    struct step_result sums = {0};
    token_id ids[PER_STEP * T], labels[PER_STEP * T];
    int count = 0;
    const struct phased_tick tick = {stop_sometimes, &count};
    if (x->phased != NULL)
        phased_zero(x->phased);
    else
        step_zero(x->step);
    for (int i = 0; i < PER_STEP; i += t->batch) {
        const int first = number * PER_STEP + i;
        make_ids(ids, labels, first, t->batch);
        labels[3] = LABEL_NONE;
        if (x->phased != NULL) {
            phased_add(x->phased, ids, labels, (uint64_t)first);
            continue;
        }
        assert_ok(step_run(x->step, &sums, ids, labels, t->batch, T, 8, (uint64_t)first, true));
        if ((i + t->batch) % (PER_STEP / t->blocks) == 0)
            step_end_block(x->step, &sums);
    }
    int rc = 0, n_stops = 0;
    while (x->phased != NULL &&
           (rc = phased_run(x->phased, &sums, 8, t->stops ? &tick : NULL)) == ERR_INTERRUPTED) {
        interrupt_clear();
        n_stops++;
    }
    assert_ok(rc);
    assert_true(x->phased == NULL || t->stops == (n_stops > 0));
    return sums;
}

static void train_side(struct side *x, const struct trial *t, struct outcome *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < TIMES; i++) {
        const struct step_result sums = run_step(x, t, i);
        struct step *step = x->phased != NULL ? phased_step(x->phased) : x->step;
        const float scale = 1 / (8 * (float)sums.n_targets);
        out->loss[i] = sums.loss_sum / (double)sums.n_targets;
        out->norm[i] = optimizer_norm(x->o, step_gradients(step), scale);
        assert_true(optimizer_step(x->o, weights_block(&x->w), step_gradients(step), scale,
                                   out->norm[i], 0.01f));
    }
    const size_t bytes = x->w.n * dtype_bytes(x->w.dtype);
    struct optimizer_block blocks[OPTIMIZER_MAX_BLOCKS];
    optimizer_blocks(x->o, blocks);
    assert_in_range(x->w.n * sizeof(float), 1, sizeof out->v);
    if (x->w.disk != NULL)
        assert_ok(disk_array_read(x->w.disk->block, out->weights, 0, bytes));
    else
        memcpy(out->weights, weights_block(&x->w), bytes);
    assert_ok(optimizer_block_read(&blocks[0], out->v, 0, x->w.n * sizeof(float)));
    assert_ok(optimizer_block_read(&blocks[1], out->m, 0, x->w.n * dtype_bytes(blocks[1].dtype)));
}

static const struct trial trials[] = {
    {DTYPE_F32, 4, 1, 0, OPTIMIZER_ADAMW, false, false},
    {DTYPE_F32, 12, 1, 0, OPTIMIZER_ADAMW, false, true},
    {DTYPE_F32, 1, 3, 0, OPTIMIZER_ADAMW, false, true},
    {DTYPE_F32, 2, 3, 2, OPTIMIZER_ADAMW, true, false},
    {DTYPE_F32, 4, 3, 4, OPTIMIZER_LAMB, false, true},
    {DTYPE_F32, 3, 4, 0, OPTIMIZER_LAMB, true, true},
    {DTYPE_F16, 4, 1, 0, OPTIMIZER_ADAMW, false, false},
    {DTYPE_F16, 1, 3, 1, OPTIMIZER_ADAMW, true, true},
    {DTYPE_F16, 6, 2, 4, OPTIMIZER_LAMB, false, true},
};

static void steps_have_the_bits_of_memory(void **state)
{
    (void)state;
    static struct outcome memory, disk;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        struct side x;
        open_side(&x, &trials[i], false);
        train_side(&x, &trials[i], &memory);
        close_side(&x);
        open_side(&x, &trials[i], true);
        train_side(&x, &trials[i], &disk);
        assert_memory_equal(memory.loss, disk.loss, sizeof disk.loss);
        assert_memory_equal(memory.norm, disk.norm, sizeof disk.norm);
        assert_memory_equal(memory.weights, disk.weights, sizeof disk.weights);
        assert_memory_equal(memory.m, disk.m, sizeof disk.m);
        assert_memory_equal(memory.v, disk.v, sizeof disk.v);
        close_side(&x);
    }
}

/* What is published, and saved, is what was trained. */
static void weights_are_published_from_disk(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i += 6) {
        struct side x, y;
        static struct outcome memory, disk;
        open_side(&x, &trials[i], false);
        open_side(&y, &trials[i], true);
        train_side(&x, &trials[i], &memory);
        train_side(&y, &trials[i], &disk);
        assert_ok(weights_publish(&x.w, &x.m));
        assert_ok(weights_publish(&y.w, &y.m));
        assert_int_equal(x.m.params.block_bytes, y.m.params.block_bytes);
        assert_memory_equal(x.m.params.block, y.m.params.block, x.m.params.block_bytes);
        close_side(&x);
        close_side(&y);
    }
}

/* Another program cuts a file short; the disk is full. */
static void faults_are_said_once_and_again(void **state)
{
    (void)state;
    const struct trial *t = &trials[0];
    struct step_result sums = {0};
    struct side x;
    open_side(&x, t, true);
    run_step(&x, t, 0);
    assert_int_equal(ftruncate(disk_array_file(x.w.disk->block)->fd, 4096), 0);
    phased_zero(x.phased);
    for (int i = 0; i < PER_STEP; i += t->batch) {
        token_id ids[PER_STEP * T], labels[PER_STEP * T];
        make_ids(ids, labels, i, t->batch);
        phased_add(x.phased, ids, labels, (uint64_t)i);
    }
    for (int i = 0; i < 2; i++)
        assert_fails(phased_run(x.phased, &sums, 1, NULL), ERR_FORMAT, "the file is truncated");
    assert_fails(weights_publish(&x.w, &x.m), ERR_FORMAT, "the file is truncated");
    const double norm = optimizer_norm(x.o, step_gradients(phased_step(x.phased)), 1);
    optimizer_step(x.o, weights_block(&x.w), step_gradients(phased_step(x.phased)), 1, norm, 0.01f);
    assert_fails(optimizer_error(x.o), ERR_FORMAT, "the file is truncated");
    close_side(&x);

    struct rlimit before;
    struct phased_step *more = NULL;
    const struct step_config s = config_of_step(t);
    open_side(&x, t, true);
    getrlimit(RLIMIT_FSIZE, &before);
    const struct rlimit limit = {.rlim_cur = 8192, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    const int rc = phased_new(&more, &x.w, &s, &x.place);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_fails(rc, ERR_IO, "cannot keep the layer inputs on disk: no room for ");
    assert_null(more);
    close_side(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_have_the_bits_of_memory),
                                       cmocka_unit_test(weights_are_published_from_disk),
                                       cmocka_unit_test(faults_are_said_once_and_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
