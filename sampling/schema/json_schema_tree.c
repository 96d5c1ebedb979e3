#include "sampling/schema/json_schema_tree.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/json.h"
#include "sampling/schema/json_schema_keywords.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 80, PLACE = 240, UNITED = 8 };

static int refuse_memory(void)
{
    return err_set(ERR_NOMEM, "no memory for a schema");
}

/* ---- the document ---- */

static bool is_too_deep(const json_t *value, int left)
{
    const char *name;
    const json_t *one;
    size_t i;
    if (left == 0)
        return json_is_object(value) || json_is_array(value);
    json_object_foreach((json_t *)value, name, one)
    {
        if (is_too_deep(one, left - 1))
            return true;
    }
    json_array_foreach(value, i, one)
    {
        if (is_too_deep(one, left - 1))
            return true;
    }
    return false;
}

int json_schema_tree_init(struct json_schema_tree *t, const json_t *whole)
{
    *t = (struct json_schema_tree){.whole = whole, .origin = whole};
    if (is_too_deep(whole, SCHEMA_DEPTH))
        return err_set(ERR_RANGE, "the schema is nested deeper than %d levels", SCHEMA_DEPTH);
    t->made = json_array();
    t->pairs = json_object();
    if (t->made != NULL && t->pairs != NULL)
        return 0;
    json_schema_tree_release(t);
    return refuse_memory();
}

void json_schema_tree_release(struct json_schema_tree *t)
{
    json_decref(t->made);
    json_decref(t->pairs);
    *t = (struct json_schema_tree){0};
}

static int add_token(struct buf *out, const char *name)
{
    int rc = buf_char(out, '/');
    for (; *name != '\0' && rc == 0; name++)
        rc = *name == '~'   ? buf_str(out, "~0")
             : *name == '/' ? buf_str(out, "~1")
                            : buf_char(out, *name);
    return rc;
}

/* Append the pointer of schema, which is `at` or within it; false: it is not. Shared values, as
 * true is, have no place of their own. */
static bool find_place(struct buf *out, const json_t *at, const json_t *schema)
{
    const size_t before = out->n;
    const char *name;
    const json_t *one;
    size_t i;
    if (at == schema)
        return true;
    json_object_foreach((json_t *)at, name, one)
    {
        if ((json_is_object(one) || json_is_array(one)) && add_token(out, name) == 0 &&
            find_place(out, one, schema))
            return true;
        out->n = before;
    }
    json_array_foreach(at, i, one)
    {
        if ((json_is_object(one) || json_is_array(one)) && buf_printf(out, "/%zu", i) == 0 &&
            find_place(out, one, schema))
            return true;
        out->n = before;
    }
    return false;
}

/* Of a schema that unites two, the place of the second, or of the first. */
static bool find_part(struct buf *out, const struct json_schema_tree *t, const json_t *schema,
                      int left)
{
    const json_t *parts = json_object_get(schema, "allOf");
    if (find_place(out, t->whole, schema))
        return true;
    for (size_t i = json_array_size(parts); i > 0 && left > 0; i--)
        if (find_part(out, t, json_array_get(parts, i - 1), left - 1))
            return true;
    return false;
}

/* `"KEYWORD" at #/POINTER`, in out [n]. */
static void show_place(char *out, size_t n, const struct json_schema_tree *t, const json_t *schema,
                       const char *keyword)
{
    struct buf place = {0};
    char shown[PLACE];
    if (buf_char(&place, '#') == 0 && !find_place(&place, t->whole, schema))
        find_part(&place, t, t->origin, UNITED);
    if (place.data != NULL)
        place.data[place.n] = '\0';
    file_show(shown, sizeof shown, buf_text(&place));
    if (keyword == NULL)
        snprintf(out, n, "the schema at %s", shown);
    else
        snprintf(out, n, "\"%s\" at %s", file_quote(keyword), shown);
    buf_release(&place);
}

int json_schema_refuse(const struct json_schema_tree *t, const json_t *schema, const char *keyword,
                       int code, const char *fmt, ...)
{
    char place[2 * PLACE];
    struct buf text = {0};
    va_list args;
    va_start(args, fmt);
    int rc = buf_vprintf(&text, fmt, args);
    va_end(args);
    show_place(place, sizeof place, t, schema, keyword);
    if (rc == 0)
        rc = err_set(code, "%s %s", place, buf_text(&text));
    buf_release(&text);
    return rc;
}

int json_schema_wrap(const struct json_schema_tree *t, const json_t *schema, const char *keyword)
{
    char place[2 * PLACE];
    if (err_last() == ERR_NOMEM)
        return ERR_NOMEM;
    show_place(place, sizeof place, t, schema, keyword);
    return err_wrap("%s", place);
}

/* ---- keywords ---- */

