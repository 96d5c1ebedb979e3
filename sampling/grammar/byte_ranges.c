#include "sampling/grammar/byte_ranges.h"

#include <stdlib.h>
#include <utf8proc.h>

static const struct char_range surrogates = {0xd800, 0xdfff};

void char_set_release(struct char_set *s)
{
    buf_release(&s->ranges);
}

size_t char_set_size(const struct char_set *s)
{
    return s->ranges.n / sizeof(struct char_range);
}

static struct char_range *ranges_of(const struct char_set *s)
{
    return (struct char_range *)(void *)s->ranges.data;
}

int char_set_add(struct char_set *s, uint32_t low, uint32_t high)
{
    return buf_add(&s->ranges, &(struct char_range){low, high}, sizeof(struct char_range));
}

static int by_low(const void *a, const void *b)
{
    const struct char_range *x = a, *y = b;
    return x->low < y->low ? -1 : x->low > y->low;
}

/* Add what of low .. high is no surrogate. */
static int add_real(struct char_set *s, uint32_t low, uint32_t high)
{
    int rc = 0;
    if (low < surrogates.low)
        rc = char_set_add(s, low, high < surrogates.low ? high : surrogates.low - 1);
    if (rc == 0 && high > surrogates.high)
        rc = char_set_add(s, low > surrogates.high ? low : surrogates.high + 1, high);
    return rc;
}

int char_set_close(struct char_set *s, bool inverted)
{
    struct char_range *r = ranges_of(s);
    struct char_set out = {0};
    const size_t n = char_set_size(s);
    uint32_t next = 0; /* the first character behind the ranges so far */
    int rc = 0;
    if (n > 0)
        qsort(r, n, sizeof *r, by_low);
    for (size_t i = 0, j; i < n && rc == 0; i = j) {
        uint32_t high = r[i].high;
        for (j = i + 1; j < n && r[j].low <= high + 1; j++)
            high = r[j].high > high ? r[j].high : high;
        if (!inverted)
            rc = add_real(&out, r[i].low, high);
        else if (r[i].low > next)
            rc = add_real(&out, next, r[i].low - 1);
        next = high + 1;
    }
    if (inverted && next <= CHARACTER_MAX && rc == 0)
        rc = add_real(&out, next, CHARACTER_MAX);
    if (rc != 0) {
        char_set_release(&out);
        return rc;
    }
    char_set_release(s);
    *s = out;
    return 0;
}

static int utf8_length(uint32_t c)
{
    return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

/* The last character of the longest run from low on that one sequence spells: of one length, and
 * whose bytes after the first that differs run through all their values. */
static uint32_t run_end(uint32_t low, uint32_t high)
{
    static const uint32_t last_of[] = {0, 0x7f, 0x7ff, 0xffff, CHARACTER_MAX};
    const int n = utf8_length(low);
    if (high > last_of[n])
        high = last_of[n];
    for (uint32_t span = 0x40; span <= 0x40000 && n > 1; span <<= 6) {
        const uint32_t block_end = low | (span - 1);
        if (high <= block_end)
            return high; /* they differ within this block, of which the lower ones are whole */
        if ((low & (span - 1)) != 0)
            return block_end;
        if (high < (low | (span * 0x40 - 1))) /* whole blocks of this one, as many as there are */
            return (high & (span - 1)) == span - 1 ? high : (high & ~(span - 1)) - 1;
    }
    return high;
}

int byte_ranges_each(const struct char_set *s, int (*f)(void *user, const struct byte_ranges *r),
                     void *user)
{
    const struct char_range *list = ranges_of(s);
    for (size_t i = 0; i < char_set_size(s); i++)
        for (uint32_t low = list[i].low, end; low <= list[i].high; low = end + 1) {
            end = run_end(low, list[i].high);
            struct byte_ranges r = {.n = utf8_length(low)};
            utf8proc_encode_char((utf8proc_int32_t)low, r.low);
            utf8proc_encode_char((utf8proc_int32_t)end, r.high);
            const int rc = f(user, &r);
            if (rc != 0)
                return rc;
        }
    return 0;
}
