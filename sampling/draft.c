#include "sampling/draft.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/kernels/matrix_kernels.h"

#include <string.h>

/* Below so many bytes of weights, reading them is not what a pass waits for. */
static const size_t SMALL_BYTES = (size_t)64 << 20;
/* The time of a second row and of each further one, as shares of a pass of one: no less than was
 * measured (PERFORMANCE.md), so that a draft which is worth its rows here is worth them on the
 * machine too. */
static const float SECOND_ROW = 0.5f, FURTHER_ROW = 0.1f;
static const float SMALL_SECOND_ROW = 0.36f, SMALL_FURTHER_ROW = 0.38f;
/* Q8_0 is read in half the time, and each row has the same to compute. */
static const float Q8_SECOND_ROW = 0.45f, Q8_FURTHER_ROW = 0.35f;
/* What drafts may lose: so much of a token at first, then so much for each pass. And what they
 * gained pays for no more than so many tokens of later losses. */
static const float LOSS_AT_FIRST = 0.5f, LOSS_A_PASS = 0.015f, SAVED_MAX = 8;
/* Newer ids count more: the weight of one. And the least promise worth a draft. */
static const float NEWEST = 1.0f / 16, WORTH_A_DRAFT = 1.02f;
/* Of a smaller model: its acceptance at first, the weight of a newer token, and of what is pending
 * the share of a pass that each id takes. */
static const float FIRST_ACCEPTED = 0.7f, NEWEST_OF_MODEL = 1.0f / 8, PENDING_ID = 0.1f;
enum { PROBE_PASSES = 100 };

static int make_draft(struct draft **out, const struct model *m)
{
    struct draft *d = mem_alloc(sizeof *d);
    if (d == NULL || lookup_init(&d->lookup, (size_t)m->config.n_ctx + 1) != 0) {
        draft_free(d);
        return ERR_NOMEM;
    }
    bool small = params_matmul_bytes(&m->params) < SMALL_BYTES;
    const bool q8 = m->params.dtype == DTYPE_Q8;
    d->second_row = small ? SMALL_SECOND_ROW : q8 ? Q8_SECOND_ROW : SECOND_ROW;
    d->further_row = small ? SMALL_FURTHER_ROW : q8 ? Q8_FURTHER_ROW : FURTHER_ROW;
    d->few_rows = matrix_kernels()->few_rows;
    *out = d;
    return 0;
}

/* From now on drafts are looked up. */
static void drop_drafter(struct draft *d)
{
    if (d->drafter == NULL)
        return;
    kv_seq_truncate(&d->read, &d->drafter->cache, 0);
    kv_seq_release(&d->read, &d->drafter->cache);
    d->drafter = NULL;
}

int draft_begin(struct draft **d, const struct model *m, enum speculate how)
{
    static const float FIRST_RATES[DRAFT_RATES] = {0.1f, 0.1f, 0.1f, 0.2f, 0.3f,
                                                   0.4f, 0.5f, 0.6f, 0.7f, 0.8f};
    if (how == SPECULATE_OFF) {
        draft_free(*d);
        *d = NULL;
        return 0;
    }
    int rc = *d == NULL ? make_draft(d, m) : 0;
    if (rc != 0)
        return rc;
    memcpy((*d)->rate, FIRST_RATES, sizeof FIRST_RATES);
    (*d)->how = how;
    (*d)->saved = LOSS_AT_FIRST;
    (*d)->n_drafted = (*d)->n_accepted = 0;
    (*d)->accepted = FIRST_ACCEPTED;
    (*d)->idle = 0;
    drop_drafter(*d);
    draft_forget_text(*d);
    return 0;
}

void draft_free(struct draft *d)
{
    if (d == NULL)
        return;
    drop_drafter(d);
    lookup_release(&d->lookup);
    mem_free(d);
}

void draft_forget_text(struct draft *d)
{
    lookup_reset(&d->lookup);
    d->match = (struct lookup_match){0};
    d->n_right = 0;
    if (d->drafter != NULL)
        kv_seq_truncate(&d->read, &d->drafter->cache, 0);
}

static float *rate_of_match(struct draft *d, int length)
{
    static const int LONGEST[DRAFT_RATES - 1] = {0, 1, 2, 3, 4, 7, 11, 17, 25};
    int i = 0;
    while (i < DRAFT_RATES - 1 && length > LONGEST[i])
        i++;
    return &d->rate[i];
}

/* The match after one more id, with which the text has none: if it had one before, the place where
 * that would go on. So a list whose entries differ in a word is followed across that word. */
