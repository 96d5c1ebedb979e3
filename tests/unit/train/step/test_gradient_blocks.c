/* Blocks of gradients join in the tree that gradient_blocks.h draws. */
#include "tests/lib/test.h"

#include "model/base/half.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "train/step/gradient_blocks.h"

#include <math.h>
#include <string.h>

enum { N = 5003, MOST = 9 };

/* Sums of these round, so that another tree has other bits. */
static float block_gradient(int block, size_t i)
{
    return ldexpf(1.0f + (float)((i * 37 + (size_t)block * 1009) % 8191) / 8192, block * 5 % 7);
}

/* Of blocks lo .. hi - 1: the left part has the greatest power of two. */
static float tree_sum(int lo, int hi, size_t i, enum dtype dtype)
{
    int left = 1;
    if (hi - lo == 1) {
        float x = block_gradient(lo, i);
        return dtype == DTYPE_F16 ? half_to_f32(half_from_f32(x)) : x;
    }
    while (2 * left < hi - lo)
        left *= 2;
    float sum = tree_sum(lo, lo + left, i, dtype) + tree_sum(lo + left, hi, i, dtype);
    return dtype == DTYPE_F16 ? half_to_f32(half_from_f32(sum)) : sum;
}

static void set_block(void *gradients, int block, enum dtype dtype)
{
    for (size_t i = 0; i < N; i++) {
        const float x = block_gradient(block, i);
        if (dtype == DTYPE_F16)
            ((uint16_t *)gradients)[i] = half_from_f32(x);
        else
            ((float *)gradients)[i] = x;
    }
}

static void expect_zeros(const void *gradients, enum dtype dtype)
{
    const char *bytes = gradients;
    for (size_t i = 0; i < N * dtype_bytes(dtype); i++)
        assert_int_equal(bytes[i], 0);
}

static void check_tree(int n, enum dtype dtype)
{
    struct gradient_blocks b = {.n = n,
                                .last = n,
                                .n_waiting = gradient_blocks_waiting(n, 0, n),
                                .dtype = dtype,
                                .n_gradients = N};
    struct step_result sums = {0};
    float *gradients = mem_array(N, sizeof *gradients);
    for (int i = 0; i < b.n_waiting; i++)
        b.waiting[i] = mem_array(N, sizeof(float));
    for (int again = 0; again < 2; again++) {
        gradient_blocks_begin(&b);
        sums = (struct step_result){0};
        for (int i = 0; i < n; i++) {
            set_block(gradients, i, dtype);
            sums.loss_sum += i + 1;
            sums.n_targets += 10;
            sums.n_correct += i;
            gradient_blocks_end(&b, gradients, &sums);
            if (i + 1 < n) {
                expect_zeros(gradients, dtype);
                assert_true(sums.loss_sum == 0 && sums.n_targets == 0);
            }
        }
        for (size_t i = 0; i < N; i++) {
            float got = dtype == DTYPE_F16 ? half_to_f32(((uint16_t *)gradients)[i]) : gradients[i];
            assert_true(got == tree_sum(0, n, i, dtype));
        }
        assert_true(sums.loss_sum == n * (n + 1) / 2);
        assert_int_equal(sums.n_targets, 10 * n);
        assert_int_equal(sums.n_correct, n * (n - 1) / 2);
    }
    for (int i = 0; i < b.n_waiting; i++)
        mem_free(b.waiting[i]);
    mem_free(gradients);
}

static void blocks_join_as_drawn(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        assert_ok(par_open(threads, false));
        for (int n = 1; n <= MOST; n++) {
            check_tree(n, DTYPE_F32);
            check_tree(n, DTYPE_F16);
        }
    }
    par_close();
}

/* Blocks first to last - 1 of n: every node is its part of the tree, and together they are all. */
static void check_some(int n, int first, int last)
{
    struct gradient_blocks b = {.n = n,
                                .first = first,
                                .last = last,
                                .n_waiting = gradient_blocks_waiting(n, first, last),
                                .dtype = DTYPE_F32,
                                .n_gradients = N};
    struct step_result sums = {0};
    float *gradients = mem_array(N, sizeof *gradients);
    for (int i = 0; i < b.n_waiting; i++)
        b.waiting[i] = mem_array(N, sizeof(float));
    gradient_blocks_begin(&b);
    for (int i = first; i < last; i++) {
        set_block(gradients, i, DTYPE_F32);
        sums.n_targets += 10;
        gradient_blocks_end(&b, gradients, &sums);
    }
    assert_int_equal(b.nodes[0].first, first);
    assert_int_equal(b.nodes[b.n_nodes - 1].last, last);
    assert_ptr_equal(b.nodes[b.n_nodes - 1].data, gradients);
    for (int k = 0; k < b.n_nodes; k++) {
        const struct gradient_node *node = &b.nodes[k];
        assert_int_equal(node->sums.n_targets, 10 * (node->last - node->first));
        if (k > 0) {
            assert_int_equal(node->first, node[-1].last);
            assert_false(gradient_blocks_are_parts(n, node[-1].first, node->first, node->last));
        }
        for (size_t i = 0; i < N; i += 7)
            assert_true(((float *)node->data)[i] ==
                        tree_sum(node->first, node->last, i, DTYPE_F32));
    }
    for (int i = 0; i < b.n_waiting; i++)
        mem_free(b.waiting[i]);
    mem_free(gradients);
}

static void some_blocks_are_parts_of_the_tree(void **state)
{
    (void)state;
    assert_ok(par_open(2, false));
    for (int n = 1; n <= MOST; n++)
        for (int first = 0; first < n; first++)
            for (int last = first + 1; last <= n; last++)
                check_some(n, first, last);
    par_close();
}

static void few_nodes_wait(void **state)
{
    (void)state;
    static const int want[] = {0, 0, 1, 1, 2, 2, 2, 2, 3, 3};
    for (int n = 1; n <= MOST; n++)
        assert_int_equal(gradient_blocks_waiting(n, 0, n), want[n]);
    const int all = GRADIENT_BLOCKS_MAX;
    assert_int_equal(gradient_blocks_waiting(all, 0, all), 16);
    assert_true(gradient_blocks_waiting(all, 1, all - 1) < GRADIENT_NODES);
    assert_int_equal(gradient_blocks_waiting(8, 4, 6), 1);
    assert_int_equal(gradient_blocks_waiting(8, 4, 5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_join_as_drawn),
        cmocka_unit_test(some_blocks_are_parts_of_the_tree),
        cmocka_unit_test(few_nodes_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
