#ifndef PRATTLE_MODEL_TOKENIZER_TOKEN_ORDER_H
#define PRATTLE_MODEL_TOKENIZER_TOKEN_ORDER_H
/*
 * The tokens of a vocabulary in the order of their bytes, so that whoever walks through all of them
 * reads what neighbours have in common once: a trie without its pointers.
 */
#include "model/base/ids.h"

#include <stddef.h>
#include <stdint.h>

struct token_order {
    int n;
    token_id *ids;    /* [n] without holes, special tokens and those of no bytes */
    uint32_t *common; /* [n] bytes that each begins with as the one before it; 0 for the first */
    size_t longest;   /* bytes of the longest */
};
struct token_table;
/* ERR_NOMEM. To be released also then. */
int token_order_init(struct token_order *o, const struct token_table *t);
void token_order_release(struct token_order *o);

#endif
