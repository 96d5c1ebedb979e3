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

/* What a safetensors file begins with: the JSON's length, then it, filled up with spaces so that
 * the tensors lie at a multiple of 8. */
int safetensors_write_head(struct file_writer *f, struct buf *json);
/* A new file of the folder, whole or not at all: that head, then what `write` puts behind it. */
int safetensors_write(const char *folder, const char *name, struct buf *json,
                      int (*write)(void *user, struct file_writer *f), void *user);

#endif
