#include "repl/options.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { MAX_FILE_BYTES = 1 << 20 };

/* What was read, kept aside until all of it is known to be good. */
struct reading {
    yaml_parser_t parser;
    const char *label;
    enum origin origin;
    struct settings trial;
    const char **values; /* [rows], owned */
};

static int n_rows(void)
{
    int n = 0;
    while (option_at(n) != NULL)
        n++;
    return n;
}

static int next_event(struct reading *r, yaml_event_t *e)
{
    if (yaml_parser_parse(&r->parser, e))
        return 0;
    memset(e, 0, sizeof *e);
    return err_set(ERR_FORMAT, "%s line %zu: %s", r->label, r->parser.problem_mark.line + 1,
                   r->parser.problem == NULL ? "not YAML" : r->parser.problem);
}

static int wrong_event(struct reading *r, const yaml_event_t *e, const char *what)
{
    return err_set(ERR_FORMAT, "%s line %zu: %s", r->label, e->start_mark.line + 1, what);
}

/* One "key: value" whose key has come. */
static int read_pair(struct reading *r, const yaml_event_t *key)
{
    yaml_event_t value = {0};
    const struct setting *row;
    const char *name = (const char *)key->data.scalar.value;
    size_t line = key->start_mark.line + 1;
    int rc = option_settable(&row, name);
    /* A model may say how it wants to be sampled, and nothing about the machine. */
    if (rc == 0 && r->origin == ORIGIN_MODEL && !option_per_line(row))
        rc = err_set(ERR_UNSUPPORTED, "%s is not a model's to set", row->name);
    if (rc != 0)
        return err_wrap("%s line %zu", r->label, line);
    rc = next_event(r, &value);
    if (rc == 0 && value.type != YAML_SCALAR_EVENT)
        rc = err_set(ERR_FORMAT, "%s line %zu: %s: expected one value, not a list or a mapping",
                     r->label, line, row->name);
    if (rc == 0) {
        const char *text = (const char *)value.data.scalar.value;
        /* "stop: ~" and an empty value are YAML's null: as if it were not there. */
        bool null = value.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                    (*text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
        int i = (int)(row - option_at(0));
        if (r->values[i] != NULL)
            rc = err_set(ERR_FORMAT, "%s line %zu: %s is given twice", r->label, line, row->name);
        else if (!null && option_parse(row, &r->trial, text) != 0)
            rc = err_wrap("%s line %zu", r->label, line);
        else if (!null && (r->values[i] = mem_strdup(text)) == NULL)
            rc = ERR_NOMEM;
    }
    yaml_event_delete(&value);
    return rc;
}

static int read_mapping(struct reading *r)
{
    for (;;) {
        yaml_event_t key = {0};
        int rc = next_event(r, &key);
        bool end = rc == 0 && key.type == YAML_MAPPING_END_EVENT;
        if (rc == 0 && !end)
            rc = key.type == YAML_SCALAR_EVENT
                     ? read_pair(r, &key)
                     : wrong_event(r, &key, "expected the name of a setting");
        yaml_event_delete(&key);
        if (rc != 0 || end)
            return rc;
    }
}

/* Everything up to the end of the stream: one mapping, or nothing. */
static int read_stream(struct reading *r)
{
    for (bool seen = false;;) {
        yaml_event_t e = {0};
        int rc = next_event(r, &e);
        bool end = rc == 0 && e.type == YAML_STREAM_END_EVENT;
        if (rc == 0 && e.type == YAML_MAPPING_START_EVENT && !seen) {
            seen = true;
            rc = read_mapping(r);
        } else if (rc == 0 && e.type == YAML_SCALAR_EVENT && e.data.scalar.length == 0) {
            ; /* an empty document */
        } else if (rc == 0 && e.type != YAML_STREAM_START_EVENT && !end &&
                   e.type != YAML_DOCUMENT_START_EVENT && e.type != YAML_DOCUMENT_END_EVENT) {
            rc = wrong_event(r, &e, "expected settings as \"name: value\", one a line");
        }
        yaml_event_delete(&e);
        if (rc != 0 || end)
            return rc;
    }
}

int options_read_yaml(struct options *o, enum origin origin, const char *label, const char *text,
                      size_t n)
{
    struct reading r = {.label = label, .origin = origin};
    int rows = n_rows();
    int rc = settings_copy(&r.trial, &o->settings);
    if (rc != 0)
        return rc;
    r.values = mem_array((size_t)rows, sizeof *r.values);
    if (r.values == NULL || !yaml_parser_initialize(&r.parser)) {
        rc = err_set(ERR_NOMEM, "not enough memory for the settings of %s", label);
        goto out;
    }
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
    rc = read_stream(&r);
    yaml_parser_delete(&r.parser);
    for (int i = 0; i < rows && rc == 0; i++)
        if (r.values[i] != NULL)
            rc = options_set(o, option_at(i), origin, r.values[i]);
out:
    for (int i = 0; i < rows && r.values != NULL; i++)
        mem_free((void *)r.values[i]);
    mem_free(r.values);
    settings_release(&r.trial);
    return rc;
}

int options_read_user_file(struct options *o)
{
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if ((folder == NULL || *folder == '\0') && home == NULL)
        return 0;
    char *path = folder != NULL && *folder != '\0'
                     ? mem_sprintf("%s/prattle/settings.yaml", folder)
                     : mem_sprintf("%s/.config/prattle/settings.yaml", home);
    struct buf text = {0};
    int rc = path == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && file_exists(path)) {
        char *shown = file_visible(path);
        rc = file_read_all(&text, path, MAX_FILE_BYTES);
        if (rc == 0)
            rc = options_read_yaml(o, ORIGIN_FILE, shown == NULL ? "settings.yaml" : shown,
                                   buf_text(&text), text.n);
        mem_free(shown);
    }
    buf_release(&text);
    mem_free(path);
    return rc;
}
