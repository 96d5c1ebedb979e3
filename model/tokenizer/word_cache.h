#ifndef PRATTLE_MODEL_TOKENIZER_WORD_CACHE_H
#define PRATTLE_MODEL_TOKENIZER_WORD_CACHE_H
/*
 * Short pre-tokens and the ids that they became, for those who encode much text: most words of a
 * text have come before. Each has one place, which the next word of that place takes. What is
 * encoded does not depend on it.
 */
#include "model/base/ids.h"

#include <stdbool.h>
#include <string.h>

enum { CACHED_WORDS = 32768, CACHED_BYTES = 16, CACHED_IDS = 11 };

/* Its bytes are head and tail, which overlap, and their number: 64 bytes in all. */
struct cached_word {
    uint64_t head, tail;
    uint16_t n_bytes, n_ids; /* n_bytes 0: free */
    token_id ids[CACHED_IDS];
};

/* Zeroed to begin with; of one tokenizer and of one thread at a time. */
struct word_cache {
    struct cached_word *words; /* [CACHED_WORDS]; owned; NULL: none is kept yet */
};
/* Make the list if there is none. ERR_NOMEM. */
int word_cache_reserve(struct word_cache *c);
void word_cache_release(struct word_cache *c);

static inline uint64_t word_cache_load(const char *p, size_t n)
{
    uint64_t v = 0;
    memcpy(&v, p, n);
    return v;
}

/* A word of n bytes, 1 to CACHED_BYTES, without ids. */
static inline struct cached_word word_cache_key(const char *p, size_t n)
{
    struct cached_word w;
    w.n_bytes = (uint16_t)n;
    if (n >= 8) {
        w.head = word_cache_load(p, 8);
        w.tail = word_cache_load(p + n - 8, 8);
    } else if (n >= 4) {
        w.head = word_cache_load(p, 4);
        w.tail = word_cache_load(p + n - 4, 4);
    } else {
        w.head = (unsigned char)p[0] | (unsigned)(unsigned char)p[n / 2] << 8;
        w.tail = (unsigned char)p[n - 1];
    }
    return w;
}

/* Where a word is, or is to be. */
static inline struct cached_word *word_cache_place(struct word_cache *c,
                                                   const struct cached_word *key)
{
    uint64_t h = (key->head ^ key->n_bytes) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32 ^ key->tail) * 0xd6e8feb86659fd93u;
    return &c->words[h >> 49];
}

static inline bool word_cache_has(const struct cached_word *at, const struct cached_word *key)
{
    return at->head == key->head && at->tail == key->tail && at->n_bytes == key->n_bytes;
}

#endif
