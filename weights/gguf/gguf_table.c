#include "weights/gguf/gguf_table.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[GGUF_TYPES] = {
    [GGUF_U8] = "an unsigned byte",
    [GGUF_I8] = "a signed byte",
    [GGUF_U16] = "a 16-bit unsigned integer",
    [GGUF_I16] = "a 16-bit integer",
    [GGUF_U32] = "a 32-bit unsigned integer",
    [GGUF_I32] = "a 32-bit integer",
    [GGUF_F32] = "a 32-bit float",
    [GGUF_BOOL] = "a bool",
    [GGUF_STRING] = "a string",
    [GGUF_ARRAY] = "an array",
    [GGUF_U64] = "a 64-bit unsigned integer",
    [GGUF_I64] = "a 64-bit integer",
    [GGUF_F64] = "a 64-bit float",
};

const char *gguf_show(char out[GGUF_SHOWN], struct gguf_string s)
{
    char copy[GGUF_SHOWN + 1];
    snprintf(copy, sizeof copy, "%.*s", s.n < sizeof copy ? (int)s.n : (int)sizeof copy, s.data);
    return file_show(out, GGUF_SHOWN, copy);
}

static int compare_strings(struct gguf_string a, struct gguf_string b)
{
    int d = memcmp(a.data, b.data, a.n < b.n ? a.n : b.n);
    return d != 0 ? d : (a.n > b.n) - (a.n < b.n);
}

int gguf_compare_keys(const void *a, const void *b)
{
    return compare_strings(((const struct gguf_value *)a)->key,
                           ((const struct gguf_value *)b)->key);
}

int gguf_compare_names(const void *a, const void *b)
{
    return compare_strings(((const struct gguf_tensor *)a)->name,
                           ((const struct gguf_tensor *)b)->name);
}

const struct gguf_value *gguf_find(const struct gguf *g, const char *key)
{
    struct gguf_value wanted = {.key = {key, strlen(key)}};
    return bsearch(&wanted, g->values, g->n_values, sizeof *g->values, gguf_compare_keys);
}

const struct gguf_tensor *gguf_find_tensor(const struct gguf *g, const char *name)
{
    struct gguf_tensor wanted = {.name = {name, strlen(name)}};
    return bsearch(&wanted, g->tensors, g->n_tensors, sizeof *g->tensors, gguf_compare_names);
}

/* The key's value in *v; NULL if it is missing and not required. */
static int look_up_key(const struct gguf *g, const char *key, bool required,
                       const struct gguf_value **v)
{
    *v = gguf_find(g, key);
    if (*v == NULL && required)
        return err_set(ERR_MISSING, "key %s is missing", key);
    return 0;
}

static int refuse_type(const struct gguf_value *v, const char *key, const char *expected)
{
    return err_set(ERR_RANGE, "key %s is %s, expected %s", key, type_names[v->type], expected);
}

/* False: not an integer. A u64 beyond int64 becomes INT64_MAX, which is in no range used here. */
static bool value_as_int(const struct gguf_value *v, int64_t *out)
{
    uint64_t u = 0;
    switch (v->type) {
    case GGUF_U8:
    case GGUF_U16:
    case GGUF_U32:
    case GGUF_U64:
        memcpy(&u, v->data, v->bytes);
        *out = u > INT64_MAX ? INT64_MAX : (int64_t)u;
        return true;
    case GGUF_I8:
    case GGUF_I16:
    case GGUF_I32:
    case GGUF_I64: {
        int shift = 64 - 8 * (int)v->bytes;
        memcpy(&u, v->data, v->bytes);
        *out = (int64_t)(u << shift) >> shift;
        return true;
    }
    default:
        return false;
    }
}

int gguf_int(const struct gguf *g, const char *key, bool required, int64_t min, int64_t max,
             int64_t *out)
{
    const struct gguf_value *v;
    int64_t value;
    int rc = look_up_key(g, key, required, &v);
    if (rc != 0 || v == NULL)
        return rc;
    if (!value_as_int(v, &value))
        return refuse_type(v, key, "an integer");
    if (value < min || value > max)
        return err_set(ERR_RANGE, "key %s is %" PRId64 ", must be %" PRId64 " to %" PRId64, key,
                       value, min, max);
    *out = value;
    return 0;
}

