#include "sampling/schema/json_schema.h"

#include "model/base/err.h"
#include "model/base/json.h"
#include "sampling/schema/gbnf.h"
#include "sampling/schema/json_schema_array.h"
#include "sampling/schema/json_schema_envelope.h"
#include "sampling/schema/json_schema_keywords.h"
#include "sampling/schema/json_schema_merge.h"
#include "sampling/schema/json_schema_object.h"
#include "sampling/schema/json_schema_rules.h"
#include "sampling/schema/json_schema_value.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 60, ELEMENTS = 50000, SCHEMA_BYTES = 1 << 20 };

/* ---- one rule ---- */

/* Types of values that a keyword other than type speaks of. */
static unsigned find_bound_types(const json_t *schema)
{
    const char *name;
    const json_t *value;
    unsigned types = 0;
    json_object_foreach((json_t *)schema, name, value)
    {
        if (strcmp(name, "format") != 0 || json_schema_format_is_known(json_string_value(value)))
            types |= json_schema_keyword_find(name)->types;
    }
    return types;
}

static int add_type(struct json_schema_rules *r, const json_t *schema, unsigned type, bool bound)
{
    if (!bound)
        return json_schema_rules_refer_plain(r, &r->line, json_schema_type_name(type));
    switch (type) {
    case SCHEMA_OBJECT:
        return json_schema_object_grammar(r, schema);
    case SCHEMA_ARRAY:
        return json_schema_array_grammar(r, schema);
    case SCHEMA_STRING:
        return json_schema_string_grammar(r, schema);
    case SCHEMA_NUMBER:
        return json_schema_number_grammar(r, schema);
    default:
        return json_schema_integer_grammar(r, schema);
    }
}

/* Alternatives: values of each type. */
static int add_types(struct json_schema_rules *r, const json_t *schema)
{
    const json_t *list = json_object_get(schema, "type");
    unsigned bound = find_bound_types(schema), types = bound != 0 ? bound : SCHEMA_ANY;
    bound |= bound & SCHEMA_NUMBER ? SCHEMA_INTEGER : 0;
    types = list != NULL ? json_schema_types_of_list(list) : types;
    types &= types & SCHEMA_NUMBER ? ~(unsigned)SCHEMA_INTEGER : ~0u;
    if (types == SCHEMA_ANY && (bound & types) == 0)
        return json_schema_rules_refer_plain(r, &r->line, "value");
    bool more = false;
    int rc = 0;
    for (unsigned type = 1; type <= types && rc == 0; type <<= 1) {
        if (!(types & type))
            continue;
        if ((rc = buf_str(&r->line, more ? " | " : "")) == 0)
            rc = add_type(r, schema, type, (bound & type) != 0);
        more = true;
    }
    return rc;
}

/* Alternatives: each schema of anyOf or oneOf, with what stands beside it. One that this leaves no
 * value is left out; one that has none by itself is a slip, which its own rule tells. */
static int add_branches(struct json_schema_rules *r, const json_t *schema, const char *keyword)
{
    const json_t *rest, *one, *branches = json_object_get(schema, keyword);
    char hint[RULE_NAME + 24];
    bool more = false;
    size_t i;
    int rc = json_schema_without(r->tree, &rest, schema, keyword);
    if (rc == 0 && rest != NULL &&
        json_object_get(rest, *keyword == 'a' ? "oneOf" : "anyOf") != NULL)
        return json_schema_refuse(r->tree, schema, "anyOf", ERR_UNSUPPORTED,
                                  "is not supported beside oneOf");
    json_array_foreach(branches, i, one)
    {
        const json_t *both = one, *resolved;
        if (rc == 0 && rest != NULL)
            rc = json_schema_both(r->tree, &both, rest, one);
        if (rc != 0 || (rc = json_schema_resolve(r->tree, &resolved, both)) != 0)
            return rc;
        if (json_is_false(resolved) || (rest != NULL && json_schema_enum_is_empty(resolved)))
            continue;
        snprintf(hint, sizeof hint, "%s-%zu", r->name, i + 1);
        if ((rc = buf_str(&r->line, more ? " | " : "")) == 0)
            rc = json_schema_rules_refer_first(r, both, hint);
        more = true;
    }
    return rc != 0 || more
               ? rc
               : json_schema_refuse(r->tree, schema, keyword, ERR_UNSUPPORTED, "leaves no value");
}

