#include "weights/hf/safetensors.h"

#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/little_endian.h"
#include "model/base/mem.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, MAX_HEADER = 8 << 20, SHOWN = 120 };

static const struct {
    const char *name;
    int bits;
    enum dtype dtype;
} dtypes[] = {{"F32", 32, DTYPE_F32},      {"F16", 16, DTYPE_F16},      {"BF16", 16, DTYPE_BF16},
              {"F64", 64, DTYPE_OTHER},    {"I64", 64, DTYPE_OTHER},    {"I32", 32, DTYPE_OTHER},
              {"I16", 16, DTYPE_OTHER},    {"I8", 8, DTYPE_OTHER},      {"U64", 64, DTYPE_OTHER},
              {"U32", 32, DTYPE_OTHER},    {"U16", 16, DTYPE_OTHER},    {"U8", 8, DTYPE_OTHER},
              {"BOOL", 8, DTYPE_OTHER},    {"C64", 64, DTYPE_OTHER},    {"F8_E4M3", 8, DTYPE_OTHER},
              {"F8_E5M2", 8, DTYPE_OTHER}, {"F8_E8M0", 8, DTYPE_OTHER}, {"F6_E2M3", 6, DTYPE_OTHER},
              {"F6_E3M2", 6, DTYPE_OTHER}, {"F4", 4, DTYPE_OTHER}};
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

/* The bits of one element; 0 after err_set. */
static int read_dtype(struct tensor_entry *e, const json_t *o)
{
    const json_t *value = json_object_get(o, "dtype");
    const char *name = json_string_value(value);
    for (int i = 0; i < N_DTYPES && name != NULL; i++)
        if (strcmp(name, dtypes[i].name) == 0) {
            e->dtype = dtypes[i].dtype;
            e->dtype_name = dtypes[i].name;
            e->element_bytes = dtypes[i].bits % 8 == 0 ? dtypes[i].bits / 8 : 0;
            return dtypes[i].bits;
        }
    char shown[SHOWN];
    err_set(ERR_FORMAT, "dtype is %s, must be a type of safetensors, as F32, F16 or BF16",
            value == NULL ? "missing" : json_shown(shown, sizeof shown, value));
    return 0;
}

/* A list of whole numbers from 0 on. */
static int read_list(uint64_t *out, int *n, const json_t *o, const char *key, int most)
{
    const json_t *list = json_object_get(o, key);
    char shown[SHOWN];
    if (!json_is_array(list))
        return err_set(ERR_FORMAT, "%s is %s, must be a list", key,
                       list == NULL ? "missing" : json_shown(shown, sizeof shown, list));
    size_t size = json_array_size(list);
    if (size > (size_t)most)
        return err_set(ERR_FORMAT, "%s has %zu numbers, at most %d are possible", key, size, most);
    for (size_t i = 0; i < size; i++) {
        const json_t *value = json_array_get(list, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0)
            return err_set(ERR_FORMAT, "%s has %s, must be whole numbers from 0 on", key,
                           json_shown(shown, sizeof shown, value));
        out[i] = (uint64_t)json_integer_value(value);
    }
    *n = (int)size;
    return 0;
}

/* Bytes of the shape's elements; false if their bits pass 2^64 or are no whole number of bytes. */
static bool shape_bytes(uint64_t *bytes, const struct tensor_entry *e, int bits)
{
    uint64_t n = (uint64_t)bits;
    bool over = false;
    for (int i = 0; i < e->rank; i++)
        over |= __builtin_mul_overflow(n, e->shape[i], &n);
    /* A zero dimension after an overflow would make the tensor empty: refused too. */
    *bytes = n / 8;
    return !over && n % 8 == 0;
}

/* One entry of the header; the tensors' bytes are the n_data bytes from offset data on. */
static int read_entry(struct tensor_entry *e, const json_t *o, uint64_t data, uint64_t n_data)
{
    if (!json_is_object(o))
        return err_set(ERR_FORMAT, "the header has no object for it");
    int bits = read_dtype(e, o), n_ends = 0;
    if (bits == 0)
        return ERR_FORMAT;
    uint64_t ends[2], bytes;
    int rc = read_list(e->shape, &e->rank, o, "shape", TENSOR_RANK_MAX);
    if (rc == 0)
        rc = read_list(ends, &n_ends, o, "data_offsets", 2);
    if (rc != 0)
        return rc;
    if (n_ends != 2)
        return err_set(ERR_FORMAT, "data_offsets has %d numbers, must have 2", n_ends);
    if (ends[0] > ends[1])
        return err_set(ERR_FORMAT, "data_offsets run backwards, from %" PRIu64 " to %" PRIu64,
                       ends[0], ends[1]);
    if (ends[1] > n_data)
        return err_set(ERR_FORMAT,
                       "data_offsets end at %" PRIu64 ", the file has %" PRIu64 " bytes of data",
                       ends[1], n_data);
    char shape[120];
    tensor_shape_text(shape, sizeof shape, e);
    if (!shape_bytes(&bytes, e, bits))
        return err_set(ERR_FORMAT, "shape %s of %s is not a number of bytes below 2^61", shape,
                       e->dtype_name);
    if (bytes != ends[1] - ends[0])
        return err_set(ERR_FORMAT,
                       "shape %s of %s needs %" PRIu64 " bytes, data_offsets give it %" PRIu64,
                       shape, e->dtype_name, bytes, ends[1] - ends[0]);
    e->offset = data + ends[0];
    e->bytes = bytes;
    return 0;
}

