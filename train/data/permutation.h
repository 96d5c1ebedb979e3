#ifndef PRATTLE_TRAIN_DATA_PERMUTATION_H
#define PRATTLE_TRAIN_DATA_PERMUTATION_H
/*
 * A permutation of 0..n-1 in constant memory: a Feistel network keyed by (seed, stream) on the next
 * even number of bits, applied until the result is below n (cycle walking; Black and Rogaway,
 * "Ciphers with Arbitrary Finite Domains", CT-RSA 2002).
 */
#include <stdint.h>

struct permutation {
    uint64_t n;
    int half_bits;
    uint64_t keys[8];
};
/* n >= 1 */
void permutation_init(struct permutation *p, uint64_t n, uint64_t seed, uint64_t stream);
/* Where i goes, i < n. */
uint64_t permutation_at(const struct permutation *p, uint64_t i);

#endif
