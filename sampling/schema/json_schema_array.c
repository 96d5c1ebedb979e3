#include "sampling/schema/json_schema_array.h"

#include "model/base/err.h"
#include "sampling/schema/gbnf.h"
#include "sampling/schema/json_schema_value.h"

#include <stdio.h>

struct array_items {
    const json_t *schema; /* of the array */
    const json_t *prefix;
    const json_t *item; /* of those behind the prefix */
    size_t n_prefix;
    size_t least, most; /* how many */
};

static int collect_items(const struct json_schema_rules *r, struct array_items *a,
                         const json_t *schema)
{
    const json_t *item = json_object_get(schema, "items");
    *a = (struct array_items){.schema = schema,
                              .prefix = json_object_get(schema, "prefixItems"),
                              .item = item == NULL ? json_true() : item};
    a->n_prefix = json_array_size(a->prefix);
    a->least = json_schema_count(schema, "minItems", 0);
    a->most = json_schema_count(schema, "maxItems", GBNF_OPEN);
    if (json_is_false(item) && a->most > a->n_prefix)
        a->most = a->n_prefix;
    for (size_t i = 0; i < a->n_prefix; i++)
        if (json_is_false(json_array_get(a->prefix, i)) && a->most > i)
            a->most = i;
    if (a->n_prefix > a->most)
        a->n_prefix = a->most;
    if (a->least > a->most)
        return json_schema_refuse(r->tree, schema, "minItems", ERR_RANGE,
                                  "is %zu, and there can be %zu items at most", a->least, a->most);
    return 0;
}

static int add_item(struct json_schema_rules *r, struct buf *out, const struct array_items *a,
                    size_t i)
{
    char hint[RULE_NAME + 24];
    snprintf(hint, sizeof hint, "%s-item", r->name);
    return json_schema_rules_refer(r, out, i < a->n_prefix ? json_array_get(a->prefix, i) : a->item,
                                   hint);
}

/* Items behind the prefix, each with a comma before it. */
static int add_more_items(struct json_schema_rules *r, struct buf *out, const struct array_items *a,
                          size_t least, size_t most)
{
    if (most == 0)
        return 0;
    int rc = buf_str(out, " (\",\" space ");
    if (rc == 0 && (rc = add_item(r, out, a, a->n_prefix)) == 0 && (rc = buf_str(out, ")")) == 0)
        rc = json_schema_rules_add_times(r, out, least, most, 4, a->schema,
                                         most == GBNF_OPEN ? "minItems" : "maxItems");
    return rc;
}

static size_t count_down(size_t count, size_t by)
{
    return count == GBNF_OPEN ? GBNF_OPEN : count > by ? count - by : 0;
}

/* After the rule: the i-th item of the prefix and what is behind it, none of which must be. */
static int add_optional_items(struct json_schema_rules *r, const struct array_items *a, size_t i)
{
    int rc = 0;
    for (; i < a->n_prefix && rc == 0; i++) {
        if ((rc = buf_printf(&r->after, "%s--item%zu ::= (\",\" space ", r->name, i)) != 0 ||
            (rc = add_item(r, &r->after, a, i)) != 0)
            return rc;
        rc = i + 1 < a->n_prefix
                 ? buf_printf(&r->after, " %s--item%zu", r->name, i + 1)
                 : add_more_items(r, &r->after, a, 0, count_down(a->most, a->n_prefix));
        if (rc == 0)
            rc = buf_str(&r->after, ")?\n");
    }
    return rc;
}

/* Some of the prefix may be left out, from its end. */
static int add_open_prefix(struct json_schema_rules *r, const struct array_items *a)
{
    const size_t next = a->least > 0 ? a->least : 1;
    int rc = 0;
    if (a->least == 0 && (rc = buf_str(&r->line, " (")) == 0)
        rc = add_item(r, &r->line, a, 0);
    if (rc == 0)
        rc = next < a->n_prefix
                 ? buf_printf(&r->line, " %s--item%zu", r->name, next)
                 : add_more_items(r, &r->line, a, 0, count_down(a->most, a->n_prefix));
    if (rc == 0 && a->least == 0)
        rc = buf_str(&r->line, ")?");
    return rc != 0 ? rc : add_optional_items(r, a, next);
}

/* There is no prefix. */
static int add_items(struct json_schema_rules *r, const struct array_items *a)
{
    if (a->most == 0)
        return 0;
    int rc = buf_str(&r->line, a->least == 0 ? " (" : " ");
    if (rc == 0 && (rc = add_item(r, &r->line, a, 0)) == 0)
        rc = add_more_items(r, &r->line, a, count_down(a->least, 1), count_down(a->most, 1));
    return rc != 0 || a->least > 0 ? rc : buf_str(&r->line, ")?");
}

int json_schema_array_grammar(struct json_schema_rules *r, const json_t *schema)
{
    struct array_items a;
    int rc = collect_items(r, &a, schema);
    if (rc == 0)
        rc = buf_str(&r->line, "\"[\" space");
    for (size_t i = 0; i < a.least && i < a.n_prefix && rc == 0; i++)
        if ((rc = buf_str(&r->line, i > 0 ? " \",\" space " : " ")) == 0)
            rc = add_item(r, &r->line, &a, i);
    if (rc == 0)
        rc = a.n_prefix == 0        ? add_items(r, &a)
             : a.least < a.n_prefix ? add_open_prefix(r, &a)
                                    : add_more_items(r, &r->line, &a, a.least - a.n_prefix,
                                                     count_down(a.most, a.n_prefix));
    return rc != 0 ? rc : buf_str(&r->line, " \"]\"");
}
