/*
 * Whether a JSON file is as a JSON Schema says, of which this knows a part (draft 2020-12).
 *
 *   schema_check SCHEMA FILE
 *
 * Prints what is wrong, status 1. A keyword that is not known is wrong in the schema: nothing of it
 * is passed over. Patterns are POSIX extended regular expressions.
 */
#include "model/base/err.h"
#include "model/base/json.h"

#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PATTERNS = 64, SHOWN = 200 };

static const json_t *root;
static struct pattern {
    const json_t *text;
    regex_t compiled;
} patterns[MAX_PATTERNS];
static int n_patterns;
static char why[512]; /* the last value did not fit */

static void fail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    putchar('\n');
    exit(1);
}

/* To another part of the same file. */
static const json_t *find_ref(const char *ref)
{
    static const char defs[] = "#/$defs/";
    const size_t n = sizeof defs - 1;
    const json_t *found = strncmp(ref, defs, n) == 0
                              ? json_object_get(json_object_get(root, "$defs"), ref + n)
                              : NULL;
    if (found == NULL)
        fail("the schema has no %s", ref);
    return found;
}

/* Compiled once. */
static const regex_t *find_pattern(const json_t *text)
{
    struct pattern *p = patterns;
    while (p < patterns + n_patterns && p->text != text)
        p++;
    if (p < patterns + n_patterns)
        return &p->compiled;
    if (++n_patterns > MAX_PATTERNS ||
        regcomp(&p->compiled, json_string_value(text), REG_EXTENDED | REG_NOSUB) != 0)
        fail("the schema has a wrong pattern or too many");
    p->text = text;
    return &p->compiled;
}

static bool is_of_type(const json_t *v, const char *type)
{
    const double x = json_number_value(v);
    if (strcmp(type, "object") == 0)
        return json_is_object(v);
    if (strcmp(type, "array") == 0)
        return json_is_array(v);
    if (strcmp(type, "string") == 0)
        return json_is_string(v);
    if (strcmp(type, "number") == 0)
        return json_is_number(v);
    if (strcmp(type, "integer") != 0)
        fail("the schema has an unknown type %s", type);
    return json_is_number(v) && x == floor(x);
}

/* ---- the schema itself ---- */

static const struct keyword {
    const char *name;
    json_type type;
    enum { PLAIN, SCHEMA, SCHEMAS, MEMBERS } holds;
} keywords[] = {{"$schema", JSON_STRING, PLAIN},      {"title", JSON_STRING, PLAIN},
                {"description", JSON_STRING, PLAIN},  {"$defs", JSON_OBJECT, MEMBERS},
                {"$ref", JSON_STRING, PLAIN},         {"type", JSON_STRING, PLAIN},
                {"const", JSON_NULL, PLAIN}, /* of any type */
                {"enum", JSON_ARRAY, PLAIN},          {"minimum", JSON_INTEGER, PLAIN},
                {"pattern", JSON_STRING, PLAIN},      {"required", JSON_ARRAY, PLAIN},
                {"properties", JSON_OBJECT, MEMBERS}, {"additionalProperties", JSON_FALSE, PLAIN},
                {"items", JSON_OBJECT, SCHEMA},       {"oneOf", JSON_ARRAY, SCHEMAS},
                {"anyOf", JSON_ARRAY, SCHEMAS}};

/* All of it, before a value is. */
static void check_schema(const json_t *schema)
{
    const char *name, *inner;
    json_t *v, *of;
    if (!json_is_object(schema))
        fail("the schema has something that is no schema");
    json_object_foreach((json_t *)schema, name, v)
    {
        const struct keyword *k = keywords, *end = k + sizeof keywords / sizeof *keywords;
        while (k < end && strcmp(k->name, name) != 0)
            k++;
        if (k == end)
            fail("the schema has an unknown keyword %s", name);
        if (k->type != JSON_NULL && k->type != json_typeof(v))
            fail("the schema has a wrong %s", name);
        if (k->holds == SCHEMA)
            check_schema(v);
        for (size_t i = 0; k->holds == SCHEMAS && i < json_array_size(v); i++)
            check_schema(json_array_get(v, i));
        if (k->holds == MEMBERS)
            json_object_foreach(v, inner, of) check_schema(of);
    }
}

/* ---- a value by it ---- */

