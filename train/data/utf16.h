#ifndef PRATTLE_TRAIN_DATA_UTF16_H
#define PRATTLE_TRAIN_DATA_UTF16_H
/*
 * Conversion of UTF-16 to UTF-8 (RFC 2781, RFC 3629), in parts of any size.
 */
#include "model/base/buf.h"

#include <stdint.h>

struct utf16 {
    bool on, big;          /* there was a byte order mark; it was big-endian */
    uint64_t at;           /* position in the text at which `rest` begins */
    unsigned char rest[4]; /* the first bytes of an incomplete character */
    size_t n_rest;
};

/* Whether n bytes begin with a byte order mark. */
bool utf16_has_mark(const char *text, size_t n);
/* Begin a text with this byte order mark, which does not belong to the text. */
void utf16_begin(struct utf16 *u, const char *mark);
/*
 * Append the next n bytes of the text as UTF-8; ends: they are the last. ERR_FORMAT: half a
 * surrogate pair, or an end in the middle of a character; the message names `name`.
 */
int utf16_decode(struct utf16 *u, struct buf *out, const char *name, const char *bytes, size_t n,
                 bool ends);

#endif
