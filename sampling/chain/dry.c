#include "sampling/chain/dry.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "model/tokenizer/tokenizer.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BREAKS = 1, BEGINS = 2 };

/* The token ends with the word's first `head` bytes: add the token and the word's rest, as tokens,
 * to the tails. */
static int add_tail(struct dry *d, const struct tokenizer *t, token_id id, const struct word *w,
                    size_t head)
{
    struct ids ids = {0};
    int rc = ids_add(&ids, &id, 1);
    if (rc == 0)
        rc = tokenizer_encode(t, &ids, w->bytes + head, w->n - head, ENCODE_GOES_ON);
    if (rc == 0) {
        d->breaks[id] |= BEGINS;
        rc = phrases_add(&d->tails, ids.data, ids.n);
    } else if (rc == ERR_RANGE) {
        rc = 0; /* a word that the vocabulary cannot spell never occurs */
    }
    ids_release(&ids);
    return rc;
}

static int find_breaker(struct dry *d, const struct tokenizer *t, token_id id, const struct word *w)
{
    size_t n;
    const char *token = tokenizer_bytes(t, id, &n);
    if (!token || !n)
        return 0;
    if (memmem(token, n, w->bytes, w->n)) {
        d->breaks[id] |= BREAKS;
        return 0;
    }
    for (size_t head = n < w->n ? n : w->n - 1; head > 0; head--)
        if (memcmp(token + n - head, w->bytes, head) == 0) {
            int rc = add_tail(d, t, id, w, head);
            if (rc)
                return rc;
        }
    return 0;
}

int dry_init(struct dry *d, const struct words *breakers, const struct tokenizer *t, int n_vocab)
{
    d->breaks = mem_alloc((size_t)n_vocab);
    if (!d->breaks)
        return ERR_NOMEM;
    int n = t && tokenizer_size(t) < n_vocab ? tokenizer_size(t) : n_vocab;
    for (size_t i = 0; t && i < breakers->n; i++)
        for (token_id id = 0; id < n; id++) {
            int rc = find_breaker(d, t, id, &breakers->list[i]);
            if (rc)
                return rc;
        }
    return 0;
}

void dry_release(struct dry *d)
{
    mem_free(d->breaks);
    phrases_release(&d->tails);
}

/* How many tokens follow the text's last breaker. */
static size_t match_limit(const struct dry *d, const token_id *text, size_t n)
{
    for (size_t behind = 0; behind < n; behind++) {
        const token_id *at = text + n - 1 - behind;
        if (!d->breaks[*at])
            continue;
        bool found = d->breaks[*at] & BREAKS;
        size_t longest = 0;
        for (size_t i = 0; d->breaks[*at] & BEGINS && i < d->tails.n; i++) {
            const struct phrase *p = &d->tails.list[i];
            if (p->n - 1 <= behind && memcmp(at, p->ids, p->n * sizeof *at) == 0) {
                found = true;
                longest = p->n - 1 > longest ? p->n - 1 : longest;
            }
        }
        if (found)
            return behind - longest;
    }
    return n;
}

/*
 * match[k]: how many tokens before the last k agree with the text's last ones. The
 * Z-algorithm (Gusfield, 1997) on the text read backwards.
 */
static void find_matches(int *match, const token_id *text, int n)
{
    const token_id *last = text + n - 1;
    int left = 0, right = 0; /* last[-left .. -(right - 1)] agree with the end */
    for (int k = 1; k < n; k++) {
        int m = 0;
        if (k < right)
            m = match[k - left] < right - k ? match[k - left] : right - k;
        while (k + m < n && last[-m] == last[-(k + m)])
            m++;
        match[k] = m;
        if (k + m > right) {
            left = k;
            right = k + m;
        }
    }
}

void dry_apply(struct dry *d, float *logit, const token_id *text, size_t n)
{
    int most = (int)match_limit(d, text, n), allowed = d->allowed_length;
    if (n < 2 || most < allowed)
        return;
    find_matches(d->match, text, (int)n);
    /* count: one more than the longest repetition that the token would continue; 0: none. */
    for (int k = 1; k < (int)n; k++) {
        int m = d->match[k] < most ? d->match[k] : most;
        token_id next = text[n - (size_t)k];
        if (m >= allowed && m + 1 > d->count[next])
            d->count[next] = m + 1;
    }
    for (int k = 1; k < (int)n; k++) {
        token_id next = text[n - (size_t)k];
        if (!d->count[next])
            continue;
        double raised = pow((double)d->base, d->count[next] - 1 - allowed);
        logit[next] -= (float)fmin((double)d->multiplier * raised, (double)FLT_MAX / 2);
        d->count[next] = 0;
    }
}
