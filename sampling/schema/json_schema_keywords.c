#include "sampling/schema/json_schema_keywords.h"

#include <math.h>
#include <string.h>

static const struct json_schema_keyword keywords[] = {
    {"title", SCHEMA_ANNOTATION, 0},
    {"description", SCHEMA_ANNOTATION, 0},
    {"default", SCHEMA_ANNOTATION, 0},
    {"examples", SCHEMA_ANNOTATION, 0},
    {"deprecated", SCHEMA_ANNOTATION, 0},
    {"readOnly", SCHEMA_ANNOTATION, 0},
    {"writeOnly", SCHEMA_ANNOTATION, 0},
    {"$schema", SCHEMA_ANNOTATION, 0},
    {"$id", SCHEMA_ANNOTATION, 0},
    {"$anchor", SCHEMA_ANNOTATION, 0},
    {"$comment", SCHEMA_ANNOTATION, 0},
    {"$defs", SCHEMA_ANNOTATION, 0},
    {"definitions", SCHEMA_ANNOTATION, 0},
    {"contentEncoding", SCHEMA_ANNOTATION, 0},
    {"contentMediaType", SCHEMA_ANNOTATION, 0},
    {"contentSchema", SCHEMA_ANNOTATION, 0},
    {"$ref", SCHEMA_TEXT, 0},
    {"allOf", SCHEMA_SCHEMAS, 0},
    {"anyOf", SCHEMA_SCHEMAS, 0},
    {"oneOf", SCHEMA_SCHEMAS, 0},
    {"type", SCHEMA_TYPES, 0},
    {"enum", SCHEMA_VALUES, 0},
    {"const", SCHEMA_VALUE, 0},
    {"properties", SCHEMA_PROPERTIES, SCHEMA_OBJECT},
    {"additionalProperties", SCHEMA_SCHEMA, SCHEMA_OBJECT},
    {"required", SCHEMA_TEXTS, SCHEMA_OBJECT},
    {"minProperties", SCHEMA_COUNT, SCHEMA_OBJECT},
    {"maxProperties", SCHEMA_COUNT, SCHEMA_OBJECT},
    {"items", SCHEMA_SCHEMA, SCHEMA_ARRAY},
    {"prefixItems", SCHEMA_SCHEMAS, SCHEMA_ARRAY},
    {"minItems", SCHEMA_COUNT, SCHEMA_ARRAY},
    {"maxItems", SCHEMA_COUNT, SCHEMA_ARRAY},
    {"uniqueItems", SCHEMA_FALSE, 0},
    {"minLength", SCHEMA_COUNT, SCHEMA_STRING},
    {"maxLength", SCHEMA_COUNT, SCHEMA_STRING},
    {"pattern", SCHEMA_TEXT, SCHEMA_STRING},
    {"format", SCHEMA_TEXT, SCHEMA_STRING},
    {"minimum", SCHEMA_BOUND, SCHEMA_NUMBER},
    {"maximum", SCHEMA_BOUND, SCHEMA_NUMBER},
    {"exclusiveMinimum", SCHEMA_BOUND, SCHEMA_NUMBER},
    {"exclusiveMaximum", SCHEMA_BOUND, SCHEMA_NUMBER},
};

static const struct {
    const char *name;
    unsigned type;
} types[] = {{"object", SCHEMA_OBJECT}, {"array", SCHEMA_ARRAY},     {"string", SCHEMA_STRING},
             {"number", SCHEMA_NUMBER}, {"integer", SCHEMA_INTEGER}, {"boolean", SCHEMA_BOOLEAN},
             {"null", SCHEMA_NULL}};

enum { KEYWORDS = sizeof keywords / sizeof *keywords, TYPES = sizeof types / sizeof *types };

const struct json_schema_keyword *json_schema_keyword_find(const char *name)
{
    static const struct json_schema_keyword extension = {"x-", SCHEMA_ANNOTATION, 0};
    for (int i = 0; i < KEYWORDS; i++)
        if (strcmp(keywords[i].name, name) == 0)
            return &keywords[i];
    return strncmp(name, "x-", 2) == 0 ? &extension : NULL;
}

