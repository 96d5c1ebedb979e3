#include "weights/gguf/gguf.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The file:
 *
 *     magic, version, counts | keys, values | tensors: name, shape, type, offset | padding, data
 *     |--------------------------------- head -----------------------------------|
 *
 * The head is read from front to back into a buffer that grows, and moves, as more of it turns out
 * to exist; no size in the file is trusted to allocate. So until the head is whole, keys, values
 * and names hold offsets into it in the place of pointers (offset_as_pointer); resolve_values and
 * resolve_tensors make them pointers.
 */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "GGUF is read as it lies");

enum {
    FIRST_READ = 1 << 16,
    MAX_ALIGNMENT = 1 << 16,
    MIN_VALUE_BYTES = 8 + 4 + 1,      /* empty key, type, a byte */
    MIN_TENSOR_BYTES = 8 + 4 + 4 + 8, /* empty name, no dimension, type, offset */
    MAX_NAME = 65535
};
static const uint64_t MAX_HEAD = (uint64_t)1 << 30;
enum { MAX_ENTRIES = 1 << 20 };

static const unsigned char type_bytes[GGUF_TYPES] = {
    [GGUF_U8] = 1,  [GGUF_I8] = 1,   [GGUF_U16] = 2, [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,
    [GGUF_F32] = 4, [GGUF_BOOL] = 1, [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8,
};

/* The head as far as it was read, and the position of the parser. */
struct cursor {
    struct file *file;
    unsigned char *data;
    size_t have, cap, at;
};

static const char *offset_as_pointer(size_t at)
{
    return (const char *)(uintptr_t)at;
}

/* Make sure that the next n bytes are in memory. */
static int need_bytes(struct cursor *c, uint64_t n, const char *what)
{
    uint64_t left = c->file->bytes - c->at;
    if (n > left)
        return err_set(ERR_FORMAT,
                       "%s at byte %zu needs %" PRIu64 " bytes, the file has %" PRIu64 " more",
                       what, c->at, n, left);
    if (n > MAX_HEAD - c->at)
        return err_set(ERR_FORMAT,
                       "%s at byte %zu: a head of more than %" PRIu64 " bytes is not read", what,
                       c->at, MAX_HEAD);
    size_t end = c->at + (size_t)n;
    if (end <= c->have)
        return 0;
    size_t want = c->cap < FIRST_READ ? FIRST_READ : c->cap;
    while (want < end)
        want *= 2;
    size_t cap = want;
    if (want > c->file->bytes)
        want = (size_t)c->file->bytes;
    if (cap > c->cap) {
        unsigned char *grown = mem_grow(c->data, c->have, cap);
        if (grown == NULL)
            return ERR_NOMEM;
        c->data = grown;
        c->cap = cap;
    }
    int rc = file_read_at(c->file, c->data + c->have, c->have, want - c->have);
    if (rc == 0)
        c->have = want;
    return rc;
}

static int read_bytes(struct cursor *c, void *out, size_t n, const char *what)
{
    int rc = need_bytes(c, n, what);
    if (rc != 0)
        return rc;
    memcpy(out, c->data + c->at, n);
    c->at += n;
    return 0;
}

static int read_string(struct cursor *c, struct gguf_string *out, const char *what)
{
    uint64_t n;
    int rc = read_bytes(c, &n, sizeof n, what);
    if (rc != 0 || (rc = need_bytes(c, n, what)) != 0)
        return rc;
    if (memchr(c->data + c->at, '\0', (size_t)n) != NULL)
        return err_set(ERR_FORMAT, "%s at byte %zu contains a NUL byte", what, c->at);
    *out = (struct gguf_string){offset_as_pointer(c->at), (size_t)n};
    c->at += (size_t)n;
    return 0;
}

/* Put "WHAT NAME: " before the message. */
static int wrap_name(struct gguf_string s, const char *what)
{
    char shown[GGUF_SHOWN];
    return err_wrap("%s %s", what, gguf_show(shown, s));
}

static struct gguf_string string_in_head(const struct cursor *c, struct gguf_string s)
{
    return (struct gguf_string){(const char *)c->data + (uintptr_t)s.data, s.n};
}

static int skip_array(struct cursor *c, struct gguf_value *v)
{
    uint32_t item;
    int rc = read_bytes(c, &item, sizeof item, "array");
    if (rc != 0 || (rc = read_bytes(c, &v->n, sizeof v->n, "array")) != 0)
        return rc;
    if (item >= GGUF_TYPES || item == GGUF_ARRAY)
        return err_set(ERR_FORMAT, "an array of type %" PRIu32 ", expected 0 to 12 without 9",
                       item);
    v->item = (enum gguf_type)item;
    v->data = c->data == NULL ? NULL : (const unsigned char *)offset_as_pointer(c->at);
    size_t first = c->at, each = item == GGUF_STRING ? 8 : type_bytes[item];
    if (v->n > (c->file->bytes - c->at) / each)
        return err_set(ERR_FORMAT,
                       "an array of %" PRIu64 " elements at byte %zu, the file has %" PRIu64
                       " more bytes",
                       v->n, c->at, c->file->bytes - c->at);
    if (item == GGUF_STRING) {
        struct gguf_string s;
        for (uint64_t i = 0; i < v->n && rc == 0; i++)
            rc = read_string(c, &s, "string");
    } else if ((rc = need_bytes(c, v->n * each, "array")) == 0) {
        c->at += (size_t)v->n * each;
    }
    v->bytes = c->at - first;
    return rc;
}

static int read_value(struct cursor *c, struct gguf_value *v)
{
    uint32_t type;
    int rc = read_string(c, &v->key, "key");
    if (rc != 0)
        return rc;
    if (v->key.n > MAX_NAME)
        return err_set(ERR_FORMAT, "a key of %zu bytes, at most %d are allowed", v->key.n,
                       MAX_NAME);
    if ((rc = read_bytes(c, &type, sizeof type, "type")) != 0)
        return wrap_name(string_in_head(c, v->key), "key");
    if (type >= GGUF_TYPES) {
        err_set(ERR_FORMAT, "type %" PRIu32 ", expected 0 to 12", type);
        return wrap_name(string_in_head(c, v->key), "key");
    }
    v->type = (enum gguf_type)type;
    v->n = 1;
    v->data = (const unsigned char *)offset_as_pointer(c->at);
    if (type == GGUF_ARRAY) {
        rc = skip_array(c, v);
    } else if (type == GGUF_STRING) {
        struct gguf_string s;
        rc = read_string(c, &s, "string");
        v->data = (const unsigned char *)s.data;
        v->bytes = rc == 0 ? s.n : 0;
    } else if ((rc = need_bytes(c, type_bytes[type], "value")) == 0) {
        v->bytes = type_bytes[type];
        c->at += v->bytes;
    }
    return rc == 0 ? 0 : wrap_name(string_in_head(c, v->key), "key");
}

static int set_tensor_type(struct gguf_tensor *t, uint32_t type)
{
    const char *unread = block_unread_name(type);
    if ((t->format = block_format_of(type)) != NULL)
        return 0;
    return unread != NULL
               ? err_set(ERR_UNSUPPORTED, "type %s is not read; %s are", unread, block_names_read())
               : err_set(ERR_FORMAT, "unknown type %" PRIu32 "; %s are read", type,
                         block_names_read());
}

/* Whole blocks in each row, and the bytes of all; wraps: the product of the dimensions did. */
static int set_tensor_bytes(struct gguf_tensor *t, uint64_t elements, bool wraps)
{
    const struct block_format *f = t->format;
    if (t->dims[0] % (uint64_t)f->elements != 0)
        return err_set(ERR_FORMAT, "rows of %" PRIu64 " element%s, %s needs a multiple of %d",
                       t->dims[0], t->dims[0] == 1 ? "" : "s", f->name, f->elements);
    if (wraps ||
        __builtin_mul_overflow(elements / (uint64_t)f->elements, (uint64_t)f->bytes, &t->bytes))
        return err_set(ERR_FORMAT,
                       "shape [%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                       "] has more bytes than a file can hold",
                       t->dims[0], t->dims[1], t->dims[2], t->dims[3]);
    return 0;
}

static int read_shape(struct cursor *c, struct gguf_tensor *t)
{
    uint32_t n_dims, type;
    int rc = read_bytes(c, &n_dims, sizeof n_dims, "number of dimensions");
    if (rc != 0)
        return rc;
    if (n_dims > GGUF_MAX_DIMS)
        return err_set(ERR_FORMAT, "%" PRIu32 " dimensions, at most %d are allowed", n_dims,
                       GGUF_MAX_DIMS);
    t->n_dims = (int)n_dims;
    uint64_t elements = 1;
    for (int i = 0; i < GGUF_MAX_DIMS; i++)
        t->dims[i] = 1;
    bool wraps = false;
    for (int i = 0; i < t->n_dims; i++) {
        if ((rc = read_bytes(c, &t->dims[i], sizeof t->dims[i], "dimension")) != 0)
            return rc;
        wraps |= __builtin_mul_overflow(elements, t->dims[i], &elements);
    }
    if ((rc = read_bytes(c, &type, sizeof type, "type")) != 0 ||
        (rc = set_tensor_type(t, type)) != 0 || (rc = set_tensor_bytes(t, elements, wraps)) != 0)
        return rc;
    return read_bytes(c, &t->at, sizeof t->at, "offset");
}

static int read_tensor(struct cursor *c, struct gguf_tensor *t)
{
    int rc = read_string(c, &t->name, "tensor name");
    if (rc != 0)
        return rc;
    if (t->name.n > MAX_NAME)
        return err_set(ERR_FORMAT, "a tensor name of %zu bytes, at most %d are allowed", t->name.n,
                       MAX_NAME);
    rc = read_shape(c, t);
    return rc == 0 ? 0 : wrap_name(string_in_head(c, t->name), "tensor");
}

/* Magic, version and the two counts. */
static int read_counts(struct cursor *c, uint64_t *n_tensors, uint64_t *n_values)
{
    unsigned char magic[4];
    uint32_t version;
    int rc = read_bytes(c, magic, sizeof magic, "magic number");
    if (rc != 0)
        return rc;
    if (memcmp(magic, "GGUF", 4) != 0)
        return err_set(ERR_FORMAT, "begins with bytes %02x %02x %02x %02x, a GGUF file with GGUF",
                       magic[0], magic[1], magic[2], magic[3]);
    if ((rc = read_bytes(c, &version, sizeof version, "version")) != 0)
        return rc;
    if (version != 0 && (version & 0xffff) == 0)
        return err_set(ERR_UNSUPPORTED,
                       "a big-endian GGUF file (version %" PRIu32
                       "), only little-endian ones are read",
                       __builtin_bswap32(version));
    if (version != 2 && version != 3)
        return err_set(ERR_UNSUPPORTED, "GGUF version %" PRIu32 ", only 2 and 3 are read", version);
    if ((rc = read_bytes(c, n_tensors, sizeof *n_tensors, "number of tensors")) != 0 ||
        (rc = read_bytes(c, n_values, sizeof *n_values, "number of keys")) != 0)
        return rc;
    uint64_t left = c->file->bytes - c->at;
    if (*n_values > left / MIN_VALUE_BYTES)
        return err_set(ERR_FORMAT,
                       "says it has %" PRIu64 " keys, its %" PRIu64 " bytes have room for %" PRIu64,
                       *n_values, c->file->bytes, left / MIN_VALUE_BYTES);
    if (*n_tensors > left / MIN_TENSOR_BYTES)
        return err_set(ERR_FORMAT,
                       "says it has %" PRIu64 " tensors, its %" PRIu64
                       " bytes have room for %" PRIu64,
                       *n_tensors, c->file->bytes, left / MIN_TENSOR_BYTES);
    return 0;
}

/* In order of offset; of equal ones the empty tensor first, so that it does not overlap. */
static int compare_tensor_places(const void *a, const void *b)
{
    const struct gguf_tensor *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at)
                          : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Turn offsets into pointers, and sort the keys. */
static int resolve_values(struct gguf *g)
{
    for (size_t i = 0; i < g->n_values; i++) {
        struct gguf_value *v = &g->values[i];
        v->key.data = (const char *)g->head + (uintptr_t)v->key.data;
        v->data = g->head + (uintptr_t)v->data;
    }
    qsort(g->values, g->n_values, sizeof *g->values, gguf_compare_keys);
    for (size_t i = 1; i < g->n_values; i++)
        if (gguf_compare_keys(&g->values[i - 1], &g->values[i]) == 0) {
            err_set(ERR_FORMAT, "occurs twice");
            return wrap_name(g->values[i].key, "key");
        }
    return 0;
}

/* Where the data section begins. */
static int find_data(const struct gguf *g, size_t head_bytes, uint64_t *alignment, uint64_t *start)
{
    int64_t a = GGUF_DEFAULT_ALIGNMENT;
    int rc = gguf_int(g, "general.alignment", false, 0, INT64_MAX, &a);
    if (rc != 0)
        return rc;
    if (a < 8 || a > MAX_ALIGNMENT || (a & (a - 1)) != 0)
        return err_set(ERR_FORMAT,
                       "general.alignment is %" PRId64 ", must be a power of two from 8 to %d", a,
                       MAX_ALIGNMENT);
    *alignment = (uint64_t)a;
    *start = (head_bytes + *alignment - 1) / *alignment * *alignment;
    return 0;
}

/* Turn offsets into pointers, check where the tensors lie, and sort them by name. */
static int resolve_tensors(struct gguf *g, size_t head_bytes)
{
    uint64_t alignment = 0, start = 0;
    int rc = find_data(g, head_bytes, &alignment, &start);
    if (rc != 0)
        return rc;
    uint64_t room = start < g->file.bytes ? g->file.bytes - start : 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        struct gguf_tensor *t = &g->tensors[i];
        t->name.data = (const char *)g->head + (uintptr_t)t->name.data;
        if (t->at % alignment != 0)
            rc = err_set(ERR_FORMAT,
                         "offset %" PRIu64 " is not a multiple of the alignment, %" PRIu64, t->at,
                         alignment);
        else if (t->at > room || t->bytes > room - t->at)
            rc = err_set(ERR_FORMAT,
                         "%" PRIu64 " bytes at offset %" PRIu64 ", the data section has %" PRIu64,
                         t->bytes, t->at, room);
        if (rc != 0)
            return wrap_name(t->name, "tensor");
        t->at += start;
    }
    qsort(g->tensors, g->n_tensors, sizeof *g->tensors, compare_tensor_places);
    for (size_t i = 1; i < g->n_tensors; i++)
        if (g->tensors[i].at < g->tensors[i - 1].at + g->tensors[i - 1].bytes) {
            char shown[GGUF_SHOWN];
            err_set(ERR_FORMAT, "overlaps tensor %s", gguf_show(shown, g->tensors[i - 1].name));
            return wrap_name(g->tensors[i].name, "tensor");
        }
    qsort(g->tensors, g->n_tensors, sizeof *g->tensors, gguf_compare_names);
    for (size_t i = 1; i < g->n_tensors; i++)
        if (gguf_compare_names(&g->tensors[i - 1], &g->tensors[i]) == 0) {
            err_set(ERR_FORMAT, "occurs twice");
            return wrap_name(g->tensors[i].name, "tensor");
        }
    return 0;
}

