#include "train/prepare/text_hash.h"

static const uint64_t PRIME = ((uint64_t)1 << 61) - 1;
/* Chosen once, at random. */
static const uint64_t base[2] = {0x0f5d2c8e3b71a96d, 0x15c34d7e92ab6f05};

void text_hash_begin(struct text_hash *h)
{
    *h = (struct text_hash){.power = {1, 1}};
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    uint64_t low = (uint64_t)product & PRIME, high = (uint64_t)(product >> 61);
    uint64_t sum = low + high;
    return sum >= PRIME ? sum - PRIME : sum;
}

static inline void add_term(struct text_hash *h, uint64_t c)
{
    for (int k = 0; k < 2; k++) {
        h->sum[k] = multiply(h->sum[k], base[k]) + c;
        h->sum[k] -= h->sum[k] >= PRIME ? PRIME : 0;
        h->power[k] = multiply(h->power[k], base[k]);
    }
}

void text_hash_add(struct text_hash *h, const char *text, size_t n)
{
    struct text_hash at = *h;
    for (size_t i = 0; i < n; i++) {
        unsigned c = text_hash_fold((unsigned char)text[i]);
        if (c != 0)
            add_term(&at, c);
    }
    *h = at;
}

void text_hash_add_ids(struct text_hash *h, const token_id *ids, size_t n)
{
    struct text_hash at = *h;
    for (size_t i = 0; i < n; i++)
        add_term(&at, (uint64_t)ids[i] + 1);
    *h = at;
}

void text_hash_join(struct text_hash *h, const struct text_hash *next)
{
    for (int k = 0; k < 2; k++) {
        h->sum[k] = multiply(h->sum[k], next->power[k]) + next->sum[k];
        h->sum[k] -= h->sum[k] >= PRIME ? PRIME : 0;
        h->power[k] = multiply(h->power[k], next->power[k]);
    }
}
