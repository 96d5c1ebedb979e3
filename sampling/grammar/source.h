#ifndef PRATTLE_SAMPLING_GRAMMAR_SOURCE_H
#define PRATTLE_SAMPLING_GRAMMAR_SOURCE_H
/* What the setting `grammar` may be. */
#include "sampling/grammar/grammar.h"

/*
 * text, not empty:
 *   "json"         any JSON object
 *   {...           a JSON schema (json_schema.h)
 *   ... ::= ...    a grammar (grammar.h)
 *   else           a file with a schema or a grammar, of at most 1 MiB
 * ERR_FORMAT, ERR_RANGE, ERR_UNSUPPORTED, ERR_MISSING, ERR_IO: what is wrong with it, and where.
 */
int grammar_load(struct grammar **out, const char *text);
/* The i-th such word, "json"; NULL past the last. */
const char *grammar_word(int i);

#endif
