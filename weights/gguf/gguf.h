#ifndef PRATTLE_WEIGHTS_GGUF_GGUF_H
#define PRATTLE_WEIGHTS_GGUF_GGUF_H
/*
 * GGUF files, versions 2 and 3, little-endian.
 * After gguf_open every count, length and offset has been held against the bytes of
 * the file: strings and arrays lie inside the head, tensors inside the data section
 * and beside each other. No name occurs twice.
 */
#include "weights/gguf/gguf_table.h"

/* ERR_FORMAT, or ERR_UNSUPPORTED for a version, byte order or tensor type that is
 * not read, named in the sentence. */
int gguf_open(struct gguf *g, const char *path);
/* The same of an open file, which is g's from then on, or closed. */
int gguf_open_file(struct gguf *g, struct file file);
void gguf_close(struct gguf *g);

#endif
