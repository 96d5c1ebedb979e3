#ifndef PRATTLE_TRAIN_PREPARE_TOKEN_INTAKE_H
#define PRATTLE_TRAIN_PREPARE_TOKEN_INTAKE_H
/*
 * The documents of token files into a store, in their order, as intake.h has those of texts. What
 * is too short and what repeats is said by the tokens, without the end-of-text token.
 */
#include "train/prepare/store.h"
#include "train/prepare/token_documents.h"

struct token_intake {
    struct token_documents *documents; /* borrowed, as is the next */
    const struct tokenizer *tokenizer; /* the store gets the documents' text; NULL: ids */
    int id_bytes;                      /* of the store's ids: 2 or 4 */
    bool hash, near;                   /* marks of duplicates: store_mark's hash, both */
    uint64_t min_length;               /* tokens */
    double save_every_s;               /* what is lost at most when the process is killed */
    const struct progress *progress;
};
/*
 * Go on from *place to the end; *place is then complete. Documents that give nothing to store are
 * left out. On ERR_INTERRUPTED what there is was saved. ERR_RANGE: an id is none of the
 * tokenizer's; ERR_FORMAT, ERR_IO, ERR_NOMEM.
 */
int token_intake_run(const struct token_intake *t, struct store *s, struct store_place *place);

#endif
