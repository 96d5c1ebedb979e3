#ifndef PRATTLE_WEIGHTS_HF_TENSOR_OPEN_H
#define PRATTLE_WEIGHTS_HF_TENSOR_OPEN_H
/* Tensor files of Hugging Face folders: safetensors, or torch's. */
#include "weights/tensors/tensor_file.h"

/* Open either, by the file's name or its first bytes; f takes over the file, or it is closed on
 * failure. Fails as sniff_refuse
 * (weights/tensors/sniff.h), safetensors_open_file and torch_open_file. */
int tensor_file_open_file(struct tensor_file *f, struct file file);

#endif
