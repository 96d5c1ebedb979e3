#ifndef PRATTLE_TRAIN_DATA_TOKEN_WRITER_H
#define PRATTLE_TRAIN_DATA_TOKEN_WRITER_H
/*
 * Writes a Megatron data set: ids to PREFIX.bin as they come, which takes its place after
 * PREFIX.idx, so that a set with a .bin is complete. Memory does not grow with the number of
 * documents, but by 8 bytes for each that is cut.
 */
#include "model/base/file.h"
#include "model/config.h"

/* n ids as uint16 (width 2) or int32 (width 4), into any file of tokens. */
int token_ids_write(struct file_writer *f, int width, const token_id *ids, size_t n);

struct token_writer {
    struct file_writer bin, idx;
    char *prefix;       /* owned */
    int width;          /* 2 (uint16) or 4 (int32) */
    struct buf inner;   /* u64: the sequences that do not end their document */
    uint64_t n_tokens;  /* written */
    uint64_t sequences; /* ended */
    uint64_t open;      /* ids of the sequence in progress */
    bool goes_on;       /* it is not the first of its document */
};
/* Ids are below n_ids. The commit replaces an existing set; if it fails, there is no complete set.
 * ERR_IO, ERR_NOMEM. */
int token_writer_open(struct token_writer *w, const char *prefix, int n_ids);
int token_writer_add(struct token_writer *w, const token_id *ids, size_t n);
/* End the sequence, but not its document, which has at least one more, empty or not. */
int token_writer_cut(struct token_writer *w);
/* End the document; one without ids is left out. */
int token_writer_end(struct token_writer *w);
int token_writer_commit(struct token_writer *w);
void token_writer_abandon(struct token_writer *w); /* harmless after a commit */

#endif
