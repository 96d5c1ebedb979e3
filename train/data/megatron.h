#ifndef PRATTLE_TRAIN_DATA_MEGATRON_H
#define PRATTLE_TRAIN_DATA_MEGATRON_H
/*
 * Megatron-LM's and fairseq's "mmap" data set: PREFIX.bin has the ids, PREFIX.idx their
 * type, the sequences and which of them begin documents.
 */
#include "model/base/file.h"

struct megatron {
    struct file file; /* PREFIX.bin */
    int width;        /* bytes of an id: 1, 2, 4, 8; below 0 where they are signed */
    uint64_t n_tokens, n_documents;
    uint64_t *documents; /* [n_documents + 1], where each begins; owned */
    /* [n_documents], where the second sequence of each begins, or the document, where it has one
     * sequence, or the first is as long as a sequence can be; NULL: that of all; owned. */
    uint64_t *seconds;
};
/* path: PREFIX, PREFIX.bin or PREFIX.idx. ERR_MISSING, ERR_IO, ERR_FORMAT, ERR_NOMEM; the caller
 * releases file, documents and seconds also after a failure. */
int megatron_open(struct megatron *f, const char *path);
/* path with `ending` in place of ".bin" or ".idx", in fresh memory. */
char *megatron_path(const char *path, const char *ending);

#endif
