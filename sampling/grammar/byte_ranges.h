#ifndef PRATTLE_SAMPLING_GRAMMAR_BYTE_RANGES_H
#define PRATTLE_SAMPLING_GRAMMAR_BYTE_RANGES_H
/*
 * Sets of characters, and how UTF-8 spells them: as sequences of ranges of bytes, so that what
 * reads a text byte by byte needs to know nothing of characters (Cox, "Regular Expression Matching
 * in the Wild", 2010).
 */
#include "model/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { CHARACTER_MAX = 0x10ffff };

/* Characters low .. high. */
struct char_range {
    uint32_t low, high;
};
/* A set of characters; zeroed it is empty. */
struct char_set {
    struct buf ranges; /* of struct char_range */
};
void char_set_release(struct char_set *s);
size_t char_set_size(const struct char_set *s); /* ranges */
/* low <= high <= CHARACTER_MAX. ERR_NOMEM. */
int char_set_add(struct char_set *s, uint32_t low, uint32_t high);
/* Sort and join the ranges, or, inverted, those of all other characters, and leave out surrogates,
 * which UTF-8 does not spell. ERR_NOMEM. */
int char_set_close(struct char_set *s, bool inverted);

/* Byte i of a character lies in low[i] .. high[i]. */
struct byte_ranges {
    unsigned char low[4], high[4];
    int n;
};
/* Call f for sequences that together spell the characters of a closed set, each once, in order. f
 * returns 0, or an error that ends it. */
int byte_ranges_each(const struct char_set *s, int (*f)(void *user, const struct byte_ranges *r),
                     void *user);

#endif
