#ifndef PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_VALUE_H
#define PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_VALUE_H
/* Values that are no objects or arrays with members of their own, as a schema describes them. Each
 * function appends to the rule that is being written. */
#include "sampling/schema/json_schema_rules.h"

#include <stdint.h>

/* The value of a keyword that counts, or `otherwise`. */
size_t json_schema_count(const json_t *schema, const char *keyword, size_t otherwise);

/* name as JSON, a colon and what may follow it. */
int json_name_grammar(struct buf *out, const char *name);
/* Alternatives: the values of enum and const that type allows. ERR_UNSUPPORTED: there is none, or
 * another keyword speaks of one. */
int json_schema_enum_grammar(struct json_schema_rules *r, const json_t *schema);
/* Whether it has enum or const, and no value of these is allowed. */
bool json_schema_enum_is_empty(const json_t *schema);
/* A string of minLength, maxLength, pattern and format. */
int json_schema_string_grammar(struct json_schema_rules *r, const json_t *schema);
/* Whether a string of this format is held to it. */
bool json_schema_format_is_known(const char *format);
/* Alternatives: integers of minimum and the like. */
int json_schema_integer_grammar(struct json_schema_rules *r, const json_t *schema);
/* A number. ERR_UNSUPPORTED: minimum or the like is there. */
int json_schema_number_grammar(struct json_schema_rules *r, const json_t *schema);

#endif