static int check_keyword(const struct json_schema_tree *t, const json_t *schema, const char *name,
                         const json_t *value)
{
    const struct json_schema_keyword *k = json_schema_keyword_find(name);
    char shown[SHOWN];
    if (k == NULL)
        return json_schema_refuse(t, schema, name, ERR_UNSUPPORTED, "is not supported");
    if (strcmp(name, "items") == 0 && json_is_array(value))
        return json_schema_refuse(t, schema, name, ERR_UNSUPPORTED,
                                  "is a list, as of older drafts; name it prefixItems");
    const char *expected = json_schema_value_expected(k, value);
    if (expected != NULL)
        return json_schema_refuse(t, schema, name, ERR_RANGE, "is %s, must be %s",
                                  json_shown(shown, sizeof shown, value), expected);
    if (k->value == SCHEMA_FALSE && json_is_true(value))
        return json_schema_refuse(t, schema, name, ERR_UNSUPPORTED, "is not supported");
    /* A fragment alone is a name, from older drafts; another one would change what # means. */
    if (strcmp(name, "$id") == 0 && schema != t->whole && json_is_string(value) &&
        json_string_value(value)[0] != '#')
        return json_schema_refuse(t, schema, name, ERR_UNSUPPORTED,
                                  "within a schema is not supported");
    return 0;
}

/* Each schema looked at is work, each keyword of it and each member of those. */
static int count_work(struct json_schema_tree *t, const json_t *schema)
{
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)schema, name, value)
    {
        t->work += 1 + json_object_size(value) + json_array_size(value);
    }
    return ++t->work <= SCHEMA_WORK
               ? 0
               : err_set(
                     ERR_RANGE,
                     "the schema is too large: its parts, those that references repeat counted, "
                     "are more than %d",
                     SCHEMA_WORK);
}

int json_schema_check(struct json_schema_tree *t, const json_t *schema)
{
    const char *name;
    const json_t *value;
    int rc = count_work(t, schema);
    if (rc != 0)
        return rc;
    json_object_foreach((json_t *)schema, name, value)
    {
        if ((rc = check_keyword(t, schema, name, value)) != 0)
            return rc;
    }
    return 0;
}

/* ---- references ---- */

bool json_schema_is_reference(const json_t *schema)
{
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)schema, name, value)
    {
        if (strcmp(name, "$ref") != 0 && !json_schema_is_annotation(name))
            return false;
    }
    return json_is_string(json_object_get(schema, "$ref"));
}

/* Bytes for %XX of a URI's fragment, in place. */
static void decode_percent(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        char digits[3] = {0};
        if (*at == '%')
            memcpy(digits, at + 1, strnlen(at + 1, 2));
        const long byte =
            strspn(digits, "0123456789abcdefABCDEF") == 2 ? strtol(digits, NULL, 16) : 0;
        *to++ = byte != 0 ? (char)byte : *at;
        at += byte != 0 ? 2 : 0;
    }
    *to = '\0';
}

static void decode_token(char *token)
{
    char *to = token;
    for (const char *at = token; *at != '\0'; at++) {
        const bool coded = *at == '~' && (at[1] == '0' || at[1] == '1');
        *to++ = !coded ? *at : at[1] == '0' ? '~' : '/';
        at += coded;
    }
    *to = '\0';
}

static const json_t *find_token(const json_t *at, const char *token)
{
    if (json_is_object(at))
        return json_object_get(at, token);
    char *end;
    const size_t i = strtoull(token, &end, 10);
    return *token >= '0' && *token <= '9' && *end == '\0' ? json_array_get(at, i) : NULL;
}

/* NULL: there is nothing. pointer is taken apart. */
static const json_t *find_pointer(const json_t *at, char *pointer)
{
    while (at != NULL && pointer != NULL && *pointer != '\0') {
        if (*pointer != '/')
            return NULL;
        char *token = pointer + 1, *next = strchr(token, '/');
        if (next != NULL)
            *next = '\0';
        decode_token(token);
        at = find_token(at, token);
        pointer = next;
        if (next != NULL)
            *next = '/';
    }
    return at;
}

int json_schema_follow(const struct json_schema_tree *t, const json_t **target,
                       const json_t *schema)
{
    const char *text = json_string_value(json_object_get(schema, "$ref"));
    struct buf pointer = {0};
    if (text == NULL)
        return json_schema_refuse(t, schema, "$ref", ERR_RANGE, "is no text");
    if (text[0] != '#' || (text[1] != '\0' && text[1] != '/'))
        return json_schema_refuse(t, schema, "$ref", ERR_UNSUPPORTED,
                                  "is %s; only # and #/... are supported, within the schema",
                                  file_quote(text));
    if (buf_str(&pointer, text + 1) != 0)
        return ERR_NOMEM;
    if (pointer.data != NULL)
        decode_percent(pointer.data);
    *target = find_pointer(t->whole, pointer.data);
    buf_release(&pointer);
    if (json_is_object(*target) || json_is_boolean(*target))
        return 0;
    return json_schema_refuse(t, schema, "$ref", ERR_RANGE, "is %s, where there is no schema",
                              file_quote(text));
}
