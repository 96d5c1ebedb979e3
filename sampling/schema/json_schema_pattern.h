#ifndef PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_PATTERN_H
#define PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_PATTERN_H
/*
 * Regular expressions (ECMA-262, in Unicode mode) as a grammar: characters, ., classes with \d \w
 * \s and their complements, groups, |, quantifiers, ^ and $ at the ends. \w and \d are ASCII.
 */
#include "model/base/buf.h"

enum { PATTERN_TIMES = 4000, PATTERN_PARTS = 20000 };

/* How many code points a text has. */
struct text_length {
    size_t least, most; /* most: GBNF_OPEN is any number */
};

/*
 * Append a sequence for what may stand between the quotes of a JSON string that pattern matches and
 * that has a length of `length`. It needs a rule `char`: a character of a JSON string, or its
 * escape. Control characters are matched where the pattern names them, and are escaped.
 *
 * parts    the elements of the sequence, copies of repetitions counted
 * returns  0, or ERR_FORMAT: no regular expression; ERR_UNSUPPORTED: beyond that, or it matches
 * texts of other lengths; ERR_RANGE: more than PATTERN_TIMES in a quantifier, than PATTERN_PARTS
 *          elements. What is in out by then stays there.
 */
int pattern_grammar(struct buf *out, size_t *parts, const char *pattern, struct text_length length);

#endif
