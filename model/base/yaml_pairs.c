#include "model/base/yaml_pairs.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/words.h"

#include <string.h>
#include <utf8proc.h>
#include <yaml.h>

/*
 * libyaml gives events; each function below reads one level of them:
 *
 *     read_stream    documents, with at most one mapping in all
 *     read_mapping   key, read_value, key, read_value, ..., to the mapping's end
 *     read_value       a scalar: take_pair; a list: read_list; a mapping: a section, read_mapping
 *     read_list          scalars, or mappings: read_item, which calls read_field for each key
 *
 * A function deletes the events that it reads. An event that no function expects is an error, and
 * so is an alias.
 */

struct reading {
    yaml_parser_t parser;
    const char *label;
    struct buf place; /* of the present message or pair */
    struct yaml_shape shape;
    const char *section;
    int (*take)(void *user, const struct yaml_pair *p);
    void *user;
};

/* "LABEL line N", valid until the next call; without memory only the label. */
static const char *line_place(struct reading *r, size_t line)
{
    r->place.n = 0;
    return buf_printf(&r->place, "%s line %zu", r->label, line + 1) == 0 ? r->place.data : r->label;
}

static int refuse_event(struct reading *r, const yaml_event_t *at, const char *what)
{
    return err_set(ERR_FORMAT, "%s: %s", line_place(r, at->start_mark.line), what);
}

/* Whether a text contains a NUL. */
static bool is_cut_text(const yaml_event_t *e)
{
    return e->type == YAML_SCALAR_EVENT &&
           strlen((const char *)e->data.scalar.value) != e->data.scalar.length;
}

static int next_event(struct reading *r, yaml_event_t *e)
{
    if (!yaml_parser_parse(&r->parser, e)) {
        memset(e, 0, sizeof *e);
        return err_set(ERR_FORMAT, "%s: %s", line_place(r, r->parser.problem_mark.line),
                       r->parser.problem == NULL ? "not YAML" : r->parser.problem);
    }
    if (e->type == YAML_ALIAS_EVENT)
        return refuse_event(r, e,
                            "settings are read without aliases: in place of *NAME write what "
                            "it stands for");
    return is_cut_text(e) ? refuse_event(r, e, "a NUL in a text") : 0;
}

static int refuse_value(struct reading *r, const yaml_event_t *key, bool list)
{
    char shown[80];
    const char *name = (const char *)key->data.scalar.value;
    if (r->shape.refuse != NULL) {
        r->shape.refuse(r->user, name, list);
        return err_wrap("%s", line_place(r, key->start_mark.line));
    }
    return err_set(ERR_FORMAT, "%s: %s: expected one value, not a %s",
                   line_place(r, key->start_mark.line), file_show(shown, sizeof shown, name),
                   list ? "list" : "mapping");
}

static bool takes_list(const struct reading *r, const yaml_event_t *key)
{
    return r->shape.lists ||
           (r->shape.list != NULL && r->shape.list(r->user, (const char *)key->data.scalar.value));
}

/* "~", null or nothing at all. */
static bool is_null_scalar(const yaml_event_t *e)
{
    const char *text = (const char *)e->data.scalar.value;
    return e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (*text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0);
}

static int take_pair(struct reading *r, const yaml_event_t *key, const char *text)
{
    struct yaml_pair p = {.section = r->section == NULL ? "" : r->section,
                          .name = (const char *)key->data.scalar.value,
                          .place = line_place(r, key->start_mark.line),
                          .text = text};
    return r->take(r->user, &p) == 0 ? 0 : err_wrap("%s", p.place);
}

/* Append item i of a list, with its own commas and backslashes escaped. */
static int add_item(struct buf *out, size_t i, const char *text)
{
    int rc = i > 0 ? buf_char(out, ',') : 0;
    for (; rc == 0 && *text != '\0'; text++) {
        if (*text == ',' || *text == '\\')
            rc = buf_char(out, '\\');
        if (rc == 0)
            rc = buf_char(out, *text);
    }
    return rc;
}

static int refuse_key(const struct reading *r, const yaml_event_t *key, const char *const *keys)
{
    const char *name = (const char *)key->data.scalar.value;
    size_t n = 0;
    while (keys[n] != NULL)
        n++;
    const char *near = words_nearest(name, keys, n);
    return err_set(ERR_FORMAT, "%s line %zu: there is no %s in an item of the list%s%s%s", r->label,
                   key->start_mark.line + 1, file_quote(name),
                   near == NULL ? "" : "; did you mean ", near == NULL ? "" : near,
                   near == NULL ? "" : "?");
}

/* Read the value of a key of an item into values. */
static int read_field(struct reading *r, const struct yaml_item *item, const yaml_event_t *key,
                      char **values)
{
    yaml_event_t value = {0};
    int k = 0;
    if (key->type != YAML_SCALAR_EVENT)
        return refuse_event(r, key, "expected the name of a setting");
    while (item->keys[k] != NULL && strcmp(item->keys[k], (char *)key->data.scalar.value) != 0)
        k++;
    if (item->keys[k] == NULL)
        return refuse_key(r, key, item->keys);
    int rc = next_event(r, &value);
    if (rc == 0 && values[k] != NULL)
        rc = err_set(ERR_FORMAT, "%s line %zu: %s is given twice", r->label,
                     key->start_mark.line + 1, item->keys[k]);
    else if (rc == 0 && value.type != YAML_SCALAR_EVENT)
        rc = err_set(ERR_FORMAT, "%s line %zu: %s: expected one value", r->label,
                     key->start_mark.line + 1, item->keys[k]);
    else if (rc == 0 && !is_null_scalar(&value) &&
             (rc = item->check(k, (const char *)value.data.scalar.value)) != 0)
        rc = err_wrap("%s line %zu", r->label, key->start_mark.line + 1);
    else if (rc == 0 && !is_null_scalar(&value) &&
             (values[k] = mem_strdup((const char *)value.data.scalar.value)) == NULL)
        rc = ERR_NOMEM;
    yaml_event_delete(&value);
    return rc;
}

