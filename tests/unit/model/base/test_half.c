/* Conversions between fp32 and the 16-bit formats, against arithmetic on the bits. */
#include "tests/lib/test.h"

#include "model/base/half.h"

#include <math.h>
#include <stdbool.h>

/* Every binary16 value, and the neighbourhood of every tie. */
static void halves_round_to_nearest_even(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = half_to_f32((uint16_t)h);
        bool nan = (h & 0x7fff) > 0x7c00;
        assert_int_equal(isnan(f) != 0, nan);
        if (nan) {
            assert_true((half_from_f32(f) & 0x7fff) > 0x7c00);
            continue;
        }
        double value = ldexp((h & 0x3ff) + ((h & 0x7c00) != 0 ? 1024 : 0),
                             (int)((h >> 10 & 31) == 0 ? 1 : h >> 10 & 31) - 25);
        if ((h & 0x7fff) != 0x7c00)
            assert_true((double)fabsf(f) == value);
        assert_int_equal(half_from_f32(f), h);
        if ((h & 0x7fff) >= 0x7bff)
            continue;
        float next = half_to_f32((uint16_t)(h + 1)), tie = (f + next) / 2;
        assert_int_equal(half_from_f32(tie), h % 2 == 0 ? h : h + 1);
        assert_int_equal(half_from_f32(nextafterf(tie, f)), h);
        assert_int_equal(half_from_f32(nextafterf(tie, next)), h + 1);
    }
    assert_int_equal(half_from_f32(65519.996f), 0x7bff);
    assert_int_equal(half_from_f32(65520.0f), 0x7c00);
    assert_int_equal(half_from_f32(-1e30f), 0xfc00);
    assert_int_equal(half_from_f32(1e-30f), 0);
    assert_int_equal(bf16_from_f32(1.00390625f), 0x3f80); /* a tie, to even */
    assert_int_equal(bf16_from_f32(1.01171875f), 0x3f82);
    assert_true(isnan(bf16_to_f32(bf16_from_f32(NAN))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_round_to_nearest_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
