#ifndef PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_KEYWORDS_H
#define PRATTLE_SAMPLING_SCHEMA_JSON_SCHEMA_KEYWORDS_H
/* The keywords of JSON Schema 2020-12 that a grammar can keep, and what their values must be. */
#include <jansson.h>
#include <stdbool.h>

enum json_schema_type {
    SCHEMA_OBJECT = 1,
    SCHEMA_ARRAY = 2,
    SCHEMA_STRING = 4,
    SCHEMA_NUMBER = 8, /* integers included */
    SCHEMA_INTEGER = 16,
    SCHEMA_BOOLEAN = 32,
    SCHEMA_NULL = 64,
    SCHEMA_ANY =
        SCHEMA_OBJECT | SCHEMA_ARRAY | SCHEMA_STRING | SCHEMA_NUMBER | SCHEMA_BOOLEAN | SCHEMA_NULL
};

enum json_schema_value {
    SCHEMA_ANNOTATION, /* any value, which changes nothing */
    SCHEMA_VALUE,
    SCHEMA_VALUES,
    SCHEMA_TYPES,
    SCHEMA_TEXT,
    SCHEMA_TEXTS,
    SCHEMA_COUNT,
    SCHEMA_BOUND,
    SCHEMA_SCHEMA,
    SCHEMA_SCHEMAS,
    SCHEMA_PROPERTIES,
    SCHEMA_FALSE /* false alone is supported */
};

struct json_schema_keyword {
    const char *name;
    enum json_schema_value value;
    unsigned types; /* of the values that it constrains; 0: it speaks of all */
};

/* NULL: it is unknown, or beyond what is supported. */
const struct json_schema_keyword *json_schema_keyword_find(const char *name);
/* Of a name without a meaning to a grammar. */
bool json_schema_is_annotation(const char *name);
/* What a value of this keyword must be, for "is 5, must be ..."; NULL: this one is that. */
const char *json_schema_value_expected(const struct json_schema_keyword *k, const json_t *value);
/* Of "object" and so on; 0: it is none. */
unsigned json_schema_type_of_name(const char *name);
/* The name of one type. */
const char *json_schema_type_name(unsigned type);
/* Of a type keyword's value. */
unsigned json_schema_types_of_list(const json_t *types);
/* Of a value; a whole number is of both types. */
unsigned json_schema_types_of_value(const json_t *value);

#endif
