#include "model/base/xxh64.h"
#include "tests/lib/test.h"

static void the_checksums_are_those_of_the_specification(void **state)
{
    static const struct {
        const char *text;
        uint64_t sum;
    } cases[] = {
        {"", 0xef46db3751d8e999u},
        {"a", 0xd24ec4f1a98c6e5bu},
        {"as", 0x1c330fb2d66be179u},
        {"asd", 0x631c37ce72a97393u},
        {"asdf", 0x415872f599cea71eu},
        {"Call me Ishmael. Some years ago--never mind how long precisely-", 0x02a2e85470d6fd96u},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(xxh64(cases[i].text, strlen(cases[i].text)) == cases[i].sum);
}

/* At any address and of any length. */
static void each_bit_counts(void **state)
{
    unsigned char bytes[101] = {0};
    (void)state;
    for (size_t n = 1; n <= 100; n++)
        for (size_t from = 0; from + n <= sizeof bytes && from < 2; from++) {
            const uint64_t sum = xxh64(bytes + from, n);
            for (size_t bit = 0; bit < 8 * n; bit++) {
                bytes[from + bit / 8] ^= (unsigned char)(1 << bit % 8);
                assert_true(xxh64(bytes + from, n) != sum);
                bytes[from + bit / 8] ^= (unsigned char)(1 << bit % 8);
            }
            assert_true(xxh64(bytes + from, n) == sum);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checksums_are_those_of_the_specification),
        cmocka_unit_test(each_bit_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
