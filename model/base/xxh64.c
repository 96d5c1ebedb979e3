#include "model/base/xxh64.h"

#include <endian.h>
#include <string.h>

#define PRIME_1 0x9e3779b185ebca87u
#define PRIME_2 0xc2b2ae3d27d4eb4fu
#define PRIME_3 0x165667b19e3779f9u
#define PRIME_4 0x85ebca77c2b2ae63u
#define PRIME_5 0x27d4eb2f165667c5u

enum { STRIPE = 32 };

static inline uint64_t load_u64(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return le64toh(word);
}

static inline uint32_t load_u32(const unsigned char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return le32toh(word);
}

static inline uint64_t rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline uint64_t mix_word(uint64_t sum, uint64_t word)
{
    return rotate_left(sum + word * PRIME_2, 31) * PRIME_1;
}

static inline uint64_t join_lane(uint64_t hash, uint64_t lane)
{
    return (hash ^ mix_word(0, lane)) * PRIME_1 + PRIME_4;
}

static uint64_t hash_stripes(const unsigned char *at, size_t n_stripes)
{
    uint64_t a = PRIME_1 + PRIME_2, b = PRIME_2, c = 0, d = 0 - PRIME_1;
    for (; n_stripes > 0; n_stripes--, at += STRIPE) {
        a = mix_word(a, load_u64(at));
        b = mix_word(b, load_u64(at + 8));
        c = mix_word(c, load_u64(at + 16));
        d = mix_word(d, load_u64(at + 24));
    }
    const uint64_t hash =
        rotate_left(a, 1) + rotate_left(b, 7) + rotate_left(c, 12) + rotate_left(d, 18);
    return join_lane(join_lane(join_lane(join_lane(hash, a), b), c), d);
}

uint64_t xxh64(const void *bytes, size_t n)
{
    const unsigned char *at = bytes, *end = at + n;
    uint64_t hash = PRIME_5;
    if (n >= STRIPE) {
        hash = hash_stripes(at, n / STRIPE);
        at += n / STRIPE * STRIPE;
    }
    hash += n;
    for (; end - at >= 8; at += 8)
        hash = rotate_left(hash ^ mix_word(0, load_u64(at)), 27) * PRIME_1 + PRIME_4;
    if (end - at >= 4) {
        hash = rotate_left(hash ^ load_u32(at) * PRIME_1, 23) * PRIME_2 + PRIME_3;
        at += 4;
    }
    for (; at < end; at++)
        hash = rotate_left(hash ^ *at * PRIME_5, 11) * PRIME_1;
    hash = (hash ^ hash >> 33) * PRIME_2;
    hash = (hash ^ hash >> 29) * PRIME_3;
    return hash ^ hash >> 32;
}
