#ifndef PRATTLE_WEIGHTS_TORCH_PICKLE_STREAM_H
#define PRATTLE_WEIGHTS_TORCH_PICKLE_STREAM_H
/*
 * torch.save's stream from before torch 1.6 (torch/serialization.py, _legacy_save): the
 * pickles of a magic number, a protocol version, what the machine was, the dict and the
 * list of its storages' keys, and behind them the storages in that list's order.
 */
#include "weights/torch/pickle_tensor.h"

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
