/* Nodes in 16 bits: bfloat16's rounding, and that what is packed comes back. */
#include "tests/lib/test.h"

#include "train/step/half_partials.h"

#include <math.h>
#include <string.h>

enum { N = 1003 };

static float rounded(float x)
{
    half_partials_round(&x, 1);
    return x;
}

static void rounds_to_nearest_even(void **state)
{
    (void)state;
    const struct {
        float x, want;
    } cases[] = {
        {1, 1},
        {1 + 0x1p-7f, 1 + 0x1p-7f},
        {1 + 0x1p-8f, 1}, /* a tie, to even */
        {1 + 0x1p-8f + 0x1p-23f, 1 + 0x1p-7f},
        {1 + 3 * 0x1p-8f, 1 + 0x1p-6f},
        {-1 - 3 * 0x1p-8f, -1 - 0x1p-6f},
        {0x1p-100f, 0x1p-100f}, /* far below float16 */
        {0x1.fep-60f, 0x1.fep-60f},
        {0x1p-133f, 0x1p-133f}, /* the least bfloat16 */
        {0x1p-134f, 0},
        {70000, 70144},             /* above float16 */
        {0x1.fep127f, 0x1.fep127f}, /* the largest */
        {0x1.feffp127f, 0x1.fep127f},
        {0x1.ffp127f, INFINITY},
        {-INFINITY, -INFINITY},
        {0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(rounded(cases[i].x) == cases[i].want);
    assert_true(isnan(rounded(NAN)));
    assert_true(signbit(rounded(-0.0f)));
    const uint32_t low = 0x7f800001; /* a NaN of lower bits alone stays one */
    float x;
    memcpy(&x, &low, sizeof x);
    assert_true(isnan(rounded(x)));
}

/* For any length, and no element beside. */
static void what_is_packed_comes_back(void **state)
{
    (void)state;
    float x[N + 1], y[N + 1];
    uint16_t packed[N + 1];
    for (size_t n = 0; n <= N; n += n < 40 ? 1 : 321) {
        for (size_t i = 0; i <= N; i++)
            x[i] = y[i] = ldexpf(1.0f + (float)(i * 37 % 8191) / 8192, (int)(i % 200) - 100);
        packed[n] = 0xabcd;
        half_partials_pack(packed, x, n);
        assert_int_equal(packed[n], 0xabcd);
        const float beside = x[n];
        half_partials_round(x, n);
        assert_true(x[n] == beside);
        half_partials_unpack(y, packed, n);
        assert_memory_equal(x, y, sizeof x);
        for (size_t i = 0; i < n; i++)
            assert_true(fabsf(x[i] - ldexpf(1.0f + (float)(i * 37 % 8191) / 8192,
                                            (int)(i % 200) - 100)) <= 0x1p-8f * x[i]);
    }
}

static void float16_is_left_alone(void **state)
{
    (void)state;
    assert_true(half_partials_of(true, DTYPE_F32));
    assert_false(half_partials_of(false, DTYPE_F32));
    assert_false(half_partials_of(true, DTYPE_F16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_to_nearest_even),
        cmocka_unit_test(what_is_packed_comes_back),
        cmocka_unit_test(float16_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