bool json_schema_is_annotation(const char *name)
{
    const struct json_schema_keyword *k = json_schema_keyword_find(name);
    return k != NULL && k->value == SCHEMA_ANNOTATION;
}

unsigned json_schema_type_of_name(const char *name)
{
    for (int i = 0; i < TYPES; i++)
        if (name != NULL && strcmp(types[i].name, name) == 0)
            return types[i].type;
    return 0;
}

const char *json_schema_type_name(unsigned type)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].type == type)
            return types[i].name;
    return NULL;
}

unsigned json_schema_types_of_list(const json_t *list)
{
    unsigned all = 0;
    size_t i;
    const json_t *one;
    if (json_is_string(list))
        return json_schema_type_of_name(json_string_value(list));
    json_array_foreach(list, i, one) all |= json_schema_type_of_name(json_string_value(one));
    return all;
}

unsigned json_schema_types_of_value(const json_t *value)
{
    const double x = json_number_value(value);
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return SCHEMA_OBJECT;
    case JSON_ARRAY:
        return SCHEMA_ARRAY;
    case JSON_STRING:
        return SCHEMA_STRING;
    case JSON_INTEGER:
    case JSON_REAL:
        return json_is_integer(value) || x == floor(x) ? SCHEMA_NUMBER | SCHEMA_INTEGER
                                                       : SCHEMA_NUMBER;
    case JSON_NULL:
        return SCHEMA_NULL;
    default:
        return SCHEMA_BOOLEAN;
    }
}

/* Whether value is an array, not empty unless it may be, whose members all are what `is` says. */
static bool is_list(const json_t *value, bool (*is)(const json_t *), bool may_be_empty)
{
    size_t i;
    const json_t *one;
    json_array_foreach(value, i, one)
    {
        if (!is(one))
            return false;
    }
    return json_is_array(value) && (may_be_empty || json_array_size(value) > 0);
}

static bool is_type(const json_t *value)
{
    return json_schema_type_of_name(json_string_value(value)) != 0;
}

static bool is_text(const json_t *value)
{
    return json_is_string(value);
}

static bool is_schema(const json_t *value)
{
    return json_is_object(value) || json_is_boolean(value);
}

static bool is_schema_map(const json_t *value)
{
    const char *name;
    const json_t *one;
    json_object_foreach((json_t *)value, name, one)
    {
        if (!is_schema(one))
            return false;
    }
    return json_is_object(value);
}

const char *json_schema_value_expected(const struct json_schema_keyword *k, const json_t *value)
{
    switch (k->value) {
    case SCHEMA_VALUES:
        return json_is_array(value) ? NULL : "a list of values";
    case SCHEMA_TYPES:
        return is_type(value) || is_list(value, is_type, false) ? NULL
                                                                : "a type, or a list of them";
    case SCHEMA_TEXT:
        return json_is_string(value) ? NULL : "a text";
    case SCHEMA_TEXTS:
        return is_list(value, is_text, true) ? NULL : "a list of texts";
    case SCHEMA_COUNT:
        return json_is_integer(value) && json_integer_value(value) >= 0
                   ? NULL
                   : "a whole number of 0 or more";
    case SCHEMA_BOUND:
        return json_is_number(value) ? NULL : "a number";
    case SCHEMA_SCHEMA:
        return is_schema(value) ? NULL : "a schema: an object, true or false";
    case SCHEMA_SCHEMAS:
        return is_list(value, is_schema, false) ? NULL : "a list of schemas, not empty";
    case SCHEMA_PROPERTIES:
        return is_schema_map(value) ? NULL : "an object of schemas";
    case SCHEMA_FALSE:
        return json_is_boolean(value) ? NULL : "true or false";
    default:
        return NULL;
    }
}
