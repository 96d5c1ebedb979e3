#include "model/base/yaml_tree.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>
#include <yaml.h>

struct anchor {
    char *name;
    json_t *value;
    size_t n_values;
};

struct tree {
    yaml_parser_t parser;
    const char *label;
    struct anchor anchors[YAML_TREE_ANCHORS];
    int n_anchors, depth;
    size_t n_values; /* so far, an alias counted as what it stands for */
};

static int refuse_at(const struct tree *t, size_t line, const char *what)
{
    return err_set(ERR_FORMAT, "%s line %zu: %s", t->label, line + 1, what);
}

static int next_event(struct tree *t, yaml_event_t *e)
{
    if (yaml_parser_parse(&t->parser, e))
        return 0;
    memset(e, 0, sizeof *e);
    return refuse_at(t, t->parser.problem_mark.line,
                     t->parser.problem == NULL ? "not YAML" : t->parser.problem);
}

static int count_values(struct tree *t, size_t n, size_t line)
{
    t->n_values += n;
    if (t->n_values <= YAML_TREE_VALUES)
        return 0;
    return err_set(ERR_FORMAT, "%s line %zu: more than %d values, with what its aliases stand for",
                   t->label, line + 1, YAML_TREE_VALUES);
}

static int no_memory(const struct tree *t)
{
    return err_set(ERR_NOMEM, "not enough memory to read %s", t->label);
}

static int read_alias(struct tree *t, const yaml_event_t *e, json_t **out)
{
    const char *name = (const char *)e->data.alias.anchor;
    for (int i = t->n_anchors - 1; i >= 0; i--)
        if (strcmp(t->anchors[i].name, name) == 0) {
            *out = json_incref(t->anchors[i].value);
            return count_values(t, t->anchors[i].n_values, e->start_mark.line);
        }
    return refuse_at(t, e->start_mark.line, "an alias of nothing that stands before it");
}

static int keep_anchor(struct tree *t, const char *name, json_t *value, size_t n_values,
                       size_t line)
{
    if (t->n_anchors == YAML_TREE_ANCHORS)
        return refuse_at(t, line, "too many anchors");
    struct anchor *a = &t->anchors[t->n_anchors];
    if ((a->name = mem_strdup(name)) == NULL)
        return ERR_NOMEM;
    a->value = json_incref(value);
    a->n_values = n_values;
    t->n_anchors++;
    return 0;
}

static int read_scalar(const struct tree *t, const yaml_event_t *e, json_t **out)
{
    const char *text = (const char *)e->data.scalar.value;
    const bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (strlen(text) != e->data.scalar.length)
        return refuse_at(t, e->start_mark.line, "a NUL in a text");
    *out = plain && (*text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0)
               ? json_null()
               : json_string(text);
    return *out == NULL ? no_memory(t) : 0;
}

static int read_value(struct tree *t, const yaml_event_t *e, json_t **out);

static int read_list(struct tree *t, json_t *list)
{
    for (;;) {
        yaml_event_t e = {0};
        json_t *item = NULL;
        int rc = next_event(t, &e);
        const bool end = rc == 0 && e.type == YAML_SEQUENCE_END_EVENT;
        if (rc == 0 && !end)
            rc = read_value(t, &e, &item);
        yaml_event_delete(&e);
        if (rc == 0 && !end && json_array_append(list, item) != 0)
            rc = no_memory(t);
        json_decref(item);
        if (rc != 0 || end)
            return rc;
    }
}

static int read_pair(struct tree *t, const yaml_event_t *key, json_t *mapping)
{
    json_t *value = NULL;
    yaml_event_t e = {0};
    if (key->type != YAML_SCALAR_EVENT ||
        strlen((char *)key->data.scalar.value) != key->data.scalar.length)
        return refuse_at(t, key->start_mark.line, "expected a name");
    const char *name = (const char *)key->data.scalar.value;
    if (json_object_get(mapping, name) != NULL)
        return refuse_at(t, key->start_mark.line, "a name that stands here already");
    int rc = next_event(t, &e);
    if (rc == 0)
        rc = read_value(t, &e, &value);
    yaml_event_delete(&e);
    if (rc == 0 && json_object_set(mapping, name, value) != 0)
        rc = no_memory(t);
    json_decref(value);
    return rc;
}

/* What a merge key names is added where the mapping lacks it. */
static int merge_mapping(const struct tree *t, json_t *into, const json_t *from, size_t line)
{
    const char *name;
    json_t *value;
    if (!json_is_object(from))
        return refuse_at(t, line, "<< merges mappings");
    json_object_foreach((json_t *)(uintptr_t)from, name, value)
    {
        if (json_object_get(into, name) == NULL && json_object_set(into, name, value) != 0)
            return no_memory(t);
    }
    return 0;
}

