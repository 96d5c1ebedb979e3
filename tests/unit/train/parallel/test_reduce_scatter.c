/* Gradients that are sent away while a step goes on have the bits that one process has. */
#include "tests/lib/crowd.h"
#include "tests/lib/test.h"

#include "model/base/err.h"
#include "model/base/half.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "train/parallel/reduce_scatter.h"

#include <math.h>
#include <string.h>

enum { FEW = 20011, MANY = 700001, UNITS = 5, MOST = 6 };

/* A failed assertion of a child is its end. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            world_end_all(1);                                                                      \
    } while (0)

struct task {
    int n_blocks;
    size_t n;
    enum dtype dtype;
    int most_pending, steps;
    int groups; /* that work side by side, rank 0 in the first of them and so on; 0: 1 */
    bool half;
    bool spans;       /* two: the first two units between them are nobody's */
    bool abandons;    /* each rank gives the first step up somewhere else */
    const void *want; /* [n], of one process */
    struct step_result sums;
};

static float block_gradient(int block, size_t i)
{
    return ldexpf(1.0f + (float)((i * 37 + (size_t)block * 1009) % 8191) / 8192, block * 5 % 7);
}

static void add_block(void *gradients, int block, size_t first, size_t n, enum dtype dtype)
{
    for (size_t i = first; i < first + n; i++) {
        const float x = block_gradient(block, i);
        if (dtype == DTYPE_F16)
            ((uint16_t *)gradients)[i] = half_from_f32(x);
        else
            ((float *)gradients)[i] += x; /* to what must be zero */
    }
}

static struct step_result block_sums(int block)
{
    return (struct step_result){.loss_sum = 1.0 / (block + 1), .n_targets = 10, .n_correct = 1};
}

/* From the last to the first, one of them empty, of bounds that are no page's. */
static void list_units(struct sliced_unit *units, size_t n)
{
    const size_t ends[UNITS + 1] = {0, n / 7, n / 7, n / 3, n / 2 + 1, n};
    for (int i = 0; i < UNITS; i++)
        units[UNITS - 1 - i] = (struct sliced_unit){ends[i], ends[i + 1] - ends[i]};
}

static struct rank_group own_group(const struct task *t)
{
    const int n = t->groups > 0 ? t->groups : 1;
    return (struct rank_group){.first = world_rank() % n,
                               .distance = n,
                               .size = world_size() / n,
                               .own = world_rank() / n};
}

/* Uneven slices, one of them empty. */
static void find_bounds(size_t *bounds, int size, size_t first, size_t last)
{
    const size_t n = last - first;
    for (int i = 0; i <= size; i++)
        bounds[i] = first + (i == size ? n
                             : i == 1  ? 0
                                       : n * (size_t)i * (size_t)i / (size_t)(size * size));
}

/* All units are one span, or those in the middle are left out. */
static int list_spans(size_t bounds[2 * (MOST + 1)], struct sliced_unit units[UNITS], int *n_units,
                      const struct task *t, int size)
{
    list_units(units, t->n);
    *n_units = UNITS;
    if (!t->spans) {
        find_bounds(bounds, size, 0, t->n);
        return 1;
    }
    find_bounds(bounds, size, 0, units[UNITS - 1].n);
    find_bounds(bounds + size + 1, size, units[1].first, t->n);
    units[2] = units[UNITS - 1];
    *n_units = 3;
    return 2;
}

/* Whether a unit's memory may be used, which a rank that has stopped does not wait for. */
static bool await_unit(struct reduce_scatter *r, int unit, bool stops)
{
    bool free = reduce_scatter_await(r, unit);
    for (int i = 0; !free && !(stops && i > 20); i++)
        free = reduce_scatter_await(r, unit);
    return free;
}

