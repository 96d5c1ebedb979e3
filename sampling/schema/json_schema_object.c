#include "sampling/schema/json_schema_object.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "sampling/schema/gbnf.h"
#include "sampling/schema/json_schema_name.h"
#include "sampling/schema/json_schema_value.h"

#include <string.h>

struct object_member {
    const char *name;
    const json_t *schema;
    bool required;
};

struct object_members {
    struct object_member *list; /* in the order in which they are written */
    size_t n, n_required;
    const json_t *further; /* of members that have none of the names; NULL: there are none */
    const char **names;    /* of all members that the schema speaks of, forbidden ones too */
    size_t n_names;
    size_t least, most; /* how many members */
    json_t *required;   /* an object of their names */
};

/* ---- which members ---- */

static int add_listed(struct json_schema_rules *r, struct object_members *m, const json_t *schema)
{
    const char *name;
    const json_t *one;
    json_object_foreach(json_object_get(schema, "properties"), name, one)
    {
        const bool needed = json_object_get(m->required, name) != NULL;
        m->names[m->n_names++] = name;
        if (!json_is_false(one))
            m->list[m->n++] = (struct object_member){name, one, needed};
        else if (needed)
            return json_schema_refuse(r->tree, schema, "properties", ERR_UNSUPPORTED,
                                      "forbids %s, which is required", file_quote(name));
        m->n_required += needed;
    }
    return 0;
}

/* Those that are required, and not among the properties. */
static int add_required(struct json_schema_rules *r, struct object_members *m, const json_t *schema)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *further = json_object_get(schema, "additionalProperties");
    const char *name;
    const json_t *unused;
    json_object_foreach(m->required, name, unused)
    {
        if (json_object_get(properties, name) != NULL)
            continue;
        if (json_is_false(further))
            return json_schema_refuse(r->tree, schema, "additionalProperties", ERR_UNSUPPORTED,
                                      "forbids %s, which is required", file_quote(name));
        m->list[m->n++] =
            (struct object_member){name, further == NULL ? json_true() : further, true};
        m->names[m->n_names++] = name;
        m->n_required++;
    }
    return 0;
}

static int collect_members(struct json_schema_rules *r, struct object_members *m,
                           const json_t *schema)
{
    const json_t *properties = json_object_get(schema, "properties"), *one;
    const json_t *further = json_object_get(schema, "additionalProperties");
    const json_t *names = json_object_get(schema, "required");
    size_t i;
    m->required = json_object();
    int rc = m->required == NULL ? err_set(ERR_NOMEM, "no memory for a schema") : 0;
    json_array_foreach(names, i, one)
    {
        if (rc == 0 && json_object_set_new(m->required, json_string_value(one), json_true()) != 0)
            rc = err_set(ERR_NOMEM, "no memory for a schema");
    }
    const size_t most = json_object_size(properties) + json_object_size(m->required);
    m->list = rc == 0 ? mem_array(most + 1, sizeof *m->list) : NULL;
    m->names = rc == 0 ? mem_array(most + 1, sizeof *m->names) : NULL;
    if (rc == 0 && (m->list == NULL || m->names == NULL))
        rc = ERR_NOMEM;
    if (rc == 0 && (rc = add_listed(r, m, schema)) == 0)
        rc = add_required(r, m, schema);
    m->further = further == NULL ? (properties == NULL ? json_true() : NULL)
                                 : (json_is_false(further) ? NULL : further);
    m->least = json_schema_count(schema, "minProperties", 0);
    m->most = json_schema_count(schema, "maxProperties", GBNF_OPEN);
    return rc;
}

/* How many members there are is kept where they are all of one kind; else it must follow from what
 * is required and listed, but for one at least. */
static int check_counts(const struct json_schema_rules *r, const struct object_members *m,
                        const json_t *schema)
{
    if (m->least > m->most)
        return json_schema_refuse(r->tree, schema, "minProperties", ERR_RANGE,
                                  "is %zu, above maxProperties, which is %zu", m->least, m->most);
    if (m->n == 0 && m->further != NULL)
        return 0;
    const size_t follows = m->n_required > 0 ? m->n_required : m->n > 0;
    if (m->least > follows)
        return json_schema_refuse(r->tree, schema, "minProperties", ERR_UNSUPPORTED,
                                  "is %zu, and a grammar cannot count members beside properties",
                                  m->least);
    if (m->most < m->n || (m->most != GBNF_OPEN && m->further != NULL))
        return json_schema_refuse(r->tree, schema, "maxProperties", ERR_UNSUPPORTED,
                                  "is %zu, and a grammar cannot count members beside properties",
                                  m->most);
    return 0;
}

/* ---- how they are written ---- */

static int add_member(struct json_schema_rules *r, struct buf *out, const struct object_members *m,
                      size_t i)
{
    int rc = json_name_grammar(out, m->list[i].name);
    return rc != 0 ? rc : json_schema_rules_refer(r, out, m->list[i].schema, m->list[i].name);
}

/* A member of another name. */
static int add_further(struct json_schema_rules *r, struct buf *out, const struct object_members *m)
{
    char hint[RULE_NAME + 24];
    int rc = m->n_names > 0 ? buf_printf(out, "%s--name ", r->name)
                            : json_schema_rules_refer_plain(r, out, "string");
    snprintf(hint, sizeof hint, "%s-more", r->name);
    if (rc == 0 && (rc = buf_str(out, m->n_names > 0 ? "\":\" space " : " \":\" space ")) == 0)
        rc = json_schema_rules_refer(r, out, m->further, hint);
    return rc;
}

