/* What sequences of bytes a set of characters becomes, against utf8proc, character by character. */
#include "tests/lib/test.h"

#include "model/base/rng.h"
#include "sampling/grammar/byte_ranges.h"

#include <utf8proc.h>

enum { N = CHARACTER_MAX + 1 };
static unsigned char wanted[N], found[N];

/* All characters that a sequence spells; each must be one, and new. */
static int note_sequence(void *user, const struct byte_ranges *r)
{
    int *sequences = user;
    unsigned char bytes[4];
    ++*sequences;
    assert_in_range(r->n, 1, 4);
    memcpy(bytes, r->low, 4);
    for (int at = 0; at >= 0;) {
        utf8proc_int32_t c;
        assert_int_equal(utf8proc_iterate(bytes, r->n, &c), r->n);
        assert_int_equal(found[c]++, 0);
        for (at = r->n - 1; at >= 0 && bytes[at] == r->high[at]; at--)
            bytes[at] = r->low[at];
        if (at >= 0)
            bytes[at]++;
    }
    return 0;
}

static void check_set(struct char_set *set, bool inverted)
{
    int sequences = 0;
    assert_ok(char_set_close(set, inverted));
    memset(found, 0, sizeof found);
    assert_ok(byte_ranges_each(set, note_sequence, &sequences));
    for (uint32_t c = 0; c < N; c++) {
        const bool real = c < 0xd800 || c > 0xdfff;
        if (found[c] != (real && wanted[c] != inverted))
            fail_msg("U+%04X: %d", (unsigned)c, found[c]);
    }
    assert_true((size_t)sequences >= char_set_size(set));
    char_set_release(set);
}

static void all_and_none(void **state)
{
    (void)state;
    struct char_set set = {0};
    int sequences = 0;
    memset(wanted, 0, sizeof wanted);
    check_set(&set, false);
    assert_ok(char_set_close(&set, true));
    assert_ok(byte_ranges_each(&set, note_sequence, &sequences));
    assert_int_equal(sequences, 9); /* as in table 3-7 of Unicode */
    char_set_release(&set);
    check_set(&set, true);
}

/* Ends of ranges lie beside those of UTF-8's lengths and blocks, and anywhere. */
static void random_sets(void **state)
{
    (void)state;
    static const uint32_t edges[] = {0,      0x7f,   0x80,   0x7ff,   0x800,    0xfff,   0x1000,
                                     0xd7ff, 0xd800, 0xdfff, 0xe000,  0xffff,   0x10000, 0x3ffff,
                                     0x40,   0x3f,   0xbf,   0x10000, 0x10ffff, 0xfffff, 0x100000};
    for (uint64_t trial = 0; trial < 60; trial++) {
        struct char_set set = {0};
        uint32_t w[4], ends[2];
        memset(wanted, 0, sizeof wanted);
        for (uint64_t i = 0; i <= trial % 5; i++) {
            rng_words(w, 7, trial, i);
            for (int e = 0; e < 2; e++) {
                const uint32_t edge = edges[w[e] % (sizeof edges / sizeof *edges)];
                const uint32_t near = edge + w[2 + e] % 5 < 2 ? 0 : edge + w[2 + e] % 5 - 2;
                ends[e] = (w[e] >> 16) % 3 == 0 ? w[2 + e] % N : near < N ? near : N - 1;
            }
            const uint32_t low = ends[0] < ends[1] ? ends[0] : ends[1],
                           high = ends[0] < ends[1] ? ends[1] : ends[0];
            memset(wanted + low, 1, high - low + 1);
            assert_ok(char_set_add(&set, low, high));
        }
        check_set(&set, trial % 2 == 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_and_none),
        cmocka_unit_test(random_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