/* The blocks of this rank; false: it stops before unit `until` of all that it would give. */
static bool give_blocks(struct reduce_scatter *r, void *gradients, const struct task *t, int until)
{
    const struct rank_group g = own_group(t);
    size_t bounds[2 * (MOST + 1)];
    struct sliced_unit units[UNITS];
    int n_units;
    list_spans(bounds, units, &n_units, t, g.size);
    for (int i = 0; i < reduce_scatter_count(t->n_blocks, g.size, g.own); i++) {
        const int block = reduce_scatter_block(g.size, g.own, i);
        const struct step_result sums = block_sums(block);
        for (int u = 0; u < n_units; u++) {
            if (until-- == 0 || !await_unit(r, u, until >= 0))
                return false;
            EXPECT(reduce_scatter_is_ready(r, u));
            add_block(gradients, block, units[u].first, units[u].n, t->dtype);
            reduce_scatter_give(r, u);
        }
        reduce_scatter_end_block(r, &sums);
    }
    return true;
}

static void expect_slices(const struct reduce_scatter *r, const struct task *t,
                          const size_t *bounds, int n_spans)
{
    const struct rank_group g = own_group(t);
    const size_t each = dtype_bytes(t->dtype), from = bounds[g.own];
    EXPECT(reduce_scatter_first(r) == from);
    for (int i = 0; i < n_spans; i++, bounds += g.size + 1)
        EXPECT(memcmp((const char *)reduce_scatter_slices(r) + (bounds[g.own] - from) * each,
                      (const char *)t->want + bounds[g.own] * each,
                      (bounds[g.own + 1] - bounds[g.own]) * each) == 0);
}

/* Of a block, to other ranks. */
static size_t sent_bytes(const struct task *t, const size_t *bounds, int n_spans)
{
    const struct rank_group g = own_group(t);
    size_t n = 0;
    for (int i = 0; i < n_spans; i++, bounds += g.size + 1)
        n += bounds[g.size] - bounds[0] - (bounds[g.own + 1] - bounds[g.own]);
    return n * (t->half ? sizeof(uint16_t) : dtype_bytes(t->dtype));
}

static void act_rank(void *arg)
{
    const struct task *t = arg;
    const struct rank_group g = own_group(t);
    const int rank = g.own;
    const size_t each = dtype_bytes(t->dtype);
    size_t bounds[2 * (MOST + 1)];
    struct sliced_unit units[UNITS];
    int n_units;
    struct reduce_scatter *r;
    struct step_result sums;
    void *gradients = mem_map("test", t->n * each);
    size_t sent = 0;
    const int n_spans = list_spans(bounds, units, &n_units, t, g.size);
    EXPECT(reduce_scatter_new(
               &r, &(struct reduce_scatter_shape){.group = g,
                                                  .n_blocks = t->n_blocks,
                                                  .slices = {.size = g.size,
                                                             .n_spans = n_spans,
                                                             .bounds = bounds,
                                                             .n_units = n_units,
                                                             .units = units},
                                                  .dtype = t->dtype,
                                                  .half = t->half,
                                                  .most_pending = t->most_pending}) == 0);
    for (int again = 0; again < t->steps; again++) {
        const bool stops = t->abandons && again != 1;
        reduce_scatter_begin(r, gradients);
        const bool done = give_blocks(r, gradients, t, stops ? 4 * rank + again : -1);
        EXPECT(done || stops);
        if (stops) {
            reduce_scatter_abandon(r);
            mem_clear_map(gradients, t->n * each);
            continue;
        }
        reduce_scatter_finish(r, &sums);
        expect_slices(r, t, bounds, n_spans);
        EXPECT(memcmp(&sums, &t->sums, sizeof sums) == 0);
        sent += (size_t)reduce_scatter_count(t->n_blocks, g.size, rank) *
                sent_bytes(t, bounds, n_spans);
        EXPECT(t->abandons || crowd_sent(TAG_NODE) == sent);
        for (size_t i = 0; i < t->n * each; i++)
            EXPECT(((const char *)gradients)[i] == 0);
    }
    reduce_scatter_free(r);
    mem_unmap(gradients, t->n * each);
}

