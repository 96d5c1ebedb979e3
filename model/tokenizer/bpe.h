#ifndef PRATTLE_MODEL_TOKENIZER_BPE_H
#define PRATTLE_MODEL_TOKENIZER_BPE_H
/*
 * Byte pair merging by rank (Sennrich et al. 2016), as in GPT-2's encoder.py: of all adjacent pairs
 * the one with the lowest rank is merged everywhere, from left to right, until no pair has a rank.
 * Short pre-tokens are scanned; long ones have a list of pairs for each rank, so that the time is
 * linear.
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

/* An empty table with room for ranks 0..n-1. ERR_NOMEM. */
int bpe_init(struct bpe *b, int n);
void bpe_release(struct bpe *b);
/* Add a merge. A pair that is in the table gets the new rank, as in a Python dictionary. */
void bpe_add(struct bpe *b, token_id left, token_id right, token_id merged, int rank);

enum { BPE_LEVELS = 6 }; /* 64^6 exceeds every rank */

/* The chunks of positions of one rank; -1: none. */
struct bpe_list {
    int32_t first, last;
};

/* Scratch for long pre-tokens, reused from one to the next; zeroed to begin with. */
struct bpe_scratch {
    struct bpe_node *nodes; /* [cap]; owned */
    size_t cap;
    struct bpe_chunk *chunks; /* [chunk_cap], n_chunks of them ever used; owned */
    size_t chunk_cap;
    int32_t n_chunks, free_chunk;
    struct bpe_list *lists; /* [n_ranks]; owned */
    /* levels[0] has a bit for each rank with a list, [l + 1] a bit for each nonzero word of [l];
     * owned. */
    uint64_t *levels[BPE_LEVELS];
};
void bpe_scratch_release(struct bpe_scratch *s);

/*
 * Merge ids [n], one for each byte, in place; *n_out of them are left. ERR_NOMEM; ERR_RANGE: a
 * pre-token of 2^29 bytes. Short pre-tokens cannot fail.
 */
int bpe_merge(const struct bpe *b, struct bpe_scratch *s, token_id *ids, size_t n, size_t *n_out);

#endif
