#ifndef PRATTLE_WEIGHTS_TORCH_TORCH_H
#define PRATTLE_WEIGHTS_TORCH_TORCH_H
/*
 * pytorch_model.bin: a zip of a pickle and its storages, or as torch before 1.6 wrote it, these
 * behind each other. Nothing in it is executed.
 */
#include "weights/tensors/tensor_file.h"

/*
 * Fills *f or leaves it closed; the open file is f's from then on, or closed. ERR_FORMAT where it
 * is not what it should be; ERR_UNSUPPORTED for what is understood but not read. Every size is
 * checked against the file before anything is allocated from it.
 */
int torch_open_file(struct tensor_file *f, struct file file);

#endif
