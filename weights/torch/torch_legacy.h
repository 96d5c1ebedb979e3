#ifndef PRATTLE_WEIGHTS_TORCH_TORCH_LEGACY_H
#define PRATTLE_WEIGHTS_TORCH_TORCH_LEGACY_H
#include "weights/tensors/tensor_file.h"

/* torch.save's stream from before 1.6 (weights/torch/pickle_stream.h), in out->file. */
int torch_legacy_read(struct tensor_file *out);

#endif