static int read_head(struct gguf *g)
{
    struct cursor c = {.file = &g->file};
    uint64_t n_tensors = 0, n_values = 0;
    int rc = read_counts(&c, &n_tensors, &n_values);
    if (rc != 0)
        goto out;
    rc = ERR_RANGE;
    if (n_values > MAX_ENTRIES || n_tensors > MAX_ENTRIES) {
        err_set(rc,
                "it says %" PRIu64 " metadata keys and %" PRIu64 " tensors, at most %d are read",
                n_values, n_tensors, MAX_ENTRIES);
        goto out;
    }
    rc = ERR_NOMEM;
    if ((g->values = mem_array((size_t)n_values, sizeof *g->values)) == NULL ||
        (g->tensors = mem_array((size_t)n_tensors, sizeof *g->tensors)) == NULL)
        goto out;
    g->n_values = (size_t)n_values;
    g->n_tensors = (size_t)n_tensors;
    rc = 0;
    for (size_t i = 0; i < g->n_values && rc == 0; i++)
        rc = read_value(&c, &g->values[i]);
    for (size_t i = 0; i < g->n_tensors && rc == 0; i++)
        rc = read_tensor(&c, &g->tensors[i]);
out:
    g->head = c.data;
    if (rc == 0 && (rc = resolve_values(g)) == 0)
        rc = resolve_tensors(g, c.at);
    return rc;
}

int gguf_open_file(struct gguf *g, struct file file)
{
    *g = (struct gguf){.file = file};
    int rc = read_head(g);
    if (rc != 0)
        gguf_close(g);
    return rc;
}

void gguf_close(struct gguf *g)
{
    if (g == NULL)
        return;
    file_close(&g->file);
    mem_free(g->head);
    mem_free(g->values);
    mem_free(g->tensors);
    *g = (struct gguf){0};
}
