#ifndef PRATTLE_SAMPLING_SCHEMA_CHARACTER_SET_H
#define PRATTLE_SAMPLING_SCHEMA_CHARACTER_SET_H
/* Sets of code points, as ranges, and how a JSON string spells their members. */
#include "model/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { CHARACTER_RANGES = 256 };

struct character_set {
    struct character_range {
        uint32_t first, last;
    } list[CHARACTER_RANGES + 8]; /* sorted, with gaps between them */
    size_t n;
};

/* ERR_RANGE: that would be more than CHARACTER_RANGES; the set is then unchanged. */
int character_set_add(struct character_set *s, uint32_t first, uint32_t last);
int character_set_add_all(struct character_set *s, const struct character_set *other);
int character_set_complement(struct character_set *s);
/* Each call may split a range, and the list has room for 8 more of them. */
void character_set_remove(struct character_set *s, uint32_t first, uint32_t last);
bool character_set_has(const struct character_set *s, uint32_t c);

/* Append what stands in a JSON string for c: itself, or its shortest escape. */
int character_spell(struct buf *out, uint32_t c);
/* Append the GBNF of one member as a JSON string has it. Of a set up to U+10FFFF, which is meant as
 * all but some, control characters are left out. *parts: how many alternatives that has; 0 where
 * there is no member, and nothing is appended. */
int character_set_grammar(struct buf *out, size_t *parts, const struct character_set *s);

#endif
