#ifndef PRATTLE_WEIGHTS_GGUF_GGUF_TABLE_H
#define PRATTLE_WEIGHTS_GGUF_GGUF_TABLE_H
/*
 * The contents of a GGUF file, keys with values and tensors, looked up by name
 * (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). gguf.h reads and checks them.
 */
#include "model/base/file.h"
#include "weights/gguf/blocks.h"

enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_TYPES
};
enum { GGUF_MAX_DIMS = 4, GGUF_DEFAULT_ALIGNMENT = 32 };

struct gguf_string {
    const char *data; /* in the head; contains no NUL and is not followed by one */
    size_t n;
};

struct gguf_value {
    struct gguf_string key;
    enum gguf_type type, item; /* item: of an array's elements */
    uint64_t n;                /* elements of an array, else 1 */
    const unsigned char *data; /* as in the file, in the head */
    size_t bytes;
};

struct gguf_tensor {
    struct gguf_string name;
    const struct block_format *format;
    int n_dims;
    uint64_t dims[GGUF_MAX_DIMS]; /* dims[0] is the contiguous one; 1 from n_dims on. Rows of
                                     whole blocks */
    uint64_t at, bytes;           /* in the file */
};

struct gguf {
    struct file file;
    unsigned char *head;         /* owned: the file up to the data section */
    struct gguf_value *values;   /* [n_values], by key */
    struct gguf_tensor *tensors; /* [n_tensors], by name */
    size_t n_values, n_tensors;
};

const struct gguf_value *gguf_find(const struct gguf *g, const char *key); /* NULL: none */
const struct gguf_tensor *gguf_find_tensor(const struct gguf *g, const char *name);

/*
 * The value of a key. If it is missing, *out is unchanged, or ERR_MISSING if it is required.
 * ERR_RANGE: out of range or of the wrong type, which the message names.
 */
int gguf_int(const struct gguf *g, const char *key, bool required, int64_t min, int64_t max,
             int64_t *out);
int gguf_float(const struct gguf *g, const char *key, bool required, float *out);
int gguf_bool(const struct gguf *g, const char *key, bool *out);
/* The last part of a file's path, without .gguf, in new memory: a model's name. */
char *gguf_file_title(const char *path);
/* A copy in new memory; NULL if the key is missing and not required. */
int gguf_text(const struct gguf *g, const char *key, bool required, char **out);
/*
 * An array of strings as C strings in one block, pointers first, to be freed with mem_free; NULL
 * and *n = 0 if the key is missing.
 */
int gguf_texts(const struct gguf *g, const char *key, const char ***out, int *n);
/* ERR_UNSUPPORTED if the key's text is not `wanted`. */
int gguf_check_text(const struct gguf *g, const char *key, bool required, const char *wanted);
/* An array of 32-bit integers, borrowed from the head, unaligned; NULL and *n = 0 if it is missing.
 */
int gguf_ints(const struct gguf *g, const char *key, const unsigned char **out, int *n);

/* A name for a message, shortened if it is long. Returns out. */
enum { GGUF_SHOWN = 80 };
const char *gguf_show(char out[GGUF_SHOWN], struct gguf_string s);

/* Comparison of keys and of tensors, for qsort and bsearch. */
int gguf_compare_keys(const void *a, const void *b);
int gguf_compare_names(const void *a, const void *b);

#endif