/* What one process has. */
static void do_all(struct task *t, void *gradients)
{
    struct gradient_blocks b = {.n = t->n_blocks,
                                .last = t->n_blocks,
                                .dtype = t->dtype,
                                .half = t->half,
                                .n_gradients = t->n};
    b.n_waiting = gradient_blocks_waiting(b.n, 0, b.n);
    for (int i = 0; i < b.n_waiting; i++)
        b.waiting[i] = mem_array(t->n, sizeof(float));
    assert_ok(par_open(2, false));
    gradient_blocks_begin(&b);
    t->sums = (struct step_result){0};
    for (int i = 0; i < b.n; i++) {
        add_block(gradients, i, 0, t->n, t->dtype);
        t->sums = block_sums(i);
        gradient_blocks_end(&b, gradients, &t->sums);
    }
    par_close(); /* no threads where processes are forked */
    for (int i = 0; i < b.n_waiting; i++)
        mem_free(b.waiting[i]);
}

static void check_sizes(struct task t)
{
    void *want = mem_array(t.n, sizeof(float));
    /* The sums of one process join as gradient_blocks_end has them. */
    do_all(&t, want);
    t.want = want;
    const int groups = t.groups > 0 ? t.groups : 1;
    for (int size = 2; size <= MOST / groups && size <= t.n_blocks; size += size == 3 ? 2 : 1)
        assert_int_equal(crowd_run(size * groups, act_rank, &t), 0);
    mem_free(want);
}

static void slices_have_the_bits_of_one(void **state)
{
    (void)state;
    for (int n = 2; n <= 11; n += n == 3 ? 2 : n == 5 ? 6 : 1) {
        check_sizes((struct task){.n_blocks = n, .n = FEW, .dtype = DTYPE_F32, .steps = 2});
        check_sizes((struct task){
            .n_blocks = n, .n = FEW, .dtype = DTYPE_F16, .steps = 2, .most_pending = 2});
        check_sizes(
            (struct task){.n_blocks = n, .n = FEW, .dtype = DTYPE_F32, .half = true, .steps = 2});
    }
}

static void in_many_parts_too(void **state)
{
    (void)state;
    check_sizes(
        (struct task){.n_blocks = 3, .n = MANY, .dtype = DTYPE_F32, .steps = 1, .most_pending = 1});
    check_sizes((struct task){
        .n_blocks = 3, .n = MANY, .dtype = DTYPE_F32, .half = true, .steps = 1, .most_pending = 1});
}

static void a_step_that_is_given_up_leaves_nothing(void **state)
{
    (void)state;
    check_sizes(
        (struct task){.n_blocks = 7, .n = FEW, .dtype = DTYPE_F32, .steps = 3, .abandons = true});
    check_sizes((struct task){.n_blocks = 5,
                              .half = true,
                              .n = FEW,
                              .dtype = DTYPE_F32,
                              .steps = 3,
                              .abandons = true,
                              .most_pending = 2});
}

/* As the peers of two stages, each with layers that the other lacks. */
static void groups_work_side_by_side(void **state)
{
    (void)state;
    check_sizes((struct task){
        .n_blocks = 5, .n = FEW, .dtype = DTYPE_F32, .groups = 2, .spans = true, .steps = 2});
    check_sizes((struct task){.n_blocks = 4,
                              .n = FEW,
                              .dtype = DTYPE_F16,
                              .groups = 2,
                              .spans = true,
                              .steps = 3,
                              .abandons = true});
}

/* As many as wait between rounds, and no more. */
static void slots_are_few(void **state)
{
    (void)state;
    assert_int_equal(reduce_scatter_slots(4, 4), 1);
    assert_int_equal(reduce_scatter_slots(8, 2), 2);
    assert_int_equal(reduce_scatter_slots(16, 4), 2);
    assert_int_equal(reduce_scatter_slots(8, 3), 2);
    assert_int_equal(reduce_scatter_slots(256, 2), 7);
    for (int n = 1; n < 70; n++)
        for (int size = 1, blocks = 0; size <= n; size++, blocks = 0) {
            assert_in_range(reduce_scatter_slots(n, size), 1, 7);
            for (int rank = 0; rank < size; rank++)
                blocks += reduce_scatter_count(n, size, rank);
            assert_int_equal(blocks, n);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_few),
        cmocka_unit_test(slices_have_the_bits_of_one),
        cmocka_unit_test(in_many_parts_too),
        cmocka_unit_test(groups_work_side_by_side),
        cmocka_unit_test(a_step_that_is_given_up_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
