#ifndef PRATTLE_MODEL_TOKENIZER_BYTE_HASH_H
#define PRATTLE_MODEL_TOKENIZER_BYTE_HASH_H
/* A hash of n bytes, for the tables of tokens and of words. Not stored anywhere. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t byte_hash_load(const char *p, size_t n)
{
    uint64_t v = 0;
    memcpy(&v, p, n);
    return v;
}

static inline uint32_t byte_hash(const char *p, size_t n)
{
    uint64_t a, b, h = n * 0x9e3779b97f4a7c15u;
    while (n > 16) {
        h = (h ^ byte_hash_load(p, 8)) * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
        p += 8;
        n -= 8;
    }
    if (n >= 8) {
        a = byte_hash_load(p, 8);
        b = byte_hash_load(p + n - 8, 8);
    } else if (n >= 4) {
        a = byte_hash_load(p, 4);
        b = byte_hash_load(p + n - 4, 4);
    } else {
        a = n > 0 ? (unsigned char)p[0] : 0;
        b = n > 0 ? (uint64_t)(unsigned char)p[n / 2] << 8 | (unsigned char)p[n - 1] : 0;
    }
    h = (h ^ a) * 0xd6e8feb86659fd93u;
    h = ((h ^ h >> 32) + b) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

#endif
