#include "train/data/utf16.h"

#include "model/base/err.h"

#include <inttypes.h>
#include <string.h>
#include <utf8proc.h>

bool utf16_has_mark(const char *text, size_t n)
{
    return n >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
}

void utf16_begin(struct utf16 *u, const char *mark)
{
    *u = (struct utf16){.on = true, .big = mark[0] == '\xfe', .at = 2};
}

static unsigned read_unit(const struct utf16 *u, const unsigned char *p)
{
    return u->big ? (unsigned)p[0] << 8 | p[1] : (unsigned)p[1] << 8 | p[0];
}

static bool is_high_surrogate(unsigned unit)
{
    return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low_surrogate(unsigned unit)
{
    return unit >= 0xdc00 && unit < 0xe000;
}

/* The character in u->rest, which is whole. */
static int add_character(struct utf16 *u, struct buf *out, const char *name)
{
    unsigned unit = read_unit(u, u->rest);
    unsigned low = u->n_rest == 4 ? read_unit(u, u->rest + 2) : 0;
    utf8proc_uint8_t bytes[4];
    if (is_low_surrogate(unit) || (is_high_surrogate(unit) && !is_low_surrogate(low)))
        return err_set(ERR_FORMAT,
                       "%s begins as UTF-16 and is none: byte %" PRIu64
                       " begins half a surrogate pair",
                       name, u->at);
    if (is_high_surrogate(unit))
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    u->at += u->n_rest;
    u->n_rest = 0;
    return buf_add(out, bytes, (size_t)utf8proc_encode_char((utf8proc_int32_t)unit, bytes));
}

int utf16_decode(struct utf16 *u, struct buf *out, const char *name, const char *bytes, size_t n,
                 bool ends)
{
    int rc = buf_reserve(out, n / 2 * 3 + 4);
    for (size_t i = 0; i < n && rc == 0; i++) {
        u->rest[u->n_rest++] = (unsigned char)bytes[i];
        if (u->n_rest == 4 || (u->n_rest == 2 && !is_high_surrogate(read_unit(u, u->rest))))
            rc = add_character(u, out, name);
    }
    if (rc == 0 && ends && u->n_rest > 0)
        rc = err_set(ERR_FORMAT,
                     "%s begins as UTF-16 and is none: it ends in the middle of the character at "
                     "byte %" PRIu64,
                     name, u->at);
    return rc;
}