static int add_body(struct json_schema_rules *r, const json_t *schema)
{
    const json_t *resolved;
    int rc = json_schema_resolve(r->tree, &resolved, schema);
    if (rc != 0)
        return rc;
    if (json_is_false(resolved))
        return json_schema_refuse(r->tree, schema, NULL, ERR_UNSUPPORTED, "leaves no value");
    if (json_object_get(resolved, "anyOf") != NULL)
        return add_branches(r, resolved, "anyOf");
    if (json_object_get(resolved, "oneOf") != NULL)
        return add_branches(r, resolved, "oneOf");
    if (json_object_get(resolved, "enum") != NULL || json_object_get(resolved, "const") != NULL)
        return json_schema_enum_grammar(r, resolved);
    return add_types(r, resolved);
}

/* ---- all of them ---- */

static int refuse_bytes(const struct json_schema_rules *r)
{
    return json_schema_refuse(r->tree, r->tree->origin, NULL, ERR_RANGE,
                              "needs a grammar of more than %d bytes", GRAMMAR_BYTES);
}

static int add_rules(struct json_schema_rules *r, struct buf *out)
{
    int rc = 0;
    for (r->at = 0; r->at < r->n && rc == 0; r->at++) {
        r->tree->origin = r->list[r->at].schema;
        memcpy(r->name, r->list[r->at].name, sizeof r->name);
        r->line.n = r->after.n = 0;
        if ((rc = add_body(r, r->list[r->at].schema)) != 0)
            break;
        if (out->n + r->line.n + r->after.n > GRAMMAR_BYTES)
            return refuse_bytes(r);
        if ((rc = buf_printf(out, "%s ::= ", r->name)) == 0 &&
            (rc = buf_add(out, r->line.data, r->line.n)) == 0 && (rc = buf_char(out, '\n')) == 0 &&
            r->after.n > 0)
            rc = buf_add(out, r->after.data, r->after.n);
    }
    if (rc == 0 && (rc = json_schema_rules_check(r)) == 0)
        rc = json_schema_rules_add_plain(r, out);
    if (rc == 0 && gbnf_elements(buf_text(out)) + r->copies > ELEMENTS)
        rc = err_set(ERR_RANGE,
                     "the schema needs a grammar of more than %d elements, copies of what is "
                     "repeated counted",
                     ELEMENTS);
    return rc;
}

static int add_grammar(struct buf *out, const json_t *whole)
{
    struct json_schema_tree tree;
    struct json_schema_rules rules;
    char shown[SHOWN];
    if (!json_is_object(whole) && !json_is_boolean(whole))
        return err_set(ERR_RANGE, "the schema is %s, must be an object, true or false",
                       json_shown(shown, sizeof shown, whole));
    int rc = json_schema_tree_init(&tree, whole);
    if (rc != 0)
        return rc;
    if ((rc = json_schema_rules_init(&rules, &tree)) == 0) {
        rc = add_rules(&rules, out);
        json_schema_rules_release(&rules);
    }
    json_schema_tree_release(&tree);
    return rc;
}

int json_schema_grammar(struct buf *out, const char *schema, size_t n)
{
    json_t *document = NULL;
    struct buf grammar = {0};
    err_clear();
    if (n > SCHEMA_BYTES)
        return err_set(ERR_RANGE, "the schema has %zu bytes, above %d", n, SCHEMA_BYTES);
    int rc = json_read_text(&document, schema, n);
    if (rc != 0)
        return rc == ERR_FORMAT ? err_wrap("schema") : rc;
    json_t *whole = json_schema_open_envelope(document);
    rc = whole == NULL ? ERR_NOMEM : add_grammar(&grammar, whole);
    /* Out of memory, jansson may leave things out in silence. */
    if (rc == 0 && err_last() == ERR_NOMEM)
        rc = ERR_NOMEM;
    if (rc == 0)
        rc = buf_add(out, grammar.data, grammar.n);
    json_decref(whole);
    json_decref(document);
    buf_release(&grammar);
    return rc;
}
