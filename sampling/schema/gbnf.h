#ifndef PRATTLE_SAMPLING_SCHEMA_GBNF_H
#define PRATTLE_SAMPLING_SCHEMA_GBNF_H
/* Parts of a grammar as GBNF text. */
#include "model/base/buf.h"

#include <stdint.h>

#define GBNF_OPEN SIZE_MAX /* the most times, where there is no most */

/* Append text [n] as a literal. */
int gbnf_add_literal(struct buf *out, const char *text, size_t n);
/* Append "*", "+", "?", "{m}", "{m,}" or "{m,n}"; nothing for once. */
int gbnf_add_times(struct buf *out, size_t least, size_t most);
/* How many elements a grammar has: characters of literals, classes, names of rules. Repetitions
 * count once. */
size_t gbnf_elements(const char *text);
/* Append one character of a class. */
int gbnf_add_class_character(struct buf *out, uint32_t c);

#endif
