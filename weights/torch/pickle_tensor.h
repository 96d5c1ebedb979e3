#ifndef PRATTLE_WEIGHTS_TORCH_PICKLE_TENSOR_H
#define PRATTLE_WEIGHTS_TORCH_PICKLE_TENSOR_H
/* What a pickle of torch says of a tensor, and of the storage that it lies in. */
#include "weights/tensors/tensor_file.h"

#include <stddef.h>

enum { PICKLE_SHOWN = 96 };
/* A text of a pickle, cut short and made visible, for sentences. Returns out. */
const char *pickle_show(char out[PICKLE_SHOWN], const char *text, size_t n);

/* One item of the dict, its texts borrowed from the pickle. */
struct pickle_tensor {
    const char *name, *key; /* key: of the storage, "0" for archive/data/0 */
    size_t n_name, n_key;
    enum dtype dtype;
    const char *dtype_name; /* "FloatStorage"; static */
    int element_bytes;
    uint64_t storage_elements;
    uint64_t first; /* element of the storage at which the tensor begins */
    int rank;
    uint64_t shape[TENSOR_RANK_MAX];
    uint64_t n_elements; /* first + n_elements <= storage_elements */
};

/* A storage, as the pickle of a tensor names it. */
struct pickle_storage_id {
    const char *key; /* borrowed from the pickle */
    size_t n_key;
    int element_bytes;
    uint64_t elements;
};

#endif
