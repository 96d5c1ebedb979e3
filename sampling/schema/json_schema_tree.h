#ifndef PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_TREE_H
#define PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_TREE_H
/* The schemas of one document: where they are, their keywords, and what their references name. */
#include <jansson.h>
#include <stdbool.h>

enum { SCHEMA_DEPTH = 200, SCHEMA_WORK = 200000 };

struct json_schema_tree {
    const json_t *whole;  /* the document */
    const json_t *origin; /* errors of schemas that are not in it name its place */
    json_t *made;         /* these schemas, a list */
    json_t *pairs;        /* their places in that list, by the two schemas they unite */
    size_t work;
};

/* The document stays the caller's. ERR_RANGE: it is nested too deep. */
int json_schema_tree_init(struct json_schema_tree *t, const json_t *whole);
void json_schema_tree_release(struct json_schema_tree *t);

/* Set an error of a keyword of this schema, or, with keyword NULL, of the schema: `"KEYWORD" at
 * #/POINTER ` and the text. Returns code. */
int json_schema_refuse(const struct json_schema_tree *t, const json_t *schema, const char *keyword,
                       int code, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Put `"KEYWORD" at #/POINTER: ` before the current error. Returns its code. */
int json_schema_wrap(const struct json_schema_tree *t, const json_t *schema, const char *keyword);

/* Whether a schema says nothing but $ref, annotations aside. */
bool json_schema_is_reference(const json_t *schema);
/* What $ref of this schema names. */
int json_schema_follow(const struct json_schema_tree *t, const json_t **target,
                       const json_t *schema);
/* Check the keywords of a schema that is an object. ERR_UNSUPPORTED: one is not supported;
 * ERR_RANGE: one has a wrong value, or more than SCHEMA_WORK schemas, keywords and values were
 * checked. */
int json_schema_check(struct json_schema_tree *t, const json_t *schema);

#endif
