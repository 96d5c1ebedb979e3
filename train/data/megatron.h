#ifndef PRATTLE_TRAIN_DATA_MEGATRON_H
#define PRATTLE_TRAIN_DATA_MEGATRON_H
/*
 * Megatron-LM's and fairseq's "mmap" data set: PREFIX.bin has the ids, PREFIX.idx their
 * type, the sequences and which of them begin documents.
 */
#include "train/data/token_file.h"

/* For token_file_open: fills what that describes. */
int megatron_open(struct token_file *f, const char *path);
/* path with ".bin" and ".idx" taken off, and `ending` put on, in fresh memory. */
char *megatron_path(const char *path, const char *ending);

#endif