static int add_more_further(struct json_schema_rules *r, struct buf *out,
                            const struct object_members *m)
{
    int rc = buf_str(out, " (\",\" space ");
    return rc != 0 || (rc = add_further(r, out, m)) != 0 ? rc : buf_str(out, ")*");
}

/* With one that is required: those before it bring a comma after them, the others one before. */
static int add_around_required(struct json_schema_rules *r, const struct object_members *m)
{
    struct buf *out = &r->line;
    bool behind = false;
    int rc = 0;
    for (size_t i = 0; i < m->n && rc == 0; i++) {
        const bool optional = !m->list[i].required, first = !behind && !optional;
        rc = buf_str(out, first ? " " : optional ? " (" : " ");
        if (rc == 0 && behind)
            rc = buf_str(out, "\",\" space ");
        if (rc == 0)
            rc = add_member(r, out, m, i);
        if (rc == 0 && optional)
            rc = buf_str(out, behind ? ")?" : " \",\" space)?");
        behind |= first;
    }
    return rc == 0 && m->further != NULL ? add_more_further(r, out, m) : rc;
}

/* After the rule: what may follow the members before the i-th. */
static int add_rest(struct json_schema_rules *r, const struct object_members *m, size_t i)
{
    int rc = buf_printf(&r->after, "%s--%zu ::=", r->name, i);
    if (rc == 0 && i < m->n) {
        if ((rc = buf_str(&r->after, " (\",\" space ")) == 0 &&
            (rc = add_member(r, &r->after, m, i)) == 0)
            rc = buf_str(&r->after, ")?");
        if (rc == 0 && i + 1 < m->n + (m->further != NULL))
            rc = buf_printf(&r->after, " %s--%zu", r->name, i + 1);
    } else if (rc == 0) {
        rc = add_more_further(r, &r->after, m);
    }
    return rc != 0 ? rc : buf_str(&r->after, "\n");
}

/* Each may be the first one; the rest of those behind it follows. */
static int add_all_optional(struct json_schema_rules *r, const struct object_members *m)
{
    const size_t n = m->n + (m->further != NULL);
    int rc = buf_str(&r->line, n > 0 ? " (" : "");
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (i > 0 && ((rc = buf_str(&r->line, " | ")) != 0 || (rc = add_rest(r, m, i)) != 0))
            break;
        rc = i < m->n ? add_member(r, &r->line, m, i) : add_further(r, &r->line, m);
        if (rc == 0 && i == m->n)
            rc = add_more_further(r, &r->line, m);
        else if (rc == 0 && i + 1 < n)
            rc = buf_printf(&r->line, " %s--%zu", r->name, i + 1);
    }
    return rc != 0 || n == 0 ? rc : buf_str(&r->line, m->least == 0 ? ")?" : ")");
}

/* No member is listed: least..most of the further ones. */
static int add_counted(struct json_schema_rules *r, const struct object_members *m,
                       const json_t *schema)
{
    const char *keyword = m->most == GBNF_OPEN ? "minProperties" : "maxProperties";
    const size_t least = m->least > 0 ? m->least - 1 : 0;
    const size_t most = m->most == GBNF_OPEN ? GBNF_OPEN : m->most - 1;
    if (m->most == 0)
        return 0;
    int rc = buf_str(&r->line, m->least == 0 ? " (" : " ");
    if (rc == 0)
        rc = add_further(r, &r->line, m);
    if (rc == 0 && most > 0 && (rc = buf_str(&r->line, " (\",\" space ")) == 0 &&
        (rc = add_further(r, &r->line, m)) == 0 && (rc = buf_str(&r->line, ")")) == 0)
        rc = json_schema_rules_add_times(r, &r->line, least, most, 6, schema, keyword);
    return rc != 0 || m->least > 0 ? rc : buf_str(&r->line, ")?");
}

static int add_object(struct json_schema_rules *r, const struct object_members *m,
                      const json_t *schema)
{
    int rc = check_counts(r, m, schema);
    if (rc == 0 && (rc = buf_str(&r->line, "\"{\" space")) == 0)
        rc = m->n_required > 0                 ? add_around_required(r, m)
             : m->n == 0 && m->further != NULL ? add_counted(r, m, schema)
                                               : add_all_optional(r, m);
    if (rc == 0 && m->further != NULL && m->n_names > 0) {
        struct buf plain = {0};
        if ((rc = json_schema_rules_refer_plain(r, &plain, "char")) == 0)
            rc = other_name_grammar(&r->after, r->name, m->names, m->n_names);
        buf_release(&plain);
    }
    return rc != 0 ? rc : buf_str(&r->line, " \"}\"");
}

int json_schema_object_grammar(struct json_schema_rules *r, const json_t *schema)
{
    struct object_members m = {0};
    int rc = collect_members(r, &m, schema);
    if (rc == 0)
        rc = add_object(r, &m, schema);
    json_decref(m.required);
    mem_free(m.list);
    mem_free(m.names);
    return rc;
}
