/* Random numbers: the published words, and normal numbers that are normal from any number on. */
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "model/base/rng.h"

#include <math.h>
#include <string.h>

/* Known answers of Random123's philox4x32-10. */
static void philox_gives_the_published_words(void **state)
{
    (void)state;
    uint32_t w[4];
    rng_words(w, 0, 0, 0);
    const uint32_t zero[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    assert_memory_equal(w, zero, sizeof w);
    rng_words(w, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    const uint32_t ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    assert_memory_equal(w, ones, sizeof w);
    rng_words(w, 0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88);
    const uint32_t pi[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    assert_memory_equal(w, pi, sizeof w);
}

/* The same bits on every machine: these were computed once. */
static void the_numbers_are_known(void **state)
{
    (void)state;
    static float x[1 << 16];
    rng_normals(x, 42, 7, 1000, 1 << 16);
    uint32_t bits, hash = 2166136261u;
    for (int i = 0; i < 1 << 16; i++) {
        memcpy(&bits, &x[i], sizeof bits);
        hash = (hash ^ bits) * 16777619u;
    }
    assert_int_equal(hash, 0xcd29879au);
}

static void any_part_reads_the_same(void **state)
{
    (void)state;
    enum { N = 5000 };
    static float whole[N], part[N];
    rng_normals(whole, 1, 2, 0, N);
    for (size_t first = 0; first < 700; first += 13)
        for (size_t n = 0; n < 600; n += 37) {
            memset(part, 0, sizeof part);
            rng_normals(part, 1, 2, first, n);
            assert_memory_equal(part, whole + first, n * sizeof *part);
            assert_true(part[n] == 0);
        }
    /* Far out, where a counter needs its upper word. */
    uint64_t far = ((uint64_t)1 << 40) - 100;
    rng_normals(whole, 1, 2, far, 200);
    rng_normals(part, 1, 2, far + 100, 100);
    assert_memory_equal(part, whole + 100, 100 * sizeof *part);
}

/* Mean, variance, skewness and kurtosis within five standard errors, the share below
 * some bounds, and no relation of a number to the ones computed with it. */
static void normals_are_normal(void **state)
{
    (void)state;
    enum { N = 1 << 21 };
    float *x = mem_array(N, sizeof *x);
    assert_non_null(x);
    rng_normals(x, 3, 0, 0, N);
    double m[5] = {0}, lag[4] = {0}, largest = 0;
    const double bound[] = {0.1, 0.5, 1, 2, 3},
                 share[] = {0.0796557, 0.3829249, 0.6826895, 0.9544997, 0.9973002};
    double below[5] = {0};
    const int lags[] = {1, 64, 128, 256};
    for (int i = 0; i < N; i++) {
        double v = x[i], power = 1;
        for (int k = 1; k < 5; k++)
            m[k] += power *= v;
        for (int k = 0; k < 5; k++)
            below[k] += fabs(v) < bound[k];
        for (int k = 0; k < 4; k++)
            lag[k] += i + lags[k] < N ? v * (double)x[i + lags[k]] : 0;
        largest = fmax(largest, fabs(v));
    }
    double e = 5 / sqrt(N);
    assert_true(fabs(m[1] / N) < e);
    assert_true(fabs(m[2] / N - 1) < e * sqrt(2));
    assert_true(fabs(m[3] / N) < e * sqrt(15));
    assert_true(fabs(m[4] / N - 3) < e * sqrt(96));
    for (int k = 0; k < 5; k++)
        assert_true(fabs(below[k] / N - share[k]) < e * sqrt(share[k] * (1 - share[k])));
    for (int k = 0; k < 4; k++)
        assert_true(fabs(lag[k] / N) < e);
    assert_true(largest > 4.5 && largest < 6.7);
    mem_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_words),
        cmocka_unit_test(the_numbers_are_known),
        cmocka_unit_test(any_part_reads_the_same),
        cmocka_unit_test(normals_are_normal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
