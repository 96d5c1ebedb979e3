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

static int compare_falling(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* A vocabulary's worth of logits, of all sizes and kinds. */
enum { N_LARGE = 30011, N_KINDS = 6, HALF_FORBIDDEN = 4 };

static float large_logit(int kind, int i)
{
    float x = normal_number(7, (uint64_t)kind, (uint64_t)i);
    switch (kind) {
    case 0:
        return 3 * x;
    case 1:
        return 1e-6f * x;
    case 2:
        return floorf(x);
    case 3:
        return i % 1000 == 17 ? 1e30f : x;
    case HALF_FORBIDDEN:
        return i % 2 ? -INFINITY : x;
    default:
        return 4;
    }
}

static bool is_candidate(const struct bench *b, int id)
{
    int at = 0;
    while (at < b->c.n && candidates_id(&b->c, at) != id)
        at++;
    return at < b->c.n;
}

/* The first `left` of the sorted ones stay, in the order of their ids. */
static void expect_top_k(struct bench *b, const float *logits, const float *sorted, int k, int left)
{
    const float last = sorted[left - 1];
    int above = 0, equal = 0;
    candidates_start(&b->c, logits);
    filter_top_k(&b->c, k);
    assert_int_equal(b->c.n, left);
    for (int i = 0; i < b->c.n; i++) {
        float x = logits[candidates_id(&b->c, i)];
        assert_true(x >= last);
        above += x > last;
        assert_true(i == 0 || candidates_id(&b->c, i) > candidates_id(&b->c, i - 1));
    }
    /* Of those equal to the k-th, the lowest ids; a few of them are looked at. */
    for (int i = 0; i < N_LARGE && above + equal < left && equal <= 50; i++)
        if (logits[i] == last) {
            assert_true(is_candidate(b, i));
            equal++;
        }
}

/* They reach p; without the least of them they do not. */
static void expect_top_p(struct bench *b, const float *logits, float p)
{
    double weights = 0, least = INFINITY;
    candidates_start(&b->c, logits);
    assert_true(candidates_weigh(&b->c));
    const double goal = (double)p * b->c.sum;
    filter_top_p(&b->c, p);
    assert_true(b->c.n >= 1);
    for (int i = 0; i < b->c.n; i++) {
        weights += (double)b->c.weight[i];
        least = fmin(least, (double)b->c.weight[i]);
    }
    assert_true(weights >= goal * (1 - 1e-9));
    assert_true(b->c.n == 1 || weights - least <= goal * (1 + 1e-9));
}

/* The cut of many agrees with a sort. */
static void test_large_cuts(void **state)
{
    (void)state;
    static const int ks[] = {1, 2, 31, 47, 48, 49, 64, 468, 469, 5000, N_LARGE / 2, N_LARGE - 1};
    static const float ps[] = {0, 1e-6f, 0.1f, 0.5f, 0.95f, 0.999999f};
    struct bench b;
    open_bench(&b, N_LARGE);
    float *logits = mem_array(N_LARGE, sizeof *logits),
          *sorted = mem_array(N_LARGE, sizeof *sorted);
    for (int kind = 0; kind < N_KINDS; kind++) {
        const int n_finite = kind == HALF_FORBIDDEN ? (N_LARGE + 1) / 2 : N_LARGE;
        for (int i = 0; i < N_LARGE; i++)
            sorted[i] = logits[i] = large_logit(kind, i);
        qsort(sorted, N_LARGE, sizeof *sorted, compare_falling);
        for (size_t j = 0; j < sizeof ks / sizeof *ks; j++)
            expect_top_k(&b, logits, sorted, ks[j], ks[j] < n_finite ? ks[j] : n_finite);
        for (size_t j = 0; j < sizeof ps / sizeof *ps; j++)
            expect_top_p(&b, logits, ps[j]);
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

/* typical_p may remove the most likely token: what cuts after it goes by the most likely left. */
static void test_cuts_after_typical_p(void **state)
{
    (void)state;
    enum { V = 61 }; /* one of 0.4, and 60 of 0.01, which are nearer the entropy */
    float logits[V] = {logf(40)};
    struct bench b;
    open_bench(&b, V);
    for (int what = 0; what < 2; what++) {
        candidates_start(&b.c, logits);
        filter_typical_p(&b.c, 0.3f);
        const int left = b.c.n;
        assert_true(left >= 30 && left < V && !is_candidate(&b, 0));
        if (what == 0)
            filter_min_p(&b.c, 0.5f);
        else
            filter_top_n_sigma(&b.c, 1);
        assert_int_equal(b.c.n, left);
    }
    mem_free(b.block);
}

/* Where fewer tokens are allowed than topk_uniform takes, none that is banned becomes as likely. */
static void uniform_draws_revive_no_banned_token(void **state)
{
    (void)state;
    const float logits[5] = {1, -INFINITY, 3, -INFINITY, 2};
    struct bench b;
    open_bench(&b, 5);
    for (int k = 3; k <= 6; k++) {
        candidates_start(&b.c, logits);
        filter_topk_uniform(&b.c, k);
        assert_true(candidates_weigh(&b.c));
        assert_true(b.c.sum == 3);
        for (int i = 0; i < b.c.n; i++)
            assert_true(b.c.weight[i] == (candidates_id(&b.c, i) % 2 == 0 ? 1.0f : 0.0f));
    }
    mem_free(b.block);
}

/* u is below the probability in exactly that share of draws. */
static void xtc_happens_below_its_probability(void **state)
{
    (void)state;
    const float logits[3] = {2, 2, 1};
    struct bench b;
    open_bench(&b, 3);
    for (int below = 0; below < 2; below++) {
        candidates_start(&b.c, logits);
        filter_xtc(&b.c, 0.5f, 0.1f, below ? 0.5 - 0x1p-32 : 0.5);
        assert_true(candidates_weigh(&b.c));
        assert_true((b.c.max == 1) == below);
    }
    mem_free(b.block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_temperature),
        cmocka_unit_test(test_top_k),
        cmocka_unit_test(test_top_p),
        cmocka_unit_test(test_min_p),
        cmocka_unit_test(test_typical_p),
        cmocka_unit_test(test_top_n_sigma),
        cmocka_unit_test(test_xtc),
        cmocka_unit_test(test_topk_uniform),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_large_cuts),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_cuts_after_typical_p),
        cmocka_unit_test(uniform_draws_revive_no_banned_token),
        cmocka_unit_test(xtc_happens_below_its_probability),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
