#ifndef PRATTLE_WEIGHTS_TORCH_TORCH_H
#define PRATTLE_WEIGHTS_TORCH_TORCH_H
/*
 * pytorch_model.bin: a zip of a pickle and its storages, or, before torch 1.6, one after another in
 * a stream. Nothing in it is executed.
 */
#include "weights/tensors/tensor_file.h"

/*
 * Fill *f, which takes over the open file; on failure *f and the file are closed. ERR_FORMAT: not a
 * valid file; ERR_UNSUPPORTED: recognized but not read. Every size is checked against the file
 * before memory is allocated from it.
 */
int torch_open_file(struct tensor_file *f, struct file file);

#endif
