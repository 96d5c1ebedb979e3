#ifndef PRATTLE_WEIGHTS_HF_SAFETENSORS_H
#define PRATTLE_WEIGHTS_HF_SAFETENSORS_H
/* safetensors (https://github.com/huggingface/safetensors): the header's length as u64, a JSON
 * header, the tensors' bytes. */
#include "weights/tensors/tensor_file.h"

/*
 * Fill *f, which takes over the open file; on failure *f and the file are closed. ERR_FORMAT: not a
 * valid file. Every size is checked against the file before memory is allocated from it.
 */
int safetensors_open_file(struct tensor_file *f, struct file file);

/* A new file in the folder, whole or not at all: the header, made of its JSON and padded so that
 * the tensors begin at a multiple of 8, then what `write` appends. ERR_EXISTS. */
int safetensors_write(const char *folder, const char *name, struct buf *json,
                      int (*write)(void *user, struct file_writer *f), void *user);

#endif
