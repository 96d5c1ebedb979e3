#ifndef PRATTLE_WEIGHTS_HF_SAFETENSORS_H
#define PRATTLE_WEIGHTS_HF_SAFETENSORS_H
/* safetensors: u64 length of the header, a JSON header, the tensors' bytes. */
#include "weights/tensors/tensor_file.h"

/*
 * Fills *f or leaves it closed; the open file is f's from then on, or closed. ERR_FORMAT where it
 * is not what it should be. Every size is checked against the file before anything is allocated
 * from it.
 */
int safetensors_open_file(struct tensor_file *f, struct file file);

/* A new file in the folder, whole or not at all: the header, made of its JSON and padded so that
 * the tensors begin at a multiple of 8, then what `write` appends. ERR_EXISTS. */
int safetensors_write(const char *folder, const char *name, struct buf *json,
                      int (*write)(void *user, struct file_writer *f), void *user);

#endif
