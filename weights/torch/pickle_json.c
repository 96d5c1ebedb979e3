#include "weights/torch/pickle_json.h"

#include "model/base/err.h"
#include "model/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 32, VALUES_MAX = 1 << 18, TEXT_MAX = 64 << 20 };

const struct pickle_value *pickle_item(const struct pickle_machine *m,
                                       const struct pickle_value *dict, const char *key)
{
    const struct pickle_value *found = NULL;
    for (int32_t c = dict->first; c >= 0; c = pickle_cell(m, c)->next) {
        const struct pickle_value *k = pickle_value(m, pickle_cell(m, c)->value);
        c = pickle_cell(m, c)->next;
        if (k->kind == PICKLE_TEXT && k->text.n == strlen(key) &&
            memcmp(k->text.at, key, k->text.n) == 0)
            found = pickle_value(m, pickle_cell(m, c)->value);
    }
    return found;
}

struct builder {
    const struct pickle_machine *m;
    int depth, values;
    uint64_t text; /* bytes: a text may stand in many places, and is in each of them here */
    bool too_much;
};

static json_t *build_value(struct builder *b, const struct pickle_value *v);

static json_t *build_list(struct builder *b, const struct pickle_value *v)
{
    json_t *list = json_array();
    for (int32_t c = v->first; c >= 0 && list != NULL; c = pickle_cell(b->m, c)->next)
        if (json_array_append_new(
                list, build_value(b, pickle_value(b->m, pickle_cell(b->m, c)->value))) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *build_text(struct builder *b, const struct pickle_value *v)
{
    b->text += v->text.n;
    b->too_much = b->too_much || b->text > TEXT_MAX;
    return b->too_much ? NULL : json_of_text(v->text.at, v->text.n);
}

static json_t *build_key(struct builder *b, const struct pickle_value *key)
{
    char number[32];
    if (key->kind == PICKLE_TEXT)
        return build_text(b, key);
    const int n = snprintf(number, sizeof number, "%" PRId64, key->number);
    return json_of_text(number, (size_t)n);
}

/* Items under keys that are no text and no whole number are left out, and those under keys with a
 * NUL, which jansson takes since 2.14 only. */
static json_t *build_dict(struct builder *b, const struct pickle_value *v)
{
    json_t *dict = json_object();
    for (int32_t c = v->first; c >= 0 && dict != NULL; c = pickle_cell(b->m, c)->next) {
        const struct pickle_value *k = pickle_value(b->m, pickle_cell(b->m, c)->value);
        c = pickle_cell(b->m, c)->next;
        if (k->kind != PICKLE_TEXT && k->kind != PICKLE_INT)
            continue;
        json_t *key = build_key(b, k);
        if (key == NULL) {
            json_decref(dict);
            return NULL;
        }
        const char *name = json_string_value(key);
        const int rc =
            strlen(name) < json_string_length(key)
                ? 0
                : json_object_set_new(
                      dict, name, build_value(b, pickle_value(b->m, pickle_cell(b->m, c)->value)));
        json_decref(key);
        if (rc != 0) {
            json_decref(dict);
            return NULL;
        }
    }
    return dict;
}

/* NULL: no memory, or too much. */
static json_t *build_value(struct builder *b, const struct pickle_value *v)
{
    b->too_much = b->too_much || b->depth == DEPTH_MAX || ++b->values > VALUES_MAX;
    if (b->too_much)
        return NULL;
    json_t *out;
    b->depth++;
    switch (v->kind) {
    case PICKLE_BOOL:
        out = json_boolean(v->number);
        break;
    case PICKLE_INT:
        out = json_integer(v->number);
        break;
    case PICKLE_FLOAT:
        out = isfinite(v->real) ? json_real(v->real) : json_null();
        break;
    case PICKLE_TEXT:
        out = build_text(b, v);
        break;
    case PICKLE_TUPLE:
    case PICKLE_LIST:
        out = build_list(b, v);
        break;
    case PICKLE_DICT:
        out = build_dict(b, v);
        break;
    default:
        out = json_null();
    }
    b->depth--;
    return out;
}

int pickle_json(const struct pickle_machine *m, const struct pickle_value *v, json_t **out)
{
    struct builder b = {.m = m};
    *out = build_value(&b, v);
    if (*out != NULL)
        return 0;
    if (!b.too_much)
        return err_set(ERR_NOMEM, "no memory for what the pickle says of the model");
    return err_set(ERR_RANGE,
                   "what the pickle says of the model is nested more than %d deep, or more than %d "
                   "values or %d MiB of text",
                   DEPTH_MAX, VALUES_MAX, TEXT_MAX >> 20);
}
