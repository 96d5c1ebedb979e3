#include "sampling/chain/penalties.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <float.h>
#include <math.h>
#include <string.h>

void penalize_repetition(float *logit, int *count, const token_id *text, size_t n, float repetition,
                         float frequency, float presence)
{
    for (size_t i = 0; i < n; i++)
        count[text[i]]++;
    for (size_t i = 0; i < n; i++) {
        token_id id = text[i];
        if (!count[id])
            continue;
        float x = logit[id] > 0 ? logit[id] / repetition : logit[id] * repetition;
        x -= (float)count[id] * frequency + presence;
        logit[id] = x > FLT_MAX ? FLT_MAX : x; /* NaN stays */
        count[id] = 0;
    }
}

void ban_ngrams(float *logit, const token_id *text, size_t n_text, int n)
{
    size_t before = (size_t)n - 1; /* tokens that must agree */
    if (n_text <= before)
        return;
    const token_id *end = text + n_text - before;
    for (size_t i = 0; i + before < n_text; i++)
        if (memcmp(text + i, end, before * sizeof *text) == 0)
            logit[text[i + before]] = -INFINITY;
}

void phrases_release(struct phrases *p)
{
    for (size_t i = 0; i < p->n; i++)
        mem_free(p->list[i].ids);
    mem_free(p->list);
    *p = (struct phrases){0};
}

int phrases_add(struct phrases *p, const token_id *ids, size_t n)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->list[i].n == n && memcmp(p->list[i].ids, ids, n * sizeof *ids) == 0)
            return 0;
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 8;
        void *grown = mem_grow(p->list, p->cap * sizeof *p->list, cap * sizeof *p->list);
        if (!grown)
            return ERR_NOMEM;
        p->list = grown;
        p->cap = cap;
    }
    token_id *copy = mem_array(n, sizeof *copy);
    if (!copy)
        return ERR_NOMEM;
    memcpy(copy, ids, n * sizeof *ids);
    p->list[p->n++] = (struct phrase){copy, n};
    return 0;
}

void ban_phrases(float *logit, const struct phrases *bad, const token_id *text, size_t n)
{
    for (size_t i = 0; i < bad->n; i++) {
        const struct phrase *p = &bad->list[i];
        size_t before = p->n - 1;
        if (before <= n && memcmp(text + n - before, p->ids, before * sizeof *text) == 0)
            logit[p->ids[before]] = -INFINITY;
    }
}
