#include "train/data/permutation.h"

#include "model/base/rng.h"

enum { ROUNDS = 8 };

void permutation_init(struct permutation *p, uint64_t n, uint64_t seed, uint64_t stream)
{
    *p = (struct permutation){.n = n, .half_bits = 1};
    while (p->half_bits < 32 && (n - 1) >> 2 * p->half_bits != 0)
        p->half_bits++;
    for (int i = 0; i < ROUNDS; i += 2) {
        uint32_t w[4];
        rng_words(w, seed, stream, (uint64_t)i);
        p->keys[i] = (uint64_t)w[0] << 32 | w[1];
        p->keys[i + 1] = (uint64_t)w[2] << 32 | w[3];
    }
}

/* The finalizer of splitmix64 (Steele et al., OOPSLA 2014). */
static uint64_t mix_bits(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t feistel_network(const struct permutation *p, uint64_t x)
{
    uint64_t mask = ((uint64_t)1 << p->half_bits) - 1, left = x >> p->half_bits, right = x & mask;
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t next = left ^ (mix_bits(right + p->keys[i]) & mask);
        left = right;
        right = next;
    }
    return left << p->half_bits | right;
}

uint64_t permutation_at(const struct permutation *p, uint64_t i)
{
    /* At most four times as many numbers as wanted: about as many turns on average. */
    do
        i = feistel_network(p, i);
    while (i >= p->n);
    return i;
}
