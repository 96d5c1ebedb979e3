#ifndef PRATTLE_MODEL_TOKENIZER_BPE_H
#define PRATTLE_MODEL_TOKENIZER_BPE_H
/*
 * Byte pair merging by rank (Sennrich et al. 2016, as GPT-2's encoder.py does it): of
 * all adjacent pairs the one of lowest rank is merged wherever it stands, from left to
 * right, until no pair has a rank. Short pre-tokens are scanned; long ones keep their pairs
 * in a list a rank, so that the time grows as the pre-token does.
 */
#include "model/base/ids.h"

#include <stddef.h>
#include <stdint.h>

struct bpe_pair {
    token_id left, right; /* left TOKEN_NONE: a free slot */
    token_id merged;
    int rank;
};

struct bpe {
    struct bpe_pair *slots; /* [mask + 1], open addressing; owned */
    uint32_t mask;
    int n_ranks;
};

/* Room for ranks 0..n-1. */
int bpe_init(struct bpe *b, int n);
void bpe_release(struct bpe *b);
/* A pair that is there already takes the new rank, as in the dictionaries of Python. */
void bpe_add(struct bpe *b, token_id left, token_id right, token_id merged, int rank);

enum { BPE_LEVELS = 6 }; /* 64^6 passes any rank */

/* The chunks of positions of one rank, -1 for none. */
struct bpe_list {
    int32_t first, last;
};

/* What long pre-tokens need, kept from pre-token to pre-token; zeroed to begin with. */
struct bpe_scratch {
    struct bpe_node *nodes; /* [cap]; owned */
    size_t cap;
    struct bpe_chunk *chunks; /* [chunk_cap], n_chunks of them ever used; owned */
    size_t chunk_cap;
    int32_t n_chunks, free_chunk;
    struct bpe_list *lists; /* [n_ranks]; owned */
    /* levels[0] has a bit for each rank with a list, [l + 1] one for each word of [l]
     * that is not 0; owned. */
    uint64_t *levels[BPE_LEVELS];
};
void bpe_scratch_release(struct bpe_scratch *s);

/*
 * Merge the symbols ids[0..n) in place; *n_out is what is left of them. ERR_NOMEM,
 * and ERR_RANGE for a pre-token of 2^29 symbols; short pre-tokens cannot fail.
 */
int bpe_merge(const struct bpe *b, struct bpe_scratch *s, token_id *ids, size_t n, size_t *n_out);

#endif
