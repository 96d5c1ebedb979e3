#ifndef PRATTLE_TRAIN_DATA_TOKEN_WRITER_H
#define PRATTLE_TRAIN_DATA_TOKEN_WRITER_H
/*
 * Writes a Megatron data set: ids as they come to PREFIX.bin, and at the end PREFIX.idx
 * last, so that a set with an index is whole.
 */
#include "model/base/file.h"
#include "model/config.h"

struct token_writer {
    struct file_writer bin;
    char *prefix;       /* owned */
    int width;          /* 2 (uint16) or 4 (int32) */
    struct buf sizes;   /* i32 for each sequence */
    struct buf bounds;  /* i64 for each document and its end: places among the sequences */
    uint64_t n_tokens;  /* written */
    uint64_t sequences; /* ended */
    uint64_t open;      /* ids of the document in progress that no sequence has yet */
};
/* Replaces what is there, at the commit; where that fails there is no whole set. Ids are below
 * n_ids. */
int token_writer_open(struct token_writer *w, const char *prefix, int n_ids);
int token_writer_add(struct token_writer *w, const token_id *ids, size_t n);
/* The document ends here; one without ids is left out. */
int token_writer_end(struct token_writer *w);
int token_writer_commit(struct token_writer *w);
void token_writer_abandon(struct token_writer *w); /* harmless after a commit */

#endif