/* Read an item that is a mapping, up to its end. */
static int read_item(struct reading *r, const struct yaml_item *item, const yaml_event_t *begin,
                     struct buf *joined, size_t i)
{
    char *values[YAML_ITEM_KEYS] = {NULL};
    struct buf text = {0};
    int rc = item == NULL ? refuse_event(r, begin, "expected single values in the list") : 0;
    for (bool end = false; rc == 0 && !end;) {
        yaml_event_t key = {0};
        rc = next_event(r, &key);
        end = key.type == YAML_MAPPING_END_EVENT;
        if (rc == 0 && !end)
            rc = read_field(r, item, &key, values);
        yaml_event_delete(&key);
    }
    if (rc == 0 && (rc = item->write(&text, (const char *const *)values)) != 0)
        rc = err_wrap("%s line %zu", r->label, begin->start_mark.line + 1);
    if (rc == 0)
        rc = add_item(joined, i, buf_text(&text));
    for (int k = 0; k < YAML_ITEM_KEYS; k++)
        mem_free(values[k]);
    buf_release(&text);
    return rc;
}

/* The items of a list up to its end, joined by commas. */
static int read_list(struct reading *r, const yaml_event_t *key)
{
    struct buf joined = {0};
    const struct yaml_item *mapping = r->shape.item == NULL
                                          ? NULL
                                          : r->shape.item(r->section == NULL ? "" : r->section,
                                                          (const char *)key->data.scalar.value);
    int rc = 0;
    bool end = false;
    for (size_t i = 0; rc == 0 && !end; i++) {
        yaml_event_t item = {0};
        rc = next_event(r, &item);
        end = item.type == YAML_SEQUENCE_END_EVENT;
        if (rc == 0 && item.type == YAML_MAPPING_START_EVENT)
            rc = read_item(r, mapping, &item, &joined, i);
        else if (rc == 0 && !end && item.type != YAML_SCALAR_EVENT)
            rc = refuse_event(r, &item, "expected single values in the list");
        else if (rc == 0 && !end && is_null_scalar(&item))
            rc = refuse_event(r, &item, "nothing (~ or null) in the list; a text stands in quotes");
        else if (rc == 0 && !end)
            rc = add_item(&joined, i, (const char *)item.data.scalar.value);
        yaml_event_delete(&item);
    }
    if (rc == 0)
        rc = take_pair(r, key, buf_text(&joined));
    buf_release(&joined);
    return rc;
}

static int read_mapping(struct reading *r);

/* Read the value of a key. */
static int read_value(struct reading *r, const yaml_event_t *key)
{
    yaml_event_t value = {0};
    int rc = next_event(r, &value);
    if (rc == 0 && value.type == YAML_SCALAR_EVENT) {
        rc = take_pair(r, key,
                       is_null_scalar(&value) ? NULL : (const char *)value.data.scalar.value);
    } else if (rc == 0 && value.type == YAML_SEQUENCE_START_EVENT && takes_list(r, key)) {
        rc = read_list(r, key);
    } else if (rc == 0 && value.type == YAML_MAPPING_START_EVENT && r->shape.sections &&
               r->section == NULL) {
        r->section = (const char *)key->data.scalar.value;
        rc = read_mapping(r);
        r->section = NULL;
    } else if (rc == 0) {
        rc = refuse_value(r, key, value.type == YAML_SEQUENCE_START_EVENT);
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
                     ? read_value(r, &key)
                     : refuse_event(r, &key, "expected the name of a setting");
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
            rc = refuse_event(r, &e, "expected settings as \"name: value\", one a line");
        }
        yaml_event_delete(&e);
        if (rc != 0 || end)
            return rc;
    }
}

int yaml_read_pairs(const char *label, const char *text, size_t n, struct yaml_shape shape,
                    int (*take)(void *user, const struct yaml_pair *p), void *user)
{
    struct reading r = {.label = label, .shape = shape, .take = take, .user = user};
    if (!yaml_parser_initialize(&r.parser))
        return err_set(ERR_NOMEM, "not enough memory to read %s", label);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
    int rc = read_stream(&r);
    yaml_parser_delete(&r.parser);
    buf_release(&r.place);
    return rc;
}

/* ---- writing ---- */

/* YAML has no such characters as they stand (1.2.2, section 5.1): controls, and marks of lines and
 * of byte order. */
static bool is_unprintable_character(utf8proc_int32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff ||
           c == 0xfffe || c == 0xffff;
}

int yaml_quote(struct buf *out, const char *text)
{
    int rc = buf_char(out, '"');
    utf8proc_int32_t c;
    for (utf8proc_ssize_t n = 0; *text != '\0' && rc == 0; text += n) {
        n = utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)strnlen(text, 4),
                             &c);
        if (n < 1)
            rc = err_set(ERR_FORMAT, "a setting's text is not UTF-8");
        else if (c == '\n')
            rc = buf_str(out, "\\n");
        else if (c == '"' || c == '\\')
            rc = buf_printf(out, "\\%c", (int)c);
        else if (is_unprintable_character(c))
            rc = buf_printf(out, "\\u%04x", (unsigned)c);
        else
            rc = buf_add(out, text, (size_t)n);
    }
    return rc != 0 ? rc : buf_char(out, '"');
}
