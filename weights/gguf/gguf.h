#ifndef PRATTLE_WEIGHTS_GGUF_GGUF_H
#define PRATTLE_WEIGHTS_GGUF_GGUF_H
/*
 * GGUF files, versions 2 and 3, little-endian. gguf_open_file checks every count, length and offset
 * against the size of the file: strings and arrays lie within the head, tensors within the data
 * section without overlap, and no name occurs twice.
 */
#include "weights/gguf/gguf_table.h"

/* Takes over an open file, which is closed on failure. ERR_FORMAT; ERR_UNSUPPORTED names the
 * version, byte order or tensor type that is not read; ERR_RANGE: more than 2^20 keys or tensors.
 */
int gguf_open_file(struct gguf *g, struct file file);
void gguf_close(struct gguf *g);

#endif
