#include "sampling/schema/json_schema_integer.h"

#include "sampling/schema/gbnf.h"

#include <inttypes.h>

/* The numbers that have head before them (0: nothing), then a digit first..last, then `free` digits
 * of any kind. */
struct digit_block {
    uint64_t head;
    unsigned first, last;
    unsigned free;
};

/* The longest block that begins at `at` and ends at most there; its last number in *end. */
static struct digit_block find_block(uint64_t *end, uint64_t at, uint64_t most)
{
    struct digit_block b = {0};
    uint64_t unit = 1;
    while (at != 0 && at % (unit * 10) == 0 && most - at >= unit * 10 - 1) {
        unit *= 10;
        b.free++;
    }
    b.head = at / unit / 10;
    b.first = b.last = (unsigned)(at / unit % 10);
    *end = at + (unit - 1);
    while (b.last < 9 && most - *end >= unit) {
        b.last++;
        *end += unit;
    }
    return b;
}

static int add_block(struct buf *out, const struct digit_block *b, unsigned most_free)
{
    int rc = b->head != 0 ? buf_printf(out, "\"%" PRIu64 "\" ", b->head) : 0;
    if (rc == 0)
        rc = b->first == b->last ? buf_printf(out, "\"%u\"", b->first)
                                 : buf_printf(out, "[%u-%u]", b->first, b->last);
    if (rc == 0 && most_free != 0 && (rc = buf_str(out, " [0-9]")) == 0)
        rc = gbnf_add_times(out, b->free, most_free);
    return rc;
}

static bool has_all_digits(const struct digit_block *b)
{
    return b->head == 0 && b->first == 1 && b->last == 9;
}

/* Blocks of all numbers with so many digits, and of those with one more, are written as one. */
static int add_magnitudes(struct buf *out, uint64_t least, uint64_t most)
{
    int rc = 0;
    const char *before = "";
    for (uint64_t at = least, end; rc == 0 && at <= most; at = end + 1) {
        const struct digit_block b = find_block(&end, at, most);
        unsigned most_free = b.free;
        for (uint64_t next_end; has_all_digits(&b) && end < most; end = next_end, most_free++) {
            const struct digit_block next = find_block(&next_end, end + 1, most);
            if (!has_all_digits(&next))
                break;
        }
        if ((rc = buf_str(out, before)) == 0)
            rc = add_block(out, &b, most_free);
        before = " | ";
    }
    return rc;
}

int integer_range_grammar(struct buf *out, int64_t least, int64_t most)
{
    int rc = 0;
    if (least < 0) {
        const uint64_t from = most < 0 ? -(uint64_t)most : 1;
        if ((rc = buf_str(out, "\"-\" (")) == 0 &&
            (rc = add_magnitudes(out, from, -(uint64_t)least)) == 0)
            rc = buf_str(out, most >= 0 ? ") | " : ")");
    }
    if (rc == 0 && most >= 0)
        rc = add_magnitudes(out, least < 0 ? 0 : (uint64_t)least, (uint64_t)most);
    return rc;
}
