#ifndef PRATTLE_WEIGHTS_TORCH_TORCH_LEGACY_H
#define PRATTLE_WEIGHTS_TORCH_TORCH_LEGACY_H
#include "weights/tensors/tensor_file.h"

/* Read torch.save's stream before torch 1.6 (weights/torch/pickle_stream.h) from out->file. Fails
 * as torch_open_file. */
int torch_legacy_read(struct tensor_file *out);

#endif
