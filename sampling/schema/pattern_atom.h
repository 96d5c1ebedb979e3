#ifndef PRATTLE_SAMPLING_SCHEMA_PATTERN_ATOM_H
#define PRATTLE_SAMPLING_SCHEMA_PATTERN_ATOM_H
/* What stands for one code point in a regular expression (ECMA-262, in Unicode mode). */
#include "sampling/schema/character_set.h"

/* Read a character, ., an escape or a class, not at the pattern's end, into s, which is empty, and
 * move *at behind it. ERR_FORMAT: it is none of these; ERR_UNSUPPORTED: a backreference, a Unicode
 * property, \b, or an anchor. */
int pattern_read_atom(const char **at, struct character_set *s);

#endif
