#include "sampling/schema/json_schema_merge.h"

#include "model/base/err.h"
#include "sampling/schema/json_schema_keywords.h"

#include <stdio.h>
#include <string.h>

enum { KEY = 64 };

static int refuse_memory(void)
{
    return err_set(ERR_NOMEM, "no memory for a schema");
}

static const json_t *keep_made(struct json_schema_tree *t, json_t *schema)
{
    return schema == NULL || json_array_append_new(t->made, schema) != 0 ? NULL : schema;
}

int json_schema_both(struct json_schema_tree *t, const json_t **out, const json_t *a,
                     const json_t *b)
{
    char key[KEY];
    if (a == b || json_is_true(b) || json_is_false(a)) {
        *out = a;
        return 0;
    }
    if (json_is_true(a) || json_is_false(b)) {
        *out = b;
        return 0;
    }
    snprintf(key, sizeof key, "%p %p", (const void *)a, (const void *)b);
    const json_t *known = json_object_get(t->pairs, key);
    if (known == NULL) {
        const size_t place = json_array_size(t->made);
        if (keep_made(t, json_pack("{s:[O,O]}", "allOf", a, b)) == NULL ||
            json_object_set_new(t->pairs, key, json_integer((json_int_t)place)) != 0)
            return refuse_memory();
        known = json_object_get(t->pairs, key);
    }
    *out = json_array_get(t->made, (size_t)json_integer_value(known));
    return 0;
}

int json_schema_without(struct json_schema_tree *t, const json_t **out, const json_t *schema,
                        const char *keyword)
{
    json_t *rest = json_object();
    const char *name;
    json_t *value;
    *out = keep_made(t, rest);
    if (*out == NULL)
        return refuse_memory();
    json_object_foreach((json_t *)schema, name, value)
    {
        if (strcmp(name, keyword) != 0 && !json_schema_is_annotation(name) &&
            json_object_set(rest, name, value) != 0)
            return refuse_memory();
    }
    if (json_object_size(rest) == 0)
        *out = NULL;
    return 0;
}

/* ---- one keyword of two ---- */

static int refuse_both(const struct json_schema_tree *t, const json_t *schema, const char *name)
{
    return json_schema_refuse(t, schema, name, ERR_UNSUPPORTED,
                              "cannot be united with that of another schema that must hold too");
}

static int put_member(json_t *object, const char *name, json_t *value)
{
    return value == NULL || json_object_set_new(object, name, value) != 0 ? refuse_memory() : 0;
}

/* Whether doubles do not tell which of two bounds is greater, or there would be too many
 * comparisons of values. */
static bool is_unclear(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_integer(a) != json_is_integer(b))
        return !(json_number_value(a) < json_number_value(b)) &&
               !(json_number_value(a) > json_number_value(b));
    return json_is_array(a) && json_is_array(b) &&
           json_array_size(a) * json_array_size(b) > SCHEMA_WORK;
}

/* The greater bound where it is a least one. */
static int unite_bounds(json_t *into, const char *name, json_t *a, json_t *b)
{
    const bool least = strncmp(name, "min", 3) == 0 || strcmp(name, "exclusiveMinimum") == 0;
    const bool a_first = json_is_integer(a) && json_is_integer(b)
                             ? json_integer_value(a) > json_integer_value(b)
                             : json_number_value(a) > json_number_value(b);
    return put_member(into, name, json_incref(a_first == least ? a : b));
}

/* Of lists: those of both (all), or those that are in either. */
static int unite_values(json_t *into, const char *name, const json_t *a, const json_t *b, bool all)
{
    json_t *values = json_array(), *one, *other;
    size_t i, k;
    int rc = values == NULL;
    json_array_foreach(a, i, one)
    {
        json_array_foreach(b, k, other) if (json_equal(one, other)) break;
        if ((!all || k < json_array_size(b)) && json_array_append(values, one) != 0)
            rc = 1;
    }
    json_array_foreach(b, i, one)
    {
        if (!all && json_array_append(values, one) != 0)
            rc = 1;
    }
    if (rc != 0) {
        json_decref(values);
        return refuse_memory();
    }
    return put_member(into, name, values);
}

/* An empty list of types is left where there is none that both allow. */
static int unite_types(json_t *into, const json_t *a, const json_t *b)
{
    unsigned mine = json_schema_types_of_list(a), other = json_schema_types_of_list(b);
    json_t *names = json_array();
    int rc = names == NULL;
    mine |= mine & SCHEMA_NUMBER ? SCHEMA_INTEGER : 0;
    other |= other & SCHEMA_NUMBER ? SCHEMA_INTEGER : 0;
    unsigned both = mine & other;
    both &= both & SCHEMA_NUMBER ? ~(unsigned)SCHEMA_INTEGER : ~0u;
    for (unsigned type = 1; type <= both && rc == 0; type <<= 1)
        if (both & type)
            rc = json_array_append_new(names, json_string(json_schema_type_name(type)));
    if (rc != 0) {
        json_decref(names);
        return refuse_memory();
    }
    return put_member(into, "type", names);
}

static int unite_properties(struct json_schema_tree *t, json_t *into, const json_t *a,
                            const json_t *b)
{
    json_t *all = json_copy((json_t *)a), *value;
    const char *name;
    int rc = put_member(into, "properties", all);
    json_object_foreach((json_t *)b, name, value)
    {
        const json_t *mine = json_object_get(all, name), *both = value;
        if (rc == 0 && mine != NULL && !json_equal(mine, value))
            rc = json_schema_both(t, &both, mine, value);
        if (rc == 0 && json_object_set(all, name, (json_t *)both) != 0)
            rc = refuse_memory();
    }
    return rc;
}

