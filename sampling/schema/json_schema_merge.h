#ifndef PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_MERGE_H
#define PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_MERGE_H
/* Several schemas that must hold together as one. What is made lives as long as the tree. */
#include "sampling/schema/json_schema_tree.h"

/*
 * The schema as an object without $ref and allOf, its keywords checked; json_false() where no value
 * satisfies it. What it says beside them, and what they say, is merged. ERR_UNSUPPORTED: that
 * cannot be, or a keyword is not supported; ERR_RANGE: a keyword has a wrong value.
 */
int json_schema_resolve(struct json_schema_tree *t, const json_t **out, const json_t *schema);
/* A schema for what satisfies both; the same one for the same two. */
int json_schema_both(struct json_schema_tree *t, const json_t **out, const json_t *a,
                     const json_t *b);
/* The schema without annotations and without this keyword; *out is NULL where it says nothing else.
 */
int json_schema_without(struct json_schema_tree *t, const json_t **out, const json_t *schema,
                        const char *keyword);

#endif
