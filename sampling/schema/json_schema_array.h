#ifndef PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_ARRAY_H
#define PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_ARRAY_H
/* Arrays of prefixItems, items, minItems and maxItems. */
#include "sampling/schema/json_schema_rules.h"

/* Append to the rule that is being written. ERR_RANGE: no length is left, or too great a one must
 * be counted. */
int json_schema_array_grammar(struct json_schema_rules *r, const json_t *schema);

#endif
