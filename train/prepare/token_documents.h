#ifndef PRATTLE_TRAIN_PREPARE_TOKEN_DOCUMENTS_H
#define PRATTLE_TRAIN_PREPARE_TOKEN_DOCUMENTS_H
/*
 * The documents of token files one by one, each with the end-of-text token behind it, wherever its
 * format has that token: llm.c's documents begin with it.
 */
#include "train/data/dataset.h"

struct token_documents {
    struct dataset data;
    struct data_summary summary;
    token_id end;     /* the end-of-text token; TOKEN_NONE: not known */
    token_id *ids;    /* a block; owned */
    const char *work; /* what progress is called, borrowed */
    const struct progress *progress;
};
/*
 * in   one data set, as data_config.data has it
 * tok  NULL: ids may be any, and the files say what ends documents, where they do
 * ERR_FORMAT: in has a text; or as dataset_open. Memory: 8 bytes a document.
 */
int token_documents_open(struct token_documents *d, const char *in, const struct tokenizer *tok,
                         const char *work, const struct progress *p);
/* Nothing for a zeroed one. */
void token_documents_close(struct token_documents *d);
/* Whether its first document begins with the end-of-text token, where it is known. */
bool token_documents_begin_with_end(const struct token_documents *d);
/* Every id is below this. */
int token_documents_ids(const struct token_documents *d, const struct tokenizer *tok);
/*
 * Give the ids of document i in order to take, n >= 1 at a time, `last` with the last of them; none
 * of a document that is nothing but the token it begins with. Errors of take, of dataset_read, and
 * ERR_INTERRUPTED within a long document.
 */
int token_documents_read(struct token_documents *d, uint64_t i,
                         int (*take)(void *user, const token_id *ids, size_t n, bool last),
                         void *user);

#endif
