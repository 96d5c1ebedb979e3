/* What several ranks add up has the bits that one process has. */
#include "tests/lib/crowd.h"
#include "tests/lib/test.h"

#include "model/base/err.h"
#include "model/base/half.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "train/parallel/division.h"
#include "train/parallel/reduction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 600011, FEW = 503 };

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
    bool half, to_all, uneven;
    const void *want; /* [n], of one process */
    struct step_result sums;
};

static float block_gradient(int block, size_t i)
{
    return ldexpf(1.0f + (float)((i * 37 + (size_t)block * 1009) % 8191) / 8192, block * 5 % 7);
}

static void set_block(void *gradients, int block, const struct task *t)
{
    for (size_t i = 0; i < t->n; i++) {
        const float x = block_gradient(block, i);
        if (t->dtype == DTYPE_F16)
            ((uint16_t *)gradients)[i] = half_from_f32(x);
        else
            ((float *)gradients)[i] = x;
    }
}

/* Blocks first to last - 1, as a step does them. */
static void do_blocks(struct gradient_blocks *b, void *gradients, struct step_result *sums,
                      const struct task *t)
{
    b->n_waiting = gradient_blocks_waiting(b->n, b->first, b->last);
    for (int i = 0; i < b->n_waiting; i++)
        b->waiting[i] = mem_array(t->n, sizeof(float));
    gradient_blocks_begin(b);
    *sums = (struct step_result){0};
    for (int i = b->first; i < b->last; i++) {
        set_block(gradients, i, t);
        sums->loss_sum += 1.0 / (i + 1);
        sums->n_targets += 10;
        gradient_blocks_end(b, gradients, sums);
    }
}

static void free_blocks(struct gradient_blocks *b)
{
    for (int i = 0; i < b->n_waiting; i++)
        mem_free(b->waiting[i]);
}

static void act_rank(void *arg)
{
    const struct task *t = arg;
    const int size = world_size(), rank = world_rank();
    size_t bounds[9];
    int firsts[9];
    struct reduction *r;
    struct step_result sums;
    struct gradient_blocks b = {
        .n = t->n_blocks, .dtype = t->dtype, .half = t->half, .n_gradients = t->n};
    const size_t each = dtype_bytes(t->dtype), wire = t->half ? sizeof(uint16_t) : each;
    size_t sent = 0;
    const struct rank_group all = group_world();
    void *gradients = mem_array(t->n, sizeof(float));
    /* Uneven slices, one of them empty. */
    for (int i = 0; i <= size; i++)
        bounds[i] = i == size ? t->n
                    : i == 1  ? 0
                              : t->n * (size_t)i * (size_t)i / (size_t)(size * size);
    par_open(1 + rank % 2, false);
    division_even(firsts, t->n_blocks, size);
    if (t->uneven) /* the last has all that others need not have */
        for (int i = 0; i < size; i++)
            firsts[i] = i;
    EXPECT(reduction_new(&r, &all, firsts, bounds, t->dtype, t->half) == 0);
    for (int again = 0; again < 2; again++) {
        b.first = firsts[rank];
        b.last = firsts[rank + 1];
        do_blocks(&b, gradients, &sums, t);
        const size_t whole_sent = crowd_sent(TAG_WHOLE);
        reduction_run(r, &b, gradients, &sums, t->to_all);
        const size_t from = t->to_all ? 0 : bounds[rank], to = t->to_all ? t->n : bounds[rank + 1];
        EXPECT(memcmp((char *)gradients + from * each, (const char *)t->want + from * each,
                      (to - from) * each) == 0);
        EXPECT(memcmp(&sums, &t->sums, sizeof sums) == 0);
        const size_t own = bounds[rank + 1] - bounds[rank];
        sent += (size_t)b.n_nodes * (t->n - own) * wire;
        EXPECT(crowd_sent(TAG_PART) == sent);
        if (t->to_all)
            EXPECT(crowd_sent(TAG_WHOLE) == whole_sent + own * (size_t)(size - 1) * wire);
        free_blocks(&b);
    }
    reduction_free(r);
    mem_free(gradients);
}

static void check_sizes(struct task *t)
{
    struct gradient_blocks b = {.n = t->n_blocks,
                                .last = t->n_blocks,
                                .dtype = t->dtype,
                                .half = t->half,
                                .n_gradients = t->n};
    void *want = mem_array(t->n, sizeof(float));
    assert_ok(par_open(2, false));
    do_blocks(&b, want, &t->sums, t);
    par_close(); /* no threads where processes are forked */
    t->want = want;
    for (int size = 2; size <= 5 && size <= t->n_blocks; size += size == 3 ? 2 : 1)
        for (int to_all = 0; to_all < 2; to_all++) {
            t->to_all = to_all;
            t->uneven = false;
            assert_int_equal(crowd_run(size, act_rank, t), 0);
            t->uneven = true;
            assert_int_equal(crowd_run(size, act_rank, t), 0);
        }
    free_blocks(&b);
    mem_free(want);
}

static void ranks_have_the_bits_of_one(void **state)
{
    (void)state;
    for (int n = 2; n <= 7; n += n == 3 ? 2 : 1) {
        check_sizes(&(struct task){.n_blocks = n, .n = FEW, .dtype = DTYPE_F32});
        check_sizes(&(struct task){.n_blocks = n, .n = FEW, .dtype = DTYPE_F16});
        check_sizes(&(struct task){.n_blocks = n, .n = FEW, .dtype = DTYPE_F32, .half = true});
    }
}

static void in_many_parts_too(void **state)
{
    (void)state;
    check_sizes(&(struct task){.n_blocks = 3, .n = N, .dtype = DTYPE_F32});
    check_sizes(&(struct task){.n_blocks = 3, .n = N, .dtype = DTYPE_F32, .half = true});
}

static void act_agree(void *arg)
{
    (void)arg;
    EXPECT(world_agree(0) == 0);
    const int rank = world_rank();
    EXPECT(world_agree(rank == 0 ? 0 : err_set(ERR_RANGE, "too much of %d", rank)) == ERR_RANGE);
    EXPECT(strcmp(err_text(), "rank 1 on here: too much of 1") == 0);
    EXPECT(world_agree(rank == 2   ? err_set(ERR_IO, "no disk")
                       : rank == 1 ? err_set(ERR_INTERRUPTED, "interrupted")
                                   : 0) == ERR_IO);
    EXPECT(strcmp(err_text(), "rank 2 on here: no disk") == 0);
    int all[3], own = 10 * rank;
    world_all_gather(all, &own, sizeof own);
    EXPECT(all[0] == 0 && all[1] == 10 && all[2] == 20);
    own = rank;
    world_broadcast(&own, sizeof own, 2);
    EXPECT(own == 2);
}

static void ranks_agree(void **state)
{
    (void)state;
    assert_int_equal(crowd_run(3, act_agree, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_agree),
        cmocka_unit_test(ranks_have_the_bits_of_one),
        cmocka_unit_test(in_many_parts_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
