/* Temperature and what cuts the distribution, each against NumPy's full sort. */
#include "tests/lib/normal.h"
#include "tests/lib/sampling_golden.h"

#include "sampling/chain/candidates.h"
#include "sampling/chain/filters.h"

#include <float.h>

#define GOLDEN(name)                                                                               \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        golden_run((const char *const[]){#name, NULL});                                            \
    }
GOLDEN(temperature)
GOLDEN(top_k)
GOLDEN(top_p)
GOLDEN(min_p)
GOLDEN(typical_p)
GOLDEN(top_n_sigma)
GOLDEN(xtc)
GOLDEN(topk_uniform)

static void test_chains(void **state)
{
    (void)state;
    golden_run(NULL);
}

struct bench {
    struct candidates c;
    void *block;
};

static void open_bench(struct bench *b, int n)
{
    struct arena size = {0};
    candidates_carve(&b->c, &size, n);
    b->block = mem_alloc(size.used);
    candidates_carve(&b->c, &(struct arena){.base = b->block}, n);
}

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* A vocabulary's worth of keys, of all sizes and kinds: the cut agrees with a sort. */
static void test_large_cuts(void **state)
{
    (void)state;
    enum { N = 30011 };
    struct bench b;
    open_bench(&b, N);
    float *logits = mem_array(N, sizeof *logits), *sorted = mem_array(N, sizeof *sorted);
    for (int kind = 0; kind < 6; kind++) {
        for (int i = 0; i < N; i++) {
            float x = normal_number(7, (uint64_t)kind, (uint64_t)i);
            logits[i] = kind == 0   ? 3 * x
                        : kind == 1 ? 1e-6f * x
                        : kind == 2 ? floorf(x)
                        : kind == 3 ? (i % 1000 == 17 ? 1e30f : x)
                        : kind == 4 ? (i % 2 ? -INFINITY : x)
                                    : 4;
            sorted[i] = logits[i];
        }
        qsort(sorted, N, sizeof *sorted, compare);
        static const int ks[] = {1, 2, 31, 47, 48, 49, 64, 468, 469, 5000, N / 2, N - 1};
        for (size_t j = 0; j < sizeof ks / sizeof *ks; j++) {
            int k = ks[j], alive = kind == 4 && k > (N + 1) / 2 ? (N + 1) / 2 : k, ties = 0,
                above = 0;
            candidates_start(&b.c, logits);
            filter_top_k(&b.c, k);
            assert_int_equal(b.c.n, alive);
            for (int i = 0; i < b.c.n; i++) {
                float x = logits[candidates_id(&b.c, i)];
                assert_true(x >= sorted[alive - 1]);
                above += x > sorted[alive - 1];
                assert_true(i == 0 || candidates_id(&b.c, i) > candidates_id(&b.c, i - 1));
            }
            /* Of those equal to the k-th, the lowest ids. */
            for (int i = 0; i < N && above + ties < alive; i++)
                if (logits[i] == sorted[alive - 1]) {
                    int at = 0;
                    while (at < b.c.n && candidates_id(&b.c, at) != i)
                        at++;
                    assert_true(at < b.c.n);
                    ties++;
                    if (ties > 50)
                        break;
                }
        }
        static const float ps[] = {0, 1e-6f, 0.1f, 0.5f, 0.95f, 0.999999f};
        for (size_t j = 0; j < sizeof ps / sizeof *ps; j++) {
            candidates_start(&b.c, logits);
            assert_true(candidates_weigh(&b.c));
            double whole = b.c.sum;
            filter_top_p(&b.c, ps[j]);
            assert_true(b.c.n >= 1);
            /* They reach p; without the least of them they do not. */
            double kept = 0, least = INFINITY;
            for (int i = 0; i < b.c.n; i++) {
                kept += (double)b.c.weight[i];
                least = fmin(least, (double)b.c.weight[i]);
            }
            assert_true(kept >= (double)ps[j] * whole * (1 - 1e-9));
            assert_true(b.c.n == 1 || kept - least <= (double)ps[j] * whole * (1 + 1e-9));
        }
    }
    mem_free(logits);
    mem_free(sorted);
    mem_free(b.block);
}

/* Whatever the numbers, something is left and the most likely stays (XTC apart). */
static void test_extremes(void **state)
{
    (void)state;
    static const float odd[][5] = {
        {0, 0, 0, 0, 0},
        {FLT_MAX, -FLT_MAX, 0, 1, 2},
        {INFINITY, INFINITY, 0, -INFINITY, NAN},
        {NAN, NAN, -1, NAN, NAN},
        {-FLT_MAX, -FLT_MAX, -FLT_MAX, -FLT_MAX, -INFINITY},
        {FLT_TRUE_MIN, 0, -FLT_TRUE_MIN, FLT_MIN, -0.0f},
        {1e30f, 1e30f, 1e29f, -1e30f, 3},
    };
    static const float temperatures[] = {1e-45f, 1e-30f, 0.5f, 1, 1e30f, FLT_MAX};
    struct bench b;
    open_bench(&b, 5);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (int what = 0; what < 12; what++) {
            candidates_start(&b.c, odd[i]);
            switch (what) {
            case 6:
                filter_top_p(&b.c, 0);
                break;
            case 7:
                filter_typical_p(&b.c, 0.5f);
                break;
            case 8:
                filter_top_n_sigma(&b.c, 0.1f);
                break;
            case 9:
                filter_min_p(&b.c, 1);
                break;
            case 10:
                filter_xtc(&b.c, 1, 0, 0);
                break;
            case 11:
                filter_dynamic_temperature(&b.c, 1, FLT_MAX, 1);
                break;
            default:
                filter_temperature(&b.c, temperatures[what]);
            }
            assert_true(candidates_weigh(&b.c));
            assert_true(isfinite(b.c.sum) && b.c.sum >= 1);
            for (double u = 0; u < 1; u += 0.1) {
                int at = candidates_draw(&b.c, u);
                assert_true(at >= 0 && at < b.c.n && b.c.weight[at] > 0);
            }
        }
    mem_free(b.block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_temperature), cmocka_unit_test(test_top_k),
        cmocka_unit_test(test_top_p),       cmocka_unit_test(test_min_p),
        cmocka_unit_test(test_typical_p),   cmocka_unit_test(test_top_n_sigma),
        cmocka_unit_test(test_xtc),         cmocka_unit_test(test_topk_uniform),
        cmocka_unit_test(test_chains),      cmocka_unit_test(test_large_cuts),
        cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
