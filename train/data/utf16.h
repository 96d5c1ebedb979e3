#ifndef PRATTLE_TRAIN_DATA_UTF16_H
#define PRATTLE_TRAIN_DATA_UTF16_H
/*
 * UTF-16 as UTF-8, in pieces of any size (RFC 2781, RFC 3629).
 */
#include "model/base/buf.h"

#include <stdint.h>

struct utf16 {
    bool on, big;          /* there was a byte order mark; of which kind */
    uint64_t at;           /* the byte of the text at which `rest` begins */
    unsigned char rest[4]; /* the beginning of a character */
    size_t n_rest;
};

/* Whether n bytes begin with a byte order mark. */
bool utf16_has_mark(const char *text, size_t n);
/* A text that begins with one, which is no part of it. */
void utf16_begin(struct utf16 *u, const char *mark);
/*
 * Append n bytes more as UTF-8; ends: there are no more. ERR_FORMAT: half a surrogate pair, or an
 * end in the middle of a character, named after `name`.
 */
int utf16_decode(struct utf16 *u, struct buf *out, const char *name, const char *bytes, size_t n,
                 bool ends);

#endif
