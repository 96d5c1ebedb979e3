#ifndef PRATTLE_SAMPLING_GRAMMAR_GRAMMAR_PARSE_H
#define PRATTLE_SAMPLING_GRAMMAR_GRAMMAR_PARSE_H
/*
 * Grammars as text: GBNF, the notation of llama.cpp.
 *
 *   root   ::= answer ("," " "? answer)*      # what a text must be; comments begin with #
 *   answer ::= "yes" | "no" | [0-9]{1,3}
 *
 * "text" and classes of characters [a-z], [^"\\], or . for any; groups; | between alternatives; and
 * behind an item * + ? {m} {m,} {,n} {m,n}. Escapes: \n \r \t \\ \" \[ \] \- \^ \xNN \uNNNN
 * \UNNNNNNNN. A rule ends with its line, but not within a group or behind ::= and |. Names are of
 * a-z, A-Z, 0-9 and -.
 *
 * Of left recursion (a rule that begins with itself) a matcher that goes from left to right finds
 * no end: it is refused. So is a grammar that no text matches, since each would go on for ever; an
 * alternative of that kind is left out.
 */
#include "sampling/grammar/grammar.h"

#include <stddef.h>

/* At most; ERR_RANGE says so. */
enum { GRAMMAR_ELEMENTS = 1 << 16, GRAMMAR_DEPTH = 128 /* groups in groups */ };

/* The grammar of a text [n]. ERR_FORMAT: what is wrong, with its line; ERR_RANGE, ERR_NOMEM. *out
 * is then NULL. */
int grammar_parse(struct grammar **out, const char *text, size_t n);

#endif
