#ifndef PRATTLE_TRAIN_DATA_TOKEN_USE_H
#define PRATTLE_TRAIN_DATA_TOKEN_USE_H
/*
 * What the documents of a data set are like: their lengths, which ids they use, how they end.
 */
#include "model/base/progress.h"
#include "train/data/dataset.h"

enum { USE_LENGTHS = 48 };
#define USE_READ ((uint64_t)1 << 28) /* ids that are read at most */

struct token_use {
    uint64_t shortest, median, longest; /* tokens of a document */
    uint64_t lengths[USE_LENGTHS];      /* documents of 2^i to 2^(i+1) - 1 tokens */
    uint64_t read;                      /* ids that were looked at, from the first on */
    uint64_t used;                      /* different ids among them */
    uint64_t ended, seen;               /* documents that end with eos (llm.c's: begin with it), of
                                           those looked at */
    uint64_t inside;                    /* eos elsewhere in these */
};
/* eos: TOKEN_NONE if there is none. ERR_IO, ERR_FORMAT, ERR_NOMEM, ERR_INTERRUPTED. */
int token_use_read(struct token_use *u, const struct dataset *d, token_id eos,
                   const struct progress *p);

#endif
