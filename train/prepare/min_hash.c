#include "train/prepare/min_hash.h"

#include "train/prepare/text_hash.h"

#include <string.h>

enum { RUN = 5, ROWS = MIN_HASH_PLACES / MIN_HASH_BANDS };

/* The finalizer of splitmix64 (Steele et al., OOPSLA 2014). */
static uint64_t mix_bits(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

void min_hash_begin(struct min_hash *h)
{
    memset(h->least, 0xff, sizeof h->least);
}

static void add_run(struct min_hash *h, const uint64_t *words, int n)
{
    uint64_t sum = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < n; i++)
        sum = mix_bits(sum + words[i]);
    const uint32_t value = (uint32_t)sum;
    uint32_t *least = &h->least[sum >> 32 & (MIN_HASH_PLACES - 1)];
    *least = value < *least ? value : *least;
}

void min_hash_add(struct min_hash *h, const char *text, size_t n)
{
    uint64_t words[RUN] = {0}, word = 0;
    int count = 0;
    for (size_t i = 0; i <= n; i++) {
        const unsigned c = i < n ? text_hash_fold((unsigned char)text[i]) : 0;
        if (c != 0) {
            word = (word ^ c) * 0x100000001b3u + 1;
            continue;
        }
        if (word == 0)
            continue;
        memmove(words, words + 1, (RUN - 1) * sizeof *words);
        words[RUN - 1] = word;
        word = 0;
        if (++count >= RUN)
            add_run(h, words, RUN);
    }
    if (count > 0 && count < RUN)
        add_run(h, words + RUN - count, count);
}

void min_hash_add_ids(struct min_hash *h, const token_id *ids, size_t n)
{
    uint64_t words[RUN] = {0};
    for (size_t i = 0; i < n; i++) {
        memmove(words, words + 1, (RUN - 1) * sizeof *words);
        words[RUN - 1] = (uint64_t)ids[i] + 1;
        if (i + 1 >= RUN)
            add_run(h, words, RUN);
    }
    if (n > 0 && n < RUN)
        add_run(h, words + RUN - n, (int)n);
}

void min_hash_join(struct min_hash *h, const struct min_hash *next)
{
    for (int i = 0; i < MIN_HASH_PLACES; i++)
        h->least[i] = next->least[i] < h->least[i] ? next->least[i] : h->least[i];
}

bool min_hash_end(struct min_hash *h)
{
    const struct min_hash own = *h;
    for (int i = 0; i < MIN_HASH_PLACES; i++) {
        int far = 0;
        while (far < MIN_HASH_PLACES && own.least[(i + far) % MIN_HASH_PLACES] == UINT32_MAX)
            far++;
        if (far == MIN_HASH_PLACES)
            return false;
        if (far > 0)
            h->least[i] = own.least[(i + far) % MIN_HASH_PLACES] + (uint32_t)far * 0x9e3779b9u;
    }
    return true;
}

double min_hash_likeness(const struct min_hash *a, const struct min_hash *b)
{
    int equal = 0;
    for (int i = 0; i < MIN_HASH_PLACES; i++)
        equal += a->least[i] == b->least[i];
    return (double)equal / MIN_HASH_PLACES;
}

uint64_t min_hash_band(const struct min_hash *h, int i)
{
    uint64_t key = (uint64_t)i + 1;
    for (int k = 0; k < ROWS; k++)
        key = mix_bits(key + h->least[i * ROWS + k]);
    return key == 0 ? 1 : key;
}
