#ifndef PRATTLE_PICKLE_H
#define PRATTLE_PICKLE_H
/*
 * The pickle of a torch state dict (Python's pickletools.py tells the opcodes). This
 * is no unpickler: it knows the few opcodes and the few globals that a dict of tensors
 * needs, builds plain values of its own, and refuses everything else by name. Nothing
 * is looked up, called or executed, and memory is bounded by the pickle's length.
 */
#include "weights/tensor_file.h"

#include <stddef.h>

/* One item of the dict, its texts borrowed from the pickle. */
struct pickle_tensor {
    const char *name, *key; /* key: of the storage, "0" for archive/data/0 */
    size_t n_name, n_key;
    enum tensor_dtype dtype;
    const char *dtype_name; /* "FloatStorage"; static */
    int element_bytes;
    uint64_t storage_elements;
    uint64_t first; /* element of the storage at which the tensor begins */
    int rank;
    uint64_t shape[TENSOR_RANK_MAX];
    uint64_t n_elements; /* first + n_elements <= storage_elements */
};

/*
 * The tensors of the dict in its order; items that are no tensors are passed over.
 * *out is to be freed with mem_free. ERR_FORMAT: broken; ERR_UNSUPPORTED: an opcode or
 * a global outside the lists, or a tensor that does not lie row by row.
 */
int pickle_read(struct pickle_tensor **out, int *n, const char *bytes, size_t n_bytes);

#endif
