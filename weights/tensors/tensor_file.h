#ifndef PRATTLE_WEIGHTS_TENSORS_TENSOR_FILE_H
#define PRATTLE_WEIGHTS_TENSORS_TENSOR_FILE_H
/*
 * A file of named tensors, safetensors or torch, as a checked list of entries. The bytes stay in
 * the file, to be read with file_read_at at an entry's offset.
 */
#include "model/base/dtype.h"
#include "model/base/file.h"

#include <stdint.h>

struct json_t;

enum { TENSOR_RANK_MAX = 8 };

struct tensor_entry {
    char *name; /* owned, NUL-terminated UTF-8 without NUL inside, as in the file */
    enum dtype dtype;
    const char *dtype_name; /* as the file says it: "F32", "I64", "BoolStorage"; static */
    int element_bytes;      /* 1..16; 0: the file's type is smaller than a byte */
    int rank;               /* 0 for a single number */
    uint64_t shape[TENSOR_RANK_MAX];
    uint64_t offset; /* of the first byte, from the start of the file */
    uint64_t bytes;  /* elements times element_bytes, all within the file */
};

struct tensor_file {
    struct file file;
    struct tensor_entry *entries; /* [n], in the file's order; names differ */
    int n;
    struct json_t *metadata; /* safetensors' __metadata__, or NULL; owned */
    struct json_t *about; /* what a training checkpoint says of its model (pickle_json.h), or NULL;
                          owned */
};

/*
 * For the formats: fill *f, which takes over the open file, by `read`. On failure *f and the file
 * are closed, and the message begins "cannot load PATH: ".
 */
int tensor_file_take(struct tensor_file *f, struct file file, int (*read)(struct tensor_file *f));
/* Open a file by its path with a format's function: safetensors_open_file, torch_open_file. */
int tensor_file_open_as(struct tensor_file *f, const char *path,
                        int (*open_file)(struct tensor_file *f, struct file file));
void tensor_file_close(struct tensor_file *f);
/* The tensor of this name; NULL: there is none. */
const struct tensor_entry *tensor_file_find(const struct tensor_file *f, const char *name);
/* The shape in out [n], "[768,50257]" or "[]", cut if it does not fit. Returns out. */
const char *tensor_shape_text(char *out, size_t n, const struct tensor_entry *e);

#endif