/* In order of offset; of equal ones the empty tensor first. */
static int compare_offsets(const void *a, const void *b)
{
    const struct tensor_entry *x = *(const struct tensor_entry *const *)a;
    const struct tensor_entry *y = *(const struct tensor_entry *const *)b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int wrap_name(const char *name)
{
    char shown[SHOWN];
    return err_wrap("tensor %s", file_show(shown, sizeof shown, name));
}

/* The tensors must cover the data without gaps or overlaps. */
static int check_coverage(const struct tensor_file *f, uint64_t data)
{
    const struct tensor_entry **order = mem_array((size_t)f->n, sizeof *order);
    if (order == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < f->n; i++)
        order[i] = &f->entries[i];
    qsort(order, (size_t)f->n, sizeof *order, compare_offsets);
    uint64_t at = data;
    int rc = 0;
    for (int i = 0; i < f->n && rc == 0; i++) {
        const struct tensor_entry *e = order[i];
        if (e->offset != at) {
            err_set(ERR_FORMAT, "data_offsets begin at %" PRIu64 ", %s %" PRIu64, e->offset - data,
                    e->offset < at ? "within another tensor that ends at" : "after a gap from",
                    at - data);
            rc = wrap_name(e->name);
        }
        at = e->offset + e->bytes;
    }
    mem_free(order);
    if (rc == 0 && at != f->file.bytes)
        rc = err_set(ERR_FORMAT, "the tensors end at byte %" PRIu64 ", the file has %" PRIu64, at,
                     f->file.bytes);
    return rc;
}

static int read_metadata(struct tensor_file *f, json_t *o)
{
    const char *format;
    if (o == NULL)
        return 0;
    if (!json_is_object(o))
        return err_set(ERR_FORMAT, "__metadata__ is not an object");
    f->metadata = json_incref(o);
    return json_take_text(o, "format", &format);
}

static int read_entries(struct tensor_file *f, json_t *header, uint64_t data)
{
    int rc = read_metadata(f, json_object_get(header, "__metadata__"));
    if (rc != 0)
        return rc;
    f->entries = mem_array(json_object_size(header), sizeof *f->entries);
    if (f->entries == NULL)
        return ERR_NOMEM;
    const char *name;
    json_t *o;
    json_object_foreach(header, name, o)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        struct tensor_entry *e = &f->entries[f->n];
        if ((e->name = mem_strdup(name)) == NULL)
            return ERR_NOMEM;
        f->n++;
        if ((rc = read_entry(e, o, data, f->file.bytes - data)) != 0)
            return wrap_name(name);
    }
    return check_coverage(f, data);
}

static int read_header(struct tensor_file *f)
{
    unsigned char head[LENGTH_BYTES];
    if (f->file.bytes < LENGTH_BYTES)
        return err_set(ERR_FORMAT, "the file has %" PRIu64 " bytes, a safetensors file at least %d",
                       f->file.bytes, LENGTH_BYTES);
    int rc = file_read_at(&f->file, head, 0, sizeof head);
    if (rc != 0)
        return rc;
    const uint64_t length = le64_at(head);
    if (length > MAX_HEADER)
        return err_set(ERR_FORMAT, "the header's length is %" PRIu64 " bytes, at most %d are read",
                       length, MAX_HEADER);
    if (length > f->file.bytes - LENGTH_BYTES)
        return err_set(ERR_FORMAT,
                       "the header's length is %" PRIu64 " bytes, the file has %" PRIu64
                       " after it",
                       length, f->file.bytes - LENGTH_BYTES);
    if (length == 0)
        return err_set(ERR_FORMAT, "the header's length is 0");
    struct buf text = {0};
    json_t *header = NULL;
    if ((rc = buf_reserve(&text, (size_t)length)) == 0 &&
        (rc = file_read_at(&f->file, text.data, LENGTH_BYTES, (size_t)length)) == 0 &&
        (rc = json_read_text(&header, text.data, (size_t)length)) != 0)
        rc = err_wrap("the header is wrong");
    buf_release(&text);
    if (rc == 0)
        rc = json_is_object(header) ? read_entries(f, header, LENGTH_BYTES + length)
                                    : err_set(ERR_FORMAT, "the header is no JSON object");
    json_decref(header);
    return rc;
}

int safetensors_open_file(struct tensor_file *f, struct file file)
{
    return tensor_file_take(f, file, read_header);
}

/* The JSON's length, then the JSON, filled up with spaces to a multiple of 8. */
static int write_header(struct file_writer *f, struct buf *json)
{
    int rc = 0;
    while (rc == 0 && json->n % 8 != 0)
        rc = buf_char(json, ' ');
    const uint64_t length = htole64(json->n);
    if (rc == 0)
        rc = file_write(f, &length, sizeof length);
    return rc != 0 ? rc : file_write(f, json->data, json->n);
}

int safetensors_write(const char *folder, const char *name, struct buf *json,
                      int (*write)(void *user, struct file_writer *f), void *user)
{
    struct file_writer f = {.fd = -1};
    char *path = file_join(folder, name);
    int rc = path == NULL ? ERR_NOMEM : file_create(&f, path, false);
    if (rc == 0 && (rc = write_header(&f, json)) == 0 && (rc = write(user, &f)) == 0)
        rc = file_commit(&f);
    file_abandon(&f);
    mem_free(path);
    return rc;
}