int gguf_float(const struct gguf *g, const char *key, bool required, float *out)
{
    const struct gguf_value *v;
    double wide;
    int rc = look_up_key(g, key, required, &v);
    if (rc != 0 || v == NULL)
        return rc;
    if (v->type == GGUF_F32) {
        memcpy(out, v->data, sizeof *out);
    } else if (v->type == GGUF_F64) {
        memcpy(&wide, v->data, sizeof wide);
        *out = (float)wide;
    } else {
        return refuse_type(v, key, "a float");
    }
    return 0;
}

int gguf_bool(const struct gguf *g, const char *key, bool *out)
{
    const struct gguf_value *v = gguf_find(g, key);
    if (v == NULL)
        return 0;
    if (v->type != GGUF_BOOL)
        return refuse_type(v, key, "a bool");
    *out = *v->data != 0;
    return 0;
}

char *gguf_file_title(const char *path)
{
    static const char ending[] = ".gguf";
    const char *slash = strrchr(path, '/'), *base = slash == NULL ? path : slash + 1;
    size_t n = strlen(base);
    if (n >= sizeof ending && text_ends_in(base, ending))
        n -= strlen(ending);
    return mem_sprintf("%.*s", (int)n, base);
}

int gguf_text(const struct gguf *g, const char *key, bool required, char **out)
{
    const struct gguf_value *v;
    *out = NULL;
    int rc = look_up_key(g, key, required, &v);
    if (rc != 0 || v == NULL)
        return rc;
    if (v->type != GGUF_STRING)
        return refuse_type(v, key, "a string");
    *out = mem_alloc(v->bytes + 1);
    if (*out == NULL)
        return ERR_NOMEM;
    memcpy(*out, v->data, v->bytes);
    return 0;
}

int gguf_check_text(const struct gguf *g, const char *key, bool required, const char *wanted)
{
    char *text, shown[80];
    int rc = gguf_text(g, key, required, &text);
    if (rc == 0 && text != NULL && strcmp(text, wanted) != 0)
        rc = err_set(ERR_UNSUPPORTED, "key %s is %s, only %s is read", key,
                     file_show(shown, sizeof shown, text), wanted);
    mem_free(text);
    return rc;
}

static int find_array(const struct gguf *g, const char *key, const struct gguf_value **v)
{
    *v = gguf_find(g, key);
    if (*v == NULL)
        return 0;
    if ((*v)->type != GGUF_ARRAY)
        return refuse_type(*v, key, "an array");
    if ((*v)->n > INT32_MAX)
        return err_set(ERR_RANGE, "key %s has %" PRIu64 " elements, at most %d are read", key,
                       (*v)->n, INT32_MAX);
    return 0;
}

int gguf_texts(const struct gguf *g, const char *key, const char ***out, int *n)
{
    const struct gguf_value *v;
    *out = NULL;
    *n = 0;
    int rc = find_array(g, key, &v);
    if (rc != 0 || v == NULL)
        return rc;
    if (v->item != GGUF_STRING)
        return err_set(ERR_RANGE, "key %s is an array, each element %s, expected strings", key,
                       type_names[v->item]);
    /* v->bytes suffices: each string has an 8-byte length in the file, and only a NUL here. */
    size_t pointers = (size_t)v->n * sizeof(char *);
    const char **list = mem_alloc(pointers + v->bytes);
    if (list == NULL)
        return ERR_NOMEM;
    char *text = (char *)list + pointers;
    const unsigned char *from = v->data;
    for (uint64_t i = 0; i < v->n; i++) {
        uint64_t bytes;
        memcpy(&bytes, from, sizeof bytes);
        list[i] = memcpy(text, from + sizeof bytes, (size_t)bytes);
        text[bytes] = '\0';
        text += bytes + 1;
        from += sizeof bytes + bytes;
    }
    *out = list;
    *n = (int)v->n;
    return 0;
}

int gguf_ints(const struct gguf *g, const char *key, const unsigned char **out, int *n)
{
    const struct gguf_value *v;
    *out = NULL;
    *n = 0;
    int rc = find_array(g, key, &v);
    if (rc != 0 || v == NULL)
        return rc;
    if (v->item != GGUF_I32 && v->item != GGUF_U32)
        return err_set(ERR_RANGE, "key %s is an array, each element %s, expected 32-bit integers",
                       key, type_names[v->item]);
    *out = v->data;
    *n = (int)v->n;
    return 0;
}
