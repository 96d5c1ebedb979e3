#ifndef PRATTLE_SAMPLING_CHAIN_MIROSTAT_H
#define PRATTLE_SAMPLING_CHAIN_MIROSTAT_H
/*
 * Mirostat 1 and 2 (Basu et al., "Mirostat: A Neural Text Decoding Algorithm that
 * Directly Controls Perplexity", 2020), as in llama.cpp: the distribution is cut so that the
 * surprise of the tokens drawn, in bits, stays near tau.
 */
#include "sampling/chain/candidates.h"

struct mirostat {
    int version;    /* 1 or 2 */
    float tau, eta; /* target surprise in bits, learning rate */
    float mu;       /* the state: the greatest surprise allowed, in bits */
};

void mirostat_reset(struct mirostat *m); /* mu = 2 tau */
/*
 * Cut the candidates: version 1 to the k most likely, k from the Zipf exponent
 * estimated over the 100 most likely; version 2 to those no more surprising than mu.
 * At least one stays.
 */
void mirostat_cut(const struct mirostat *m, struct candidates *c);
/* Update mu after a draw; p is the drawn token's probability among the candidates that stayed. */
void mirostat_update(struct mirostat *m, double p);

#endif
