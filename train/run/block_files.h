#ifndef PRATTLE_TRAIN_RUN_BLOCK_FILES_H
#define PRATTLE_TRAIN_RUN_BLOCK_FILES_H
/*
 * The optimizer's blocks in a checkpoint: one file, training.safetensors, or one of each process
 * that has a part of them, training-00001-of-00003.safetensors and so on. Their tensors:
 *
 *   exp_avg         a whole block
 *   exp_avg:4096    elements of it from number 4096 on; all files together have each just once
 */
#include "model/base/file_set.h"
#include "model/base/progress.h"
#include "train/optim/optimizer.h"
#include "train/step/stage.h"
#include "weights/tensors/tensor_file.h"

enum { BLOCK_FILE_NAME = 64 };
/* Of part k of n, from 0; n 0: the name of the one file. */
void block_file_name(char out[BLOCK_FILE_NAME], int k, int n);

/* What is written of blocks. */
struct block_content {
    const struct optimizer_block *blocks;
    int n_blocks;
    const struct spans *own; /* [n_blocks], the parts of a file of parts; NULL: all of them */
    /* Bytes of them, where these are not all in this process; NULL: they are. */
    int (*read)(void *user, int block, void *to, size_t first, size_t n);
    void *user;
};
/* The file of this name, which must not be there. ERR_IO, ERR_NOMEM, ERR_INTERRUPTED: it is not. */
int block_file_write(const char *folder, const char *name, const struct block_content *c,
                     const struct progress *p);

/* To be read. */
struct block_files {
    struct tensor_file *files; /* [n] */
    int n;
};
/* Those of a set of open files. ERR_FORMAT: there is none, or one of the parts is missing. */
int block_files_open(struct block_files *f, const struct file_set *open, const char *folder);
void block_files_close(struct block_files *f);
/* Fill the block, or these spans of it (NULL: all); `from` is what has it, for the sentence.
 * ERR_MISMATCH where type or size differ or parts are missing. */
int block_files_read(const struct block_files *f, const struct optimizer_block *b,
                     const struct spans *own, const char *from);

#endif
