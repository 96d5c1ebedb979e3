#ifndef PRATTLE_WEIGHTS_TORCH_PICKLE_STREAM_H
#define PRATTLE_WEIGHTS_TORCH_PICKLE_STREAM_H
/*
 * torch.save's stream before torch 1.6 (torch/serialization.py, _legacy_save): pickles of a magic
 * number, a protocol version, a description of the machine, the dict, and the list of its storages'
 * keys, followed by the storages in the order of that list.
 */
#include "weights/torch/pickle_tensor.h"

struct pickle_stream {
    struct pickle_tensor *tensors; /* [n_tensors], as of pickle_read */
    int n_tensors;
    struct json_t *about;               /* as of pickle_read */
    struct pickle_storage_id *storages; /* [n_storages], sorted by key; keys are unique */
    int *order; /* [n_storages], indices into storages, in the order of the file */
    int n_storages;
    size_t n_bytes; /* of all pickles together */
};
/* Whether bytes begin with the magic number. */
bool pickle_is_stream(const char *bytes, size_t n_bytes);
/* Read a stream's pickles; texts are borrowed from bytes. Fails as pickle_read; *out is to be
 * released also after a failure. */
int pickle_stream_read(struct pickle_stream *out, const char *bytes, size_t n_bytes);
void pickle_stream_release(struct pickle_stream *s);
/* The index in storages of a tensor's storage by its key; -1: there is none. */
int pickle_stream_find(const struct pickle_stream *s, const char *key, size_t n_key);

#endif