static int unite_keyword(struct json_schema_tree *t, const json_t *schema, json_t *into,
                         const char *name, json_t *value)
{
    const struct json_schema_keyword *k = json_schema_keyword_find(name);
    json_t *mine = json_object_get(into, name);
    const json_t *both;
    if (mine == NULL)
        return json_object_set(into, name, value) == 0 ? 0 : refuse_memory();
    if (json_equal(mine, value))
        return 0;
    if (is_unclear(mine, value))
        return refuse_both(t, schema, name);
    switch (k->value) {
    case SCHEMA_TYPES:
        return unite_types(into, mine, value);
    case SCHEMA_VALUES:
    case SCHEMA_TEXTS:
        return unite_values(into, name, mine, value, k->value == SCHEMA_VALUES);
    case SCHEMA_COUNT:
    case SCHEMA_BOUND:
        return unite_bounds(into, name, mine, value);
    case SCHEMA_PROPERTIES:
        return unite_properties(t, into, mine, value);
    case SCHEMA_SCHEMA:
        if (json_schema_both(t, &both, mine, value) != 0)
            return ERR_NOMEM;
        return json_object_set(into, name, (json_t *)both) == 0 ? 0 : refuse_memory();
    default:
        return refuse_both(t, schema, name);
    }
}

/* ---- two schemas ---- */

/* Whether further members of a are bound to a schema, and b has names of its own among them. */
static bool binds_further(const json_t *a, const json_t *b)
{
    const json_t *further = json_object_get(a, "additionalProperties");
    const json_t *mine = json_object_get(a, "properties"), *value;
    const char *name;
    if (further == NULL || json_is_true(further))
        return false;
    json_object_foreach(json_object_get(b, "properties"), name, value)
    {
        if (json_object_get(mine, name) == NULL)
            return true;
    }
    return false;
}

/* Whether items of one are counted from another place than those of the other. */
static bool shifts_items(const json_t *a, const json_t *b)
{
    const json_t *mine = json_object_get(a, "prefixItems"),
                 *other = json_object_get(b, "prefixItems");
    if (mine == NULL && other == NULL)
        return false;
    const bool both = (mine != NULL || json_object_get(a, "items") != NULL) &&
                      (other != NULL || json_object_get(b, "items") != NULL);
    return both && !(mine != NULL && other != NULL && json_equal(mine, other));
}

/* Add to `into` what `other`, resolved, says. *nothing: no value satisfies both. */
static int unite_schemas(struct json_schema_tree *t, const json_t *schema, json_t *into,
                         const json_t *other, bool *nothing)
{
    const char *name;
    json_t *value;
    int rc = 0;
    if (json_is_false(other)) {
        *nothing = true;
        return 0;
    }
    if (binds_further(into, other) || binds_further(other, into))
        return refuse_both(t, schema, "additionalProperties");
    if (shifts_items(into, other))
        return refuse_both(t, schema, "prefixItems");
    json_object_foreach((json_t *)other, name, value)
    {
        if (!json_schema_is_annotation(name) &&
            (rc = unite_keyword(t, schema, into, name, value)) != 0)
            return rc;
    }
    value = json_object_get(into, "type");
    *nothing |= json_is_array(value) && json_array_size(value) == 0;
    return 0;
}

static int resolve_schema(struct json_schema_tree *t, const json_t **out, const json_t *schema,
                          int depth);

static int unite_resolved(struct json_schema_tree *t, const json_t *schema, json_t *into,
                          const json_t *other, bool *nothing, int depth)
{
    const json_t *resolved;
    int rc = resolve_schema(t, &resolved, other, depth + 1);
    return rc != 0 ? rc : unite_schemas(t, schema, into, resolved, nothing);
}

static int resolve_schema(struct json_schema_tree *t, const json_t **out, const json_t *schema,
                          int depth)
{
    bool nothing = false;
    const json_t *target, *one, *all = json_object_get(schema, "allOf");
    size_t i;
    int rc = 0;
    *out = schema;
    if (depth > SCHEMA_DEPTH)
        return json_schema_refuse(t, schema, NULL, ERR_UNSUPPORTED,
                                  "refers to itself, or through more than %d others", SCHEMA_DEPTH);
    if (json_is_true(schema)) {
        *out = keep_made(t, json_object());
        return *out == NULL ? refuse_memory() : 0;
    }
    if (json_is_false(schema) || (rc = json_schema_check(t, schema)) != 0)
        return rc;
    const bool refers = json_object_get(schema, "$ref") != NULL;
    if (!refers && all == NULL)
        return 0;
    json_t *into = json_object();
    if ((*out = keep_made(t, into)) == NULL)
        return refuse_memory();
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)schema, name, value)
    {
        if (strcmp(name, "$ref") != 0 && strcmp(name, "allOf") != 0 &&
            !json_schema_is_annotation(name) && json_object_set(into, name, value) != 0)
            return refuse_memory();
    }
    if (refers && (rc = json_schema_follow(t, &target, schema)) == 0)
        rc = unite_resolved(t, schema, into, target, &nothing, depth);
    json_array_foreach(all, i, one)
    {
        if (rc == 0)
            rc = unite_resolved(t, schema, into, one, &nothing, depth);
    }
    if (nothing)
        *out = json_false();
    return rc;
}

int json_schema_resolve(struct json_schema_tree *t, const json_t **out, const json_t *schema)
{
    return resolve_schema(t, out, schema, 0);
}
