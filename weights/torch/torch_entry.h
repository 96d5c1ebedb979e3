#ifndef PRATTLE_WEIGHTS_TORCH_TORCH_ENTRY_H
#define PRATTLE_WEIGHTS_TORCH_TORCH_ENTRY_H
/*
 * From a pickle's tensor to an entry of the file, for both of torch's formats. Private to torch.c
 * and torch_legacy.c.
 */
#include "weights/torch/pickle_tensor.h"

enum { TORCH_PICKLE_MAX_BYTES = 16 << 20 };

/* Append to out->entries, which has room. storage_at, storage_bytes: the bytes of the tensor's
 * storage in the file; ERR_FORMAT: they are too few. */
int torch_entry_add(struct tensor_file *out, const struct pickle_tensor *t, uint64_t storage_at,
                    uint64_t storage_bytes);
/* ERR_FORMAT: two tensors have the same name. */
int torch_entries_check(const struct tensor_file *f);

#endif
