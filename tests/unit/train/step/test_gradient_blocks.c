/* Blocks of gradients join in the tree that gradient_blocks.h draws. */
#include "tests/lib/test.h"

#include "model/base/half.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "train/step/gradient_blocks.h"

#include <math.h>
#include <string.h>

enum { N = 5003, MOST = 9 };

struct kind {
    enum dtype dtype;
    bool half; /* half_partials */
};

static const struct kind float32 = {DTYPE_F32, false}, float16 = {DTYPE_F16, false},
                         halves = {DTYPE_F32, true};

static float round_node(float x, struct kind kind)
{
    return kind.dtype == DTYPE_F16 ? half_to_f32(half_from_f32(x))
           : kind.half             ? bf16_to_f32(bf16_from_f32(x))
                                   : x;
}

/* Sums of these round, so that another tree has other bits. */
static float block_gradient(int block, size_t i)
{
    return ldexpf(1.0f + (float)((i * 37 + (size_t)block * 1009) % 8191) / 8192, block * 5 % 7);
}

/* Of blocks lo .. hi - 1: the left part has the greatest power of two. */
static float tree_sum(int lo, int hi, size_t i, struct kind kind)
{
    int left = 1;
    if (hi - lo == 1)
        return round_node(block_gradient(lo, i), kind);
    while (2 * left < hi - lo)
        left *= 2;
    return round_node(tree_sum(lo, lo + left, i, kind) + tree_sum(lo + left, hi, i, kind), kind);
}

static void set_block(void *gradients, int block, struct kind kind)
{
    for (size_t i = 0; i < N; i++) {
        const float x = block_gradient(block, i);
        if (kind.dtype == DTYPE_F16)
            ((uint16_t *)gradients)[i] = half_from_f32(x);
        else
            ((float *)gradients)[i] = x;
    }
}

static void expect_zeros(const void *gradients, struct kind kind)
{
    const char *bytes = gradients;
    for (size_t i = 0; i < N * dtype_bytes(kind.dtype); i++)
        assert_int_equal(bytes[i], 0);
}

static void check_tree(int n, struct kind kind)
{
    struct gradient_blocks b = {.n = n,
                                .last = n,
                                .n_waiting = gradient_blocks_waiting(n, 0, n),
                                .dtype = kind.dtype,
                                .half = kind.half,
                                .n_gradients = N};
    struct step_result sums = {0};
    float *gradients = mem_array(N, sizeof *gradients);
    for (int i = 0; i < b.n_waiting; i++)
        b.waiting[i] = mem_array(N, sizeof(float));
    for (int again = 0; again < 2; again++) {
        gradient_blocks_begin(&b);
        sums = (struct step_result){0};
        for (int i = 0; i < n; i++) {
            set_block(gradients, i, kind);
            sums.loss_sum += i + 1;
            sums.n_targets += 10;
            sums.n_correct += i;
            gradient_blocks_end(&b, gradients, &sums);
            if (i + 1 < n) {
                expect_zeros(gradients, kind);
                assert_true(sums.loss_sum == 0 && sums.n_targets == 0);
            }
        }
        for (size_t i = 0; i < N; i++) {
            float got =
                kind.dtype == DTYPE_F16 ? half_to_f32(((uint16_t *)gradients)[i]) : gradients[i];
            assert_true(got == tree_sum(0, n, i, kind));
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
            check_tree(n, float32);
            check_tree(n, float16);
            check_tree(n, halves);
            check_tree(n, (struct kind){DTYPE_F16, true}); /* which has no more to round */
        }
    }
    par_close();
}

/* Blocks first to last - 1 of n: every node is its part of the tree, and together they are all. */
static void check_some(int n, int first, int last, struct kind kind)
{
    struct gradient_blocks b = {.n = n,
                                .first = first,
                                .last = last,
                                .n_waiting = gradient_blocks_waiting(n, first, last),
                                .dtype = kind.dtype,
                                .half = kind.half,
                                .n_gradients = N};
    struct step_result sums = {0};
    float *gradients = mem_array(N, sizeof *gradients);
    for (int i = 0; i < b.n_waiting; i++)
        b.waiting[i] = mem_array(N, sizeof(float));
    gradient_blocks_begin(&b);
    for (int i = first; i < last; i++) {
        set_block(gradients, i, kind);
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
            assert_true(((float *)node->data)[i] == tree_sum(node->first, node->last, i, kind));
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
            for (int last = first + 1; last <= n; last++) {
                check_some(n, first, last, float32);
                check_some(n, first, last, halves);
            }
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