static int resolve_merge(const struct tree *t, json_t *mapping, size_t line)
{
    json_t *from = json_object_get(mapping, "<<");
    int rc = 0;
    if (from == NULL)
        return 0;
    if (json_is_array(from))
        for (size_t i = 0; i < json_array_size(from) && rc == 0; i++)
            rc = merge_mapping(t, mapping, json_array_get(from, i), line);
    else
        rc = merge_mapping(t, mapping, from, line);
    json_object_del(mapping, "<<");
    return rc;
}

static int read_mapping(struct tree *t, json_t *mapping)
{
    for (;;) {
        yaml_event_t key = {0};
        const int failed = next_event(t, &key);
        const bool end = failed == 0 && key.type == YAML_MAPPING_END_EVENT;
        const size_t line = key.start_mark.line;
        const int rc = failed != 0 || end ? failed : read_pair(t, &key, mapping);
        yaml_event_delete(&key);
        if (rc != 0 || end)
            return rc == 0 ? resolve_merge(t, mapping, line) : rc;
    }
}

static int read_nested(struct tree *t, const yaml_event_t *e, json_t **out)
{
    const bool list = e->type == YAML_SEQUENCE_START_EVENT;
    if (t->depth == YAML_TREE_DEPTH)
        return refuse_at(t, e->start_mark.line, "nested too deep");
    if ((*out = list ? json_array() : json_object()) == NULL)
        return no_memory(t);
    t->depth++;
    const int rc = list ? read_list(t, *out) : read_mapping(t, *out);
    t->depth--;
    return rc;
}

/* The value that an event begins. */
static int read_value(struct tree *t, const yaml_event_t *e, json_t **out)
{
    const size_t before = t->n_values, line = e->start_mark.line;
    const yaml_char_t *anchor = NULL;
    if (e->type == YAML_ALIAS_EVENT)
        return read_alias(t, e, out);
    int rc = count_values(t, 1, line);
    if (rc != 0)
        return rc;
    if (e->type == YAML_SCALAR_EVENT) {
        rc = read_scalar(t, e, out);
        anchor = e->data.scalar.anchor;
    } else if (e->type == YAML_SEQUENCE_START_EVENT || e->type == YAML_MAPPING_START_EVENT) {
        rc = read_nested(t, e, out);
        anchor = e->type == YAML_SEQUENCE_START_EVENT ? e->data.sequence_start.anchor
                                                      : e->data.mapping_start.anchor;
    } else {
        rc = refuse_at(t, line, "expected a value");
    }
    if (rc == 0 && anchor != NULL)
        rc = keep_anchor(t, (const char *)anchor, *out, t->n_values - before, line);
    return rc;
}

/* Everything up to the end of the stream: at most one document. */
static int read_stream(struct tree *t, json_t **out)
{
    for (;;) {
        yaml_event_t e = {0};
        int rc = next_event(t, &e);
        const bool end = rc == 0 && e.type == YAML_STREAM_END_EVENT;
        const bool around = e.type == YAML_STREAM_START_EVENT ||
                            e.type == YAML_DOCUMENT_START_EVENT ||
                            e.type == YAML_DOCUMENT_END_EVENT;
        if (rc == 0 && !end && !around)
            rc = *out != NULL ? refuse_at(t, e.start_mark.line, "a second document")
                              : read_value(t, &e, out);
        yaml_event_delete(&e);
        if (rc != 0 || end)
            return rc;
    }
}

int yaml_read_tree(json_t **out, const char *label, const char *text, size_t n)
{
    struct tree *t = mem_alloc(sizeof *t);
    *out = NULL;
    if (t == NULL)
        return ERR_NOMEM;
    t->label = label;
    if (!yaml_parser_initialize(&t->parser)) {
        mem_free(t);
        return err_set(ERR_NOMEM, "not enough memory to read %s", label);
    }
    yaml_parser_set_input_string(&t->parser, (const unsigned char *)text, n);
    int rc = read_stream(t, out);
    yaml_parser_delete(&t->parser);
    for (int i = 0; i < t->n_anchors; i++) {
        json_decref(t->anchors[i].value);
        mem_free(t->anchors[i].name);
    }
    mem_free(t);
    if (rc == 0 && *out == NULL)
        *out = json_null();
    if (rc != 0) {
        json_decref(*out);
        *out = NULL;
    }
    return rc;
}
