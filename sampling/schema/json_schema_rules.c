#include "sampling/schema/json_schema_rules.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "sampling/schema/gbnf.h"
#include "sampling/schema/json_schema_keywords.h"

#include <stdlib.h>
#include <string.h>

enum { KEY = 32, HINT = 32, RULES_MOST = 20000 };

enum plain_rule {
    VALUE,
    OBJECT,
    MEMBER,
    ARRAY,
    STRING,
    CHAR,
    NUMBER,
    INTEGER,
    BOOLEAN,
    NOTHING,
    DATE,
    TIME,
    DATE_TIME,
    DATE_PART,
    TIME_PART,
    UUID,
    SPACE,
    PLAIN
};

static const struct {
    const char *name;
    unsigned needs;
    const char *body;
} plain[PLAIN] = {
    [VALUE] = {"value",
               1 << OBJECT | 1 << ARRAY | 1 << STRING | 1 << NUMBER | 1 << BOOLEAN | 1 << NOTHING,
               "object | array | string | number | boolean | null"},
    [OBJECT] = {"object", 1 << MEMBER | 1 << SPACE,
                "\"{\" space (member (\",\" space member)*)? \"}\""},
    [MEMBER] = {"member", 1 << STRING | 1 << VALUE | 1 << SPACE, "string \":\" space value"},
    [ARRAY] = {"array", 1 << VALUE | 1 << SPACE, "\"[\" space (value (\",\" space value)*)? \"]\""},
    [STRING] = {"string", 1 << CHAR, "\"\\\"\" char* \"\\\"\""},
    [CHAR] = {"char", 0,
              "[^\"\\\\\\x00-\\x1f\\x7f] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" ([0-9a-cefA-CEF] "
              "[0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2} | [dD] [89abAB] [0-9a-fA-F]{2} "
              "\"\\\\u\" [dD] [c-fC-F] [0-9a-fA-F]{2}))"},
    [NUMBER] = {"number", 1 << INTEGER, "integer (\".\" [0-9]{1,16})? ([eE] [+\\-]? [0-9]{1,2})?"},
    [INTEGER] = {"integer", 0, "\"-\"? (\"0\" | [1-9] [0-9]{0,15})"},
    [BOOLEAN] = {"boolean", 0, "\"true\" | \"false\""},
    [NOTHING] = {"null", 0, "\"null\""},
    [DATE] = {"date", 1 << DATE_PART, "\"\\\"\" date-part \"\\\"\""},
    [TIME] = {"time", 1 << TIME_PART, "\"\\\"\" time-part \"\\\"\""},
    [DATE_TIME] = {"date-time", 1 << DATE_PART | 1 << TIME_PART,
                   "\"\\\"\" date-part \"T\" time-part \"\\\"\""},
    [DATE_PART] =
        {"date-part", 0,
         "[0-9]{4} \"-\" ((\"0\" [13578] | \"1\" [02]) \"-\" (\"0\" [1-9] | [12] [0-9] | "
         "\"3\" [01]) | (\"0\" [469] | \"11\") \"-\" (\"0\" [1-9] | [12] [0-9] | \"30\") | "
         "\"02-\" (\"0\" [1-9] | \"1\" [0-9] | \"2\" [0-8])) | "
         "([0-9]{2} (\"0\" [48] | [2468] [048] | [13579] [26]) | "
         "([02468] [048] | [13579] [26]) \"00\") \"-02-29\""},
    [TIME_PART] = {"time-part", 0,
                   "([01] [0-9] | \"2\" [0-3]) \":\" [0-5] [0-9] \":\" [0-5] [0-9] "
                   "(\".\" [0-9]{1,6})? (\"Z\" | [+\\-] ([01] [0-9] | \"2\" [0-3]) \":\" [0-5] "
                   "[0-9])"},
    [UUID] = {"uuid", 0,
              "\"\\\"\" [0-9a-fA-F]{8} \"-\" ([0-9a-fA-F]{4} \"-\"){3} [0-9a-fA-F]{12} \"\\\"\""},
    [SPACE] = {"space", 0, "\" \"?"},
};

static int refuse_memory(void)
{
    return err_set(ERR_NOMEM, "no memory for the rules of a schema");
}

static int reserve_rules(void **list, size_t *cap, size_t n, size_t size)
{
    if (n < *cap)
        return 0;
    const size_t cap_new = *cap == 0 ? 16 : 2 * *cap;
    void *grown = mem_grow(*list, *cap * size, cap_new * size);
    if (grown == NULL)
        return ERR_NOMEM;
    *list = grown;
    *cap = cap_new;
    return 0;
}

/* Letters and digits of hint, with a hyphen where there is something else between them; two hyphens
 * are left to rules that belong to another. */
static void make_name(char *out, const char *hint)
{
    size_t n = 0;
    for (; *hint != '\0' && n < HINT; hint++) {
        const bool plain_letter = (*hint >= 'a' && *hint <= 'z') ||
                                  (*hint >= 'A' && *hint <= 'Z') || (*hint >= '0' && *hint <= '9');
        if (plain_letter)
            out[n++] = *hint;
        else if (n > 0 && out[n - 1] != '-')
            out[n++] = '-';
    }
    while (n > 0 && out[n - 1] == '-')
        n--;
    out[n] = '\0';
    if (n == 0)
        strcpy(out, "part");
}

/* Its number, in *i. */
static int add_rule(struct json_schema_rules *r, size_t *i, const json_t *schema, const char *hint)
{
    char name[RULE_NAME], key[KEY];
    if (r->n >= RULES_MOST)
        return err_set(ERR_RANGE, "the schema needs a grammar of more than %d rules", RULES_MOST);
    int rc = reserve_rules((void **)&r->list, &r->cap, r->n, sizeof *r->list);
    if (rc != 0)
        return rc;
    make_name(name, hint);
    const size_t n = strlen(name);
    for (size_t k = r->n; json_object_get(r->names, name) != NULL; k++)
        snprintf(name + n, sizeof name - n, "-%zu", k);
    struct json_schema_rule *rule = &r->list[r->n];
    *rule = (struct json_schema_rule){.schema = schema};
    memcpy(rule->name, name, sizeof name);
    snprintf(key, sizeof key, "%p", (const void *)schema);
    *i = r->n++;
    if (json_object_set_new(r->names, name, json_true()) != 0 ||
        json_object_set_new(r->by_schema, key, json_integer((json_int_t)*i)) != 0)
        return refuse_memory();
    return 0;
}

int json_schema_rules_init(struct json_schema_rules *r, struct json_schema_tree *tree)
{
    size_t i;
    *r = (struct json_schema_rules){
        .tree = tree, .by_schema = json_object(), .names = json_object()};
    int rc = r->by_schema == NULL || r->names == NULL ? refuse_memory() : 0;
    for (i = 0; i < PLAIN && rc == 0; i++)
        if (json_object_set_new(r->names, plain[i].name, json_true()) != 0)
            rc = refuse_memory();
    if (rc == 0)
        rc = add_rule(r, &i, tree->whole, "root");
    if (rc != 0)
        json_schema_rules_release(r);
    return rc;
}

void json_schema_rules_release(struct json_schema_rules *r)
{
    json_decref(r->by_schema);
    json_decref(r->names);
    mem_free(r->list);
    mem_free(r->edges);
    buf_release(&r->line);
    buf_release(&r->after);
    *r = (struct json_schema_rules){0};
}

int json_schema_rules_refer_plain(struct json_schema_rules *r, struct buf *out, const char *name)
{
    for (unsigned i = 0; i < PLAIN; i++)
        if (strcmp(plain[i].name, name) == 0)
            r->used |= 1u << i;
    return buf_str(out, name);
}

/* The plain rule of a schema that says nothing but a type; NULL: it says more. */
static const char *find_plain(const json_t *schema)
{
    const char *name;
    const json_t *value, *type = json_object_get(schema, "type");
    json_object_foreach((json_t *)schema, name, value)
    {
        if (value != type && !json_schema_is_annotation(name))
            return NULL;
    }
    if (type == NULL)
        return json_is_false(schema) ? NULL : "value";
    return json_schema_type_of_name(json_string_value(type)) != 0 ? json_string_value(type) : NULL;
}

/* What a schema that says nothing but $ref names; *hint becomes the last part of its pointer. */
static int follow_all(struct json_schema_rules *r, const json_t **schema, const char **hint)
{
    int rc = 0;
    const json_t *from = *schema;
    for (int i = 0; rc == 0 && json_schema_is_reference(*schema); i++) {
        const char *text = json_string_value(json_object_get(*schema, "$ref"));
        if (i == SCHEMA_DEPTH)
            return json_schema_refuse(r->tree, from, "$ref", ERR_UNSUPPORTED,
                                      "leads back to itself, or through more than %d others",
                                      SCHEMA_DEPTH);
        if ((rc = json_schema_check(r->tree, *schema)) == 0 &&
            (rc = json_schema_follow(r->tree, schema, *schema)) == 0 && strrchr(text, '/') != NULL)
            *hint = strrchr(text, '/') + 1;
    }
    return rc;
}

static int refer(struct json_schema_rules *r, struct buf *out, const json_t *schema,
                 const char *hint, bool first)
{
    char key[KEY];
    size_t i;
    int rc = follow_all(r, &schema, &hint);
    if (rc != 0)
        return rc;
    if (json_is_false(schema))
        return json_schema_refuse(r->tree, schema, NULL, ERR_UNSUPPORTED,
                                  "has a part that is false, which leaves no value");
    const char *name = find_plain(schema);
    if (name != NULL)
        return json_schema_rules_refer_plain(r, out, name);
    snprintf(key, sizeof key, "%p", (const void *)schema);
    const json_t *known = json_object_get(r->by_schema, key);
    i = (size_t)json_integer_value(known);
    if (known == NULL && (rc = add_rule(r, &i, schema, hint)) != 0)
        return rc;
    if (first) {
        rc = reserve_rules((void **)&r->edges, &r->edge_cap, r->n_edges, sizeof *r->edges);
        if (rc != 0)
            return rc;
        r->edges[r->n_edges++] = (struct rule_edge){r->at, i};
    }
    return buf_str(out, r->list[i].name);
}

int json_schema_rules_refer(struct json_schema_rules *r, struct buf *out, const json_t *schema,
                            const char *hint)
{
    return refer(r, out, schema, hint, false);
}

int json_schema_rules_refer_first(struct json_schema_rules *r, const json_t *schema,
                                  const char *hint)
{
    return refer(r, &r->line, schema, hint, true);
}

int json_schema_rules_add_times(struct json_schema_rules *r, struct buf *out, size_t least,
                                size_t most, size_t parts, const json_t *schema,
                                const char *keyword)
{
    const size_t count = most == GBNF_OPEN ? least : most;
    if (count > RULE_COUNT_MOST)
        return json_schema_refuse(
            r->tree, schema, keyword, ERR_RANGE, "is %lld, and a grammar counts to %d at most",
            json_integer_value(json_object_get(schema, keyword)), RULE_COUNT_MOST);
    r->copies += count * parts;
    return gbnf_add_times(out, least, most);
}

int json_schema_rules_add_plain(const struct json_schema_rules *r, struct buf *out)
{
    unsigned used = r->used | (strstr(buf_text(out), " space") != NULL ? 1u << SPACE : 0);
    int rc = 0;
    for (unsigned before = 0; before != used;) {
        before = used;
        for (unsigned i = 0; i < PLAIN; i++)
            used |= used & 1u << i ? plain[i].needs : 0;
    }
    for (unsigned i = 0; i < PLAIN && rc == 0; i++)
        if (used & 1u << i)
            rc = buf_printf(out, "%s ::= %s\n", plain[i].name, plain[i].body);
    return rc;
}

/* Rules that begin with no other are taken away, and those that then do not, until none is left, or
 * those of a circle. */
int json_schema_rules_check(struct json_schema_rules *r)
{
    size_t *begins = mem_array(r->n + 1, sizeof *begins);
    if (begins == NULL)
        return ERR_NOMEM;
    for (size_t e = 0; e < r->n_edges; e++)
        begins[r->edges[e].from]++;
    bool changed = r->n_edges > 0;
    while (changed) {
        changed = false;
        for (size_t e = 0; e < r->n_edges; e++) {
            struct rule_edge *edge = &r->edges[e];
            if (edge->to < r->n && begins[edge->to] == 0) {
                begins[edge->from]--;
                edge->to = r->n;
                changed = true;
            }
        }
    }
    size_t i = 0;
    while (i < r->n && begins[i] == 0)
        i++;
    mem_free(begins);
    if (i == r->n)
        return 0;
    r->tree->origin = r->list[i].schema;
    return json_schema_refuse(r->tree, r->list[i].schema, NULL, ERR_UNSUPPORTED,
                              "leads back to itself with no object or array between");
}
