#include "tests/lib/events.h"

#include "model/base/crc32c.h"
#include "model/base/little_endian.h"
#include "tests/lib/test.h"

static uint64_t read_varint(const unsigned char **p)
{
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        unsigned char c = *(*p)++;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return v;
    }
}

static void decode_event(const unsigned char *p, const unsigned char *end, struct seen *s,
                         int depth)
{
    while (p < end) {
        uint64_t key = read_varint(&p), n;
        unsigned field = (unsigned)(key >> 3);
        switch (key & 7) {
        case 0:
            n = read_varint(&p);
            if (depth == 0 && field == 2)
                s->step = (int64_t)n;
            break;
        case 1:
            if (depth == 0 && field == 1)
                memcpy(&s->wall_s, p, 8);
            p += 8;
            break;
        case 2:
            n = read_varint(&p);
            assert_true(p + n <= end);
            if (depth == 0 && field == 3)
                memcpy(s->version, p, n);
            else if (depth == 2 && field == 1)
                memcpy(s->tag, p, n);
            else if (depth == 0 && field == 7)
                s->start = n == 2 && p[0] == 0x08 && p[1] == 1;
            else if ((depth == 0 && field == 5) || (depth == 1 && field == 1))
                decode_event(p, p + n, s, depth + 1);
            else
                fail_msg("field %u at depth %d", field, depth);
            p += n;
            break;
        case 5:
            if (depth == 2 && field == 2)
                memcpy(&s->value, p, 4);
            p += 4;
            break;
        default:
            fail_msg("wire type %d", (int)(key & 7));
        }
    }
    assert_ptr_equal(p, end);
}

const unsigned char *event_read(const unsigned char *p, struct seen *s)
{
    uint64_t n = le_at(p, 8);
    assert_int_equal(le_at(p + 8, 4), crc32c_masked(p, 8));
    assert_int_equal(le_at(p + 12 + n, 4), crc32c_masked(p + 12, n));
    *s = (struct seen){0};
    decode_event(p + 12, p + 12 + n, s, 0);
    return p + 16 + n;
}