static struct lookup_match go_on(struct lookup_match before, const token_id *text, token_id id)
{
    const bool right = before.next > 0 && text[before.next] == id;
    return before.next == 0 ? before
                            : (struct lookup_match){.next = before.next + 1, .length = right};
}

/* Add the ids that are new, and note of each whether lookup would have found it. */
static void follow_text(struct draft *d, const token_id *text, size_t n)
{
    for (size_t i = d->lookup.n; i < n; i++) {
        if (d->match.next > 0) {
            float *rate = rate_of_match(d, d->match.length);
            *rate += NEWEST * ((text[d->match.next] == text[i] ? 1.0f : 0.0f) - *rate);
        }
        const struct lookup_match before = d->match;
        lookup_add(&d->lookup, text, i + 1);
        d->match = lookup_find(&d->lookup, text);
        if (d->match.next == 0)
            d->match = go_on(before, text, text[i]);
    }
}

/* The time of a pass of so many rows, as a multiple of one row's: memory is the limit of a few,
 * arithmetic of more. */
static float pass_cost(const struct draft *d, int rows)
{
    const int few = rows < d->few_rows ? rows : d->few_rows;
    const float more = few < 2 ? 0 : d->second_row + d->further_row * (float)(few - 2);
    return (1 + more) * (float)rows / (float)few;
}

/* The time of making a draft of k tokens, in passes. */
static float making_cost(const struct draft *d, int pending, int k)
{
    if (d->drafter == NULL)
        return 0;
    const int more = d->read.n == 0 || pending < 1 ? 0 : pending - 1;
    return d->share * ((float)k + PENDING_ID * (float)more);
}

/* The chance that token k of a draft is right, if those before it are. */
static float chance_of_token(struct draft *d, int k)
{
    return d->drafter != NULL ? d->accepted : *rate_of_match(d, d->match.length + k - 1);
}

/* What a pass may lose is added, whether it has a draft or not. */
static void add_allowance(struct draft *d)
{
    d->saved += LOSS_A_PASS;
    d->saved = d->saved < SAVED_MAX ? d->saved : SAVED_MAX;
}

/* Whether a drafter gains if it is right; row: the time of a row more. */
static bool is_worth_trying(const struct draft *d, int texts, float row)
{
    const float cost = (float)texts * row + d->share;
    return (float)(texts + 1) / ((float)texts + cost) > WORTH_A_DRAFT;
}

int draft_choose(struct draft *d, int pending, int most, int texts, int rows)
{
    const float pass = pass_cost(d, rows);
    const bool probes = d->drafter != NULL && d->idle++ >= PROBE_PASSES &&
                        is_worth_trying(d, texts, pass_cost(d, rows + 1) / pass - 1);
    float best = WORTH_A_DRAFT, accepted = 0, all = 1;
    int length = 0;
    if (d->drafter != NULL)
        add_allowance(d);
    most = most < DRAFT_MAX ? most : DRAFT_MAX;
    d->cost = 0;
    for (int k = 1; k <= most; k++) {
        const float cost =
            (float)texts * (pass_cost(d, rows + k) / pass - 1) + making_cost(d, pending, k);
        all *= chance_of_token(d, k);
        accepted += all;
        const float gain = ((float)texts + accepted) / ((float)texts + cost);
        if (cost <= d->saved && (gain > best || (probes && k == 1))) {
            best = gain > best ? gain : best;
            d->cost = cost;
            length = k;
        }
    }
    return d->drafter != NULL && d->share < 0 && most > 0 ? most : length;
}

int draft_propose(struct draft *d, token_id *text, size_t n, int most, int texts, int rows)
{
    follow_text(d, text, n);
    add_allowance(d);
    if (d->match.next == 0)
        return 0;
    most = most < DRAFT_MAX ? most : DRAFT_MAX;
    if (d->how == SPECULATE_LOOKUP && d->match.length < LOOKUP_SHORTEST)
        return 0;
    const int k = d->how == SPECULATE_LOOKUP ? most : draft_choose(d, 0, most, texts, rows);
    /* A match that ends less than k before the end repeats its draft. */
    for (int i = 0; i < k; i++)
        text[n + (size_t)i] = text[d->match.next + (size_t)i];
    return k > 0 ? k : 0;
}

void draft_count(struct draft *d, int n, int accepted)
{
    d->n_drafted += n;
    d->n_accepted += accepted;
    d->n_right += accepted;
    for (int i = 0; i < n && i <= accepted; i++)
        d->accepted += NEWEST_OF_MODEL * ((i < accepted ? 1.0f : 0.0f) - d->accepted);
    d->idle = accepted < n ? 0 : d->idle;
    d->saved += (float)accepted - d->cost;
}
