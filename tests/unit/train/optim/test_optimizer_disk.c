/* Moments on disk: the same bits as in memory, and a disk that fails is said. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "tests/lib/thin.h"

#include "model/base/half.h"
#include "model/base/par.h"
#include "model/base/rng.h"
#include "train/optim/optimizer.h"

#include <sys/resource.h>

/* Several parts, whose ends are no ends of tensors. */
enum { TENSORS = 5, N = 9000007, STEPS = 2 };
static const size_t OFFSET[TENSORS + 1] = {0, 700000, 700001, 5000000, 5000300, N};

static struct param_tensor tensors[TENSORS] = {[0] = {.decays = true}, [2] = {.decays = true}};
static struct scratch scratch;

static struct optimizer_layout layout_of(enum dtype dtype)
{
    return (struct optimizer_layout){
        .dtype = dtype, .n_tensors = TENSORS, .tensors = tensors, .offset = OFFSET};
}

/* Numbers that come again after a prime number of them. */
static void fill(void *to, enum dtype dtype, uint64_t seed, float scale)
{
    enum { PERIOD = 65521 };
    static float numbers[PERIOD];
    for (size_t i = 0; i < PERIOD; i++)
        numbers[i] = scale * (float)(rng_uniform(seed, 1, i) - 0.5);
    for (size_t i = 0; i < N; i++) {
        const float x = numbers[i % PERIOD];
        if (dtype == DTYPE_F32)
            ((float *)to)[i] = x;
        else
            ((uint16_t *)to)[i] = half_from_f32(x);
    }
}

static void take_steps(struct optimizer *o, enum dtype dtype, void *weights, void *grads, int from,
                       int to)
{
    for (int step = from; step < to; step++) {
        fill(grads, dtype, 10 + (uint64_t)step, 0.01f);
        const double norm = optimizer_norm(o, grads, 1);
        assert_true(optimizer_step(o, weights, grads, 1, norm, 0.01f));
        assert_ok(optimizer_error(o));
    }
}

static void expect_same(struct optimizer *a, struct optimizer *b)
{
    struct optimizer_block x[OPTIMIZER_MAX_BLOCKS], y[OPTIMIZER_MAX_BLOCKS];
    const int n = optimizer_blocks(a, x);
    assert_int_equal(optimizer_blocks(b, y), n);
    for (int i = 0; i < n; i++) {
        const size_t bytes = x[i].n * dtype_bytes(x[i].dtype);
        char *one = mem_alloc(bytes), *other = mem_alloc(bytes);
        assert_string_equal(x[i].name, y[i].name);
        assert_ok(optimizer_block_read(&x[i], one, 0, bytes));
        assert_ok(optimizer_block_read(&y[i], other, 0, bytes));
        assert_memory_equal(one, other, bytes);
        mem_free(one);
        mem_free(other);
    }
    assert_memory_equal(optimizer_changes(a), optimizer_changes(b),
                        TENSORS * sizeof(struct tensor_change));
}

/* Two steps, then one more by an optimizer that took the state over. */
static void run_kind(const struct optimizer_config *c, enum dtype dtype, int threads, size_t n_kept)
{
    const size_t bytes = N * dtype_bytes(dtype);
    char *want = mem_alloc(bytes), *got = mem_alloc(bytes), *grads = mem_alloc(bytes);
    struct optimizer *plain, *disk, *next;
    struct optimizer_block from[OPTIMIZER_MAX_BLOCKS], to[OPTIMIZER_MAX_BLOCKS];
    fill(want, dtype, 3, 0.2f);
    memcpy(got, want, bytes);
    assert_ok(optimizer_new(&plain, c, layout_of(dtype)));
    take_steps(plain, dtype, want, grads, 0, STEPS);
    assert_ok(par_open(threads, false));
    assert_ok(optimizer_new_on_disk(&disk, c, layout_of(dtype), scratch.folder, n_kept));
    take_steps(disk, dtype, got, grads, 0, STEPS);
    assert_memory_equal(got, want, bytes);
    expect_same(plain, disk);

    assert_ok(optimizer_new_on_disk(&next, c, layout_of(dtype), scratch.folder, n_kept));
    const int n = optimizer_blocks(plain, from);
    optimizer_blocks(next, to);
    for (int i = 0; i < n; i++) {
        const size_t all = from[i].n * dtype_bytes(from[i].dtype);
        assert_ok(optimizer_block_write(&to[i], from[i].data, 0, all));
    }
    optimizer_set_steps(next, STEPS);
    take_steps(plain, dtype, want, grads, STEPS, STEPS + 1);
    take_steps(next, dtype, got, grads, STEPS, STEPS + 1);
    assert_memory_equal(got, want, bytes);
    optimizer_free(plain);
    optimizer_free(disk);
    optimizer_free(next);
    mem_free(want);
    mem_free(got);
    mem_free(grads);
}

static void the_bits_are_those_of_memory(void **state)
{
    (void)state;
    struct optimizer_config c;
    optimizer_config_init(&c);
    c.grad_clip = 1;
    c.weight_decay = 0.1f;
    c.kind = OPTIMIZER_ADAMW;
    run_kind(&c, DTYPE_F32, 2, 0);
    run_kind(&c, DTYPE_F16, 1, N / 3);
    if (!THIN) {
        run_kind(&c, DTYPE_F32, 2, N / 2);
        run_kind(&c, DTYPE_F16, 1, N);
    }
    c.kind = OPTIMIZER_LAMB;
    if (!THIN)
        run_kind(&c, DTYPE_F32, 3, 0);
    run_kind(&c, DTYPE_F32, 3, 2 * N / 3);
}

static void a_full_disk_ends_the_run_not_the_program(void **state)
{
    (void)state;
    struct optimizer_config c;
    struct optimizer *o;
    struct optimizer_block blocks[OPTIMIZER_MAX_BLOCKS];
    struct rlimit before, limit;
    float *weights = mem_array(N, sizeof *weights), *grads = mem_array(N, sizeof *grads), x;
    optimizer_config_init(&c);
    fill(grads, DTYPE_F32, 2, 0.1f);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){.rlim_cur = 20 << 20, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_fails(optimizer_new_on_disk(&o, &c, layout_of(DTYPE_F32), scratch.folder, 0), ERR_IO,
                 "cannot keep the moments on disk: no room for ");
    /* What stays in memory takes none. */
    assert_ok(optimizer_new_on_disk(&o, &c, layout_of(DTYPE_F32), scratch.folder, N));
    assert_true(optimizer_step(o, weights, grads, 1, optimizer_norm(o, grads, 1), 0.01f));
    optimizer_free(o);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_ok(optimizer_new_on_disk(&o, &c, layout_of(DTYPE_F32), scratch.folder, 0));
    setrlimit(RLIMIT_FSIZE, &limit);
    optimizer_step(o, weights, grads, 1, optimizer_norm(o, grads, 1), 0.01f);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_fails(optimizer_error(o), ERR_IO, "cannot write a working file in ");
    assert_false(optimizer_step(o, weights, grads, 1, optimizer_norm(o, grads, 1), 0.01f));
    optimizer_blocks(o, blocks);
    assert_fails(optimizer_block_read(&blocks[0], &x, 0, 4), ERR_IO, "cannot write a working file");
    optimizer_free(o);
    mem_free(weights);
    mem_free(grads);
}

static int set_up(void **state)
{
    (void)state;
    scratch_open(&scratch);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    par_close();
    scratch_close(&scratch);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_bits_are_those_of_memory),
                                       cmocka_unit_test(a_full_disk_ends_the_run_not_the_program)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
