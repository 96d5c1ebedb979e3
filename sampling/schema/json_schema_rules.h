#ifndef PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_RULES_H
#define PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_RULES_H
/*
 * The rules of the grammar of a schema: each schema that is referred to gets one, which is written
 * in its turn, and those of plain types are there.
 */
#include "model/base/buf.h"
#include "sampling/schema/json_schema_tree.h"

enum { RULE_NAME = 48, RULE_COUNT_MOST = 4000, GRAMMAR_BYTES = 1 << 20 };

struct json_schema_rules {
    struct json_schema_tree *tree;
    struct buf line;  /* the rule that is being written */
    struct buf after; /* rules that belong to it */
    size_t copies;    /* elements that repetitions copy */
    struct json_schema_rule {
        const json_t *schema;
        char name[RULE_NAME];
    } * list;
    size_t n, cap;
    size_t at;            /* the one that is being written */
    char name[RULE_NAME]; /* of that one */
    json_t *by_schema;    /* numbers of rules */
    json_t *names;
    unsigned used; /* rules of plain types, by bits */
    struct rule_edge {
        size_t from, to; /* rules: one may begin with the other */
    } * edges;
    size_t n_edges, edge_cap;
};

/* The first rule is root's, of the whole document. */
int json_schema_rules_init(struct json_schema_rules *r, struct json_schema_tree *tree);
void json_schema_rules_release(struct json_schema_rules *r);

/* Append to out the name of the rule of this schema; hint is what to call it. ERR_UNSUPPORTED: the
 * schema is false, or refers to itself alone. */
int json_schema_rules_refer(struct json_schema_rules *r, struct buf *out, const json_t *schema,
                            const char *hint);
/* The same for a schema that is an alternative of the rule that is being written. */
int json_schema_rules_refer_first(struct json_schema_rules *r, const json_t *schema,
                                  const char *hint);
/* Append the name of a plain rule: "value", "object", "array", "string", "char", "number",
 * "integer", "boolean", "null", "date", "time", "date-time" or "uuid". */
int json_schema_rules_refer_plain(struct json_schema_rules *r, struct buf *out, const char *name);
/* Append how often an element of so many parts is repeated. ERR_RANGE: above RULE_COUNT_MOST; the
 * message has the schema's keyword. */
int json_schema_rules_add_times(struct json_schema_rules *r, struct buf *out, size_t least,
                                size_t most, size_t parts, const json_t *schema,
                                const char *keyword);
/* Append the plain rules that were referred to, and what these refer to. */
int json_schema_rules_add_plain(const struct json_schema_rules *r, struct buf *out);
/* ERR_UNSUPPORTED: a rule may begin with itself. */
int json_schema_rules_check(struct json_schema_rules *r);

#endif
