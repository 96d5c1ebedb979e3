#ifndef PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_NAME_H
#define PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_NAME_H
/* Names of members that are none of some. */
#include "model/base/buf.h"

/*
 * Append rules for the JSON strings that are none of the n names: RULE--name, and more for what
 * follows a beginning that a name has too. There a text has no escapes, which could spell the name.
 * They need a rule `char`: a character of a JSON string, or its escape. names are sorted.
 */
int other_name_grammar(struct buf *out, const char *rule, const char **names, size_t n);

#endif
