#ifndef PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_OBJECT_H
#define PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_OBJECT_H
/* Objects of properties, required, additionalProperties, minProperties and maxProperties. */
#include "sampling/schema/json_schema_rules.h"

/* Append to the rule that is being written. ERR_UNSUPPORTED: the number of members cannot be kept,
 * or nothing is left. */
int json_schema_object_grammar(struct json_schema_rules *r, const json_t *schema);

#endif
