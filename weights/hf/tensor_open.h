#ifndef PRATTLE_WEIGHTS_HF_TENSOR_OPEN_H
#define PRATTLE_WEIGHTS_HF_TENSOR_OPEN_H
/* A file of tensors as Hugging Face folders have them: safetensors, or torch's. */
#include "weights/tensors/tensor_file.h"

/* Either, as the file's name or its first bytes have it; what only stands where weights should is
 * named (weights/tensors/sniff.h). Fails as safetensors_open_file and torch_open_file do. */
int tensor_file_open(struct tensor_file *f, const char *path);
/* The same of an open file, which is f's from then on, or closed. */
int tensor_file_open_file(struct tensor_file *f, struct file file);

#endif
