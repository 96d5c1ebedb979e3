#ifndef PRATTLE_WEIGHTS_TORCH_PICKLE_TENSOR_H
#define PRATTLE_WEIGHTS_TORCH_PICKLE_TENSOR_H
/* A tensor and its storage as a pickle of torch describes them. */
#include "weights/tensors/tensor_file.h"

#include <stddef.h>

enum { PICKLE_SHOWN = 96 };
/* A text of a pickle for messages, escaped and cut. Returns out. */
const char *pickle_show(char out[PICKLE_SHOWN], const char *text, size_t n);

/* One item of the dict; its texts are borrowed from the pickle. */
struct pickle_tensor {
    const char *name, *key; /* key: of the storage, "0" for archive/data/0 */
    size_t n_name, n_key;
    enum dtype dtype;
    const char *dtype_name; /* "FloatStorage"; static */
    int element_bytes;
    uint64_t storage_elements;
    uint64_t first; /* index in the storage of the tensor's first element */
    int rank;
    uint64_t shape[TENSOR_RANK_MAX];
    uint64_t n_elements; /* first + n_elements <= storage_elements */
};

/* A storage. */
struct pickle_storage_id {
    const char *key; /* borrowed from the pickle */
    size_t n_key;
    int element_bytes;
    uint64_t elements;
};

#endif
