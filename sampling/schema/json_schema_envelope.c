#include "sampling/schema/json_schema_envelope.h"

#include <stdbool.h>
#include <string.h>

enum { ENVELOPES = 2 }; /* one within the other, which need not have a name */

static bool has_type(const json_t *document, const char *type)
{
    const char *given = json_string_value(json_object_get(document, "type"));
    return given != NULL && strcmp(given, type) == 0;
}

static bool has_a_type(const json_t *document)
{
    return json_object_get(document, "type") != NULL;
}

/* None of these is a type or a keyword of a schema. */
static bool is_envelope(const json_t *document)
{
    return has_type(document, "json_schema") || has_type(document, "json_object") ||
           has_type(document, "function") || has_type(document, "custom") ||
           (!has_a_type(document) && json_is_string(json_object_get(document, "name")));
}

static json_t *find_inner(const json_t *envelope)
{
    static const char *const members[] = {"json_schema", "function",     "schema",
                                          "parameters",  "input_schema", "inputSchema"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_t *inner = json_object_get(envelope, members[i]);
        if (json_is_object(inner))
            return inner;
    }
    return NULL;
}

json_t *json_schema_open_envelope(json_t *whole)
{
    json_t *inner = whole;
    for (int i = 0; i < ENVELOPES && (is_envelope(inner) || (i > 0 && !has_a_type(inner))); i++) {
        json_t *next = find_inner(inner);
        if (next == NULL && has_type(inner, "json_object"))
            return json_pack("{s:s}", "type", "object");
        inner = next == NULL ? inner : next;
    }
    return json_incref(inner);
}