static bool refuse(const char *at, const char *what, const json_t *v)
{
    struct buf text = {0};
    if (json_print(&text, v, JSON_ENCODE_ANY) != 0)
        fail("%s", err_text());
    snprintf(why, sizeof why, "%s: %s: %.*s", at, what, SHOWN, text.data);
    buf_release(&text);
    return false;
}

static bool fits(const json_t *v, const json_t *schema, const char *at);

static int count_fitting(const json_t *v, const json_t *schemas, const char *at)
{
    int n = 0;
    for (size_t i = 0; i < json_array_size(schemas); i++)
        n += fits(v, json_array_get(schemas, i), at);
    return n;
}

static bool is_among(const json_t *v, const json_t *values)
{
    for (size_t i = 0; i < json_array_size(values); i++)
        if (json_equal(v, json_array_get(values, i)))
            return true;
    return false;
}

static bool fits_object(const json_t *v, const json_t *schema, const char *at)
{
    const json_t *required = json_object_get(schema, "required"),
                 *properties = json_object_get(schema, "properties");
    const bool closed = json_object_get(schema, "additionalProperties") != NULL;
    const char *name;
    json_t *member;
    for (size_t i = 0; i < json_array_size(required); i++) {
        name = json_string_value(json_array_get(required, i));
        if (name == NULL || json_object_get(v, name) == NULL)
            return refuse(at, "required", v);
    }
    json_object_foreach((json_t *)v, name, member)
    {
        char below[SHOWN];
        const json_t *of = json_object_get(properties, name);
        snprintf(below, sizeof below, "%s/%s", at, name);
        if (of == NULL && closed)
            return refuse(below, "additionalProperties", member);
        if (of != NULL && !fits(member, of, below))
            return false;
    }
    return true;
}

static bool fits_items(const json_t *v, const json_t *items, const char *at)
{
    char below[SHOWN];
    for (size_t i = 0; i < json_array_size(v); i++) {
        snprintf(below, sizeof below, "%s/%zu", at, i);
        if (!fits(json_array_get(v, i), items, below))
            return false;
    }
    return true;
}

static bool fits(const json_t *v, const json_t *schema, const char *at)
{
    const json_t *k;
    if ((k = json_object_get(schema, "$ref")) != NULL &&
        !fits(v, find_ref(json_string_value(k)), at))
        return false;
    if ((k = json_object_get(schema, "type")) != NULL && !is_of_type(v, json_string_value(k)))
        return refuse(at, "type", v);
    if ((k = json_object_get(schema, "const")) != NULL && !json_equal(v, k))
        return refuse(at, "const", v);
    if ((k = json_object_get(schema, "enum")) != NULL && !is_among(v, k))
        return refuse(at, "enum", v);
    if ((k = json_object_get(schema, "minimum")) != NULL && json_is_number(v) &&
        !(json_number_value(v) >= json_number_value(k)))
        return refuse(at, "minimum", v);
    if ((k = json_object_get(schema, "pattern")) != NULL && json_is_string(v) &&
        regexec(find_pattern(k), json_string_value(v), 0, NULL, 0) != 0)
        return refuse(at, "pattern", v);
    if (json_is_object(v) && !fits_object(v, schema, at))
        return false;
    if ((k = json_object_get(schema, "items")) != NULL && !fits_items(v, k, at))
        return false;
    if ((k = json_object_get(schema, "anyOf")) != NULL && count_fitting(v, k, at) == 0)
        return refuse(at, "anyOf", v);
    if ((k = json_object_get(schema, "oneOf")) != NULL && count_fitting(v, k, at) != 1)
        return refuse(at, "oneOf", v);
    return true;
}

int main(int argc, char **argv)
{
    json_t *schema = NULL, *v = NULL;
    if (argc != 3)
        fail("schema_check SCHEMA FILE");
    if (json_read_file(&schema, argv[1], 1 << 20) != 0 || json_read_file(&v, argv[2], 1 << 30) != 0)
        fail("%s", err_text());
    root = schema;
    check_schema(schema);
    if (!fits(v, schema, ""))
        fail("%s", why);
    for (int i = 0; i < n_patterns; i++)
        regfree(&patterns[i].compiled);
    json_decref(v);
    json_decref(schema);
    return 0;
}
