#ifndef PRATTLE_WEIGHTS_TORCH_PICKLE_H
#define PRATTLE_WEIGHTS_TORCH_PICKLE_H
/*
 * The pickle of a torch state dict (Python's pickletools.py tells the opcodes). This
 * is no unpickler: it knows the few opcodes and the few globals that a dict of tensors
 * needs, builds plain values of its own, and refuses everything else by name. Nothing
 * is looked up, called or executed, and memory is bounded by the pickle's length.
 */
#include "weights/tensors/tensor_file.h"

#include <stddef.h>

enum { PICKLE_SHOWN = 96 };
/* A text of a pickle, cut short and made visible, for sentences. Returns out. */
const char *pickle_show(char out[PICKLE_SHOWN], const char *text, size_t n);

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

/* A storage, as the pickle of a tensor names it. */
struct pickle_storage_id {
    const char *key; /* borrowed from the pickle */
    size_t n_key;
    int element_bytes;
    uint64_t elements;
};

/*
 * torch.save's stream from before torch 1.6 (torch/serialization.py, _legacy_save): the
 * pickles of a magic number, a protocol version, what the machine was, the dict and the
 * list of its storages' keys, and behind them the storages in that list's order.
 */
struct pickle_stream {
    struct pickle_tensor *tensors; /* [n_tensors], as pickle_read gives them */
    int n_tensors;
    struct pickle_storage_id *storages; /* [n_storages], sorted by key, which differ */
    int *order;                         /* [n_storages], into storages: as they lie in the file */
    int n_storages;
    size_t n_bytes; /* of the pickles together */
};
bool pickle_is_stream(const char *bytes, size_t n_bytes);
/* Of bytes that begin one; texts are borrowed from them. Errors as of pickle_read; *out is to
 * be released after either. */
int pickle_stream_read(struct pickle_stream *out, const char *bytes, size_t n_bytes);
void pickle_stream_release(struct pickle_stream *s);
/* The place in storages of the storage that a tensor lies in; each tensor has one. */
int pickle_stream_find(const struct pickle_stream *s, const char *key, size_t n_key);

#endif
