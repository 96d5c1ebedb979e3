#include "sampling/search/contrastive.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/kernels/log_sum_exp.h"
#include "model/kernels/sampling_kernels.h"
#include "sampling/chain/candidates.h"
#include "sampling/chain/logits.h"
#include "sampling/text/prompt.h"

#include <math.h>
#include <string.h>

/*
 * A candidate is one id and a kv_seq, not a sequence: it extends the sequence's text for one pass,
 * and the text then takes over the pages of the best. hidden has a row for each id of the text that
 * was read. All rows of hidden states are scaled to length 1, so that cosines are dot products.
 */

enum { LANES = 16 };

struct contrastive {
    struct sequence *sequence;
    struct sampler *sampler;
    struct candidates candidates;
    float alpha;
    int top_k;
    int n_prompt;  /* ids of the text that are not the answer's; after a slide, fewer than none */
    float *hidden; /* [n_ctx,C] last hidden states of the text, each of length 1 */
    float *scores; /* [V] adjusted logits */
    token_id *ids; /* [top_k] the candidates */
    float *p;      /* [top_k] their probabilities */
    float *rows;   /* [top_k,C] the last hidden state with each, of length 1 */
    struct kv_seq *seqs; /* [top_k] the text with each */
};

static void carve_arrays(struct contrastive *k, struct arena *a, const struct config *c)
{
    size_t n = (size_t)k->top_k;
    candidates_carve(&k->candidates, a, c->n_vocab);
    k->hidden = arena_take(a, (size_t)c->n_ctx * (size_t)c->n_embd * sizeof *k->hidden);
    k->scores = arena_take(a, (size_t)c->n_vocab * sizeof *k->scores);
    k->ids = arena_take(a, n * sizeof *k->ids);
    k->p = arena_take(a, n * sizeof *k->p);
    k->rows = arena_take(a, n * (size_t)c->n_embd * sizeof *k->rows);
    k->seqs = arena_take(a, n * sizeof *k->seqs);
}

/* Not training_kernels()->dot, which rounds once for a product and its sum and folds its lanes in
 * another order: near ties would then be decided otherwise. */
static float dot_product(const float *a, const float *b, int n)
{
    float lane[LANES] = {0}, sum = 0;
    int i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += a[i + l] * b[i + l];
    for (int l = 0; i + l < n; l++)
        lane[l] += a[i + l] * b[i + l];
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

/* out [n,C] = rows of the pass, scaled to length 1. */
static void normalize_hidden(float *out, const float *rows, int n, int width)
{
    for (int i = 0; i < n; i++) {
        const float *row = rows + (size_t)i * (size_t)width;
        float length = sqrtf(dot_product(row, row, width));
        for (int c = 0; c < width; c++)
            out[(size_t)i * (size_t)width + (size_t)c] = row[c] / length;
    }
}

/* Read the sequence's text again, for the hidden states of all its ids. */
static int read_hidden_states(struct contrastive *k, const struct progress *progress)
{
    struct sequence *s = k->sequence;
    struct engine *e = s->engine;
    int n = (int)s->ids.n, width = e->model->config.n_embd;
    kv_seq_truncate(&s->kv, &e->cache, 0);
    int rc = kv_seq_reserve(&s->kv, &e->cache, n);
    for (int at = 0; rc == 0 && at < n; at = s->kv.n) {
        rc = progress_step(progress, "reading", (uint64_t)at, (uint64_t)n);
        if (rc)
            break;
        engine_begin(e);
        int rows = n - at < engine_room(e) ? n - at : engine_room(e);
        if ((rc = engine_add(e, &s->kv, s->ids.data + at, rows, 0)) != 0)
            break;
        if ((rc = engine_run(e, NULL)) != 0)
            break;
        normalize_hidden(k->hidden + (size_t)at * (size_t)width, e->forward.hidden, rows, width);
    }
    kv_seq_truncate(&s->kv, &e->cache, s->kv.n);
    return rc;
}

int contrastive_new(struct contrastive **out, struct sequence *s, const struct generate_config *g,
                    const struct sampler_config *c, const struct stop_tokens *stop, int n_new,
                    bool held_space, const struct progress *p)
{
    const struct config *config = &s->engine->model->config;
    int most = s->engine->max_seqs < FORWARD_MAX_ROWS ? s->engine->max_seqs : FORWARD_MAX_ROWS;
    struct contrastive sized = {.top_k = c->top_k}, *k;
    struct arena size = {0};
    *out = NULL;
    if (!(g->penalty_alpha >= 0 && g->penalty_alpha <= 1))
        return err_set(ERR_RANGE, "penalty_alpha must be 0 to 1, not %g", (double)g->penalty_alpha);
    if (c->top_k < 2 || c->top_k > most)
        return err_set(ERR_RANGE, "top_k must be 2 to %d for contrastive search, not %d", most,
                       c->top_k);
    int rc = sequence_feed(s, NULL, 0, p);
    if (rc)
        return rc;
    carve_arrays(&sized, &size, config);
    size_t head = (sizeof *k + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN;
    k = mem_alloc(head + size.used);
    if (!k)
        return ERR_NOMEM;
    k->sequence = s;
    k->alpha = g->penalty_alpha;
    k->top_k = c->top_k;
    k->n_prompt = (int)s->ids.n - n_new;
    carve_arrays(k, &(struct arena){.base = (char *)k + head}, config);
    for (int i = 0; i < k->top_k && rc == 0; i++)
        rc = kv_seq_init(&k->seqs[i], &s->engine->cache);
    if (rc == 0)
        rc = sampler_new(&k->sampler, c, config->n_vocab, config->n_ctx,
                         s->engine->model->tokenizer, stop);
    if (rc == 0) {
        sampler_reset(k->sampler, c->draw, held_space);
        rc = read_hidden_states(k, p);
    }
    if (rc) {
        contrastive_free(k);
        return rc;
    }
    if (held_space) {
        prompt_mask_logits(s->engine->model, s->logits);
        s->n_logits = 0;
    }
    *out = k;
    return 0;
}

void contrastive_free(struct contrastive *k)
{
    if (!k)
        return;
    for (int i = 0; i < k->top_k; i++)
        kv_seq_release(&k->seqs[i], &k->sequence->engine->cache);
    sampler_free(k->sampler);
    mem_free(k);
}

/* Put the most likely tokens into ids and p. Returns how many; 0: the answer ends; or an
 * error. */
static int choose_candidates(struct contrastive *k)
{
    struct sequence *s = k->sequence;
    struct candidates *c = &k->candidates;
    memcpy(k->scores, s->logits, (size_t)c->n_vocab * sizeof *k->scores);
    int rc =
        sampler_adjust(k->sampler, k->scores, s->ids.data, s->ids.n, (int)s->ids.n - k->n_prompt);
    if (rc != 0)
        return rc;
    candidates_start(c, k->scores);
    if (!candidates_weigh(c)) {
        if (sampler_end(k->sampler) != SAMPLER_GOES_ON)
            return 0;
        k->ids[0] = (token_id)c->kernels->argmax(s->logits, (size_t)c->n_vocab);
        k->p[0] = 1;
        return 1;
    }
    int n = candidates_best(c, k->top_k);
    while (c->logit[candidates_id(c, c->index[n - 1])] == -INFINITY)
        n--; /* banned, and there since the others are fewer than top_k */
    for (int i = 0; i < n; i++) {
        k->ids[i] = candidates_id(c, c->index[i]);
        k->p[i] = (float)((double)c->weight[c->index[i]] / c->sum);
    }
    return n;
}

/* Run one pass over the text with each of the n candidates. */
static int read_candidates(struct contrastive *k, int n)
{
    struct engine *e = k->sequence->engine;
    struct kv_seq *kv = &k->sequence->kv;
    engine_begin(e);
    for (int i = 0; i < n; i++) {
        kv_seq_fork(&k->seqs[i], kv, &e->cache, kv->n);
        int rc = engine_add(e, &k->seqs[i], &k->ids[i], 1, 0);
        if (rc) {
            for (int j = 0; j <= i; j++)
                kv_seq_truncate(&k->seqs[j], &e->cache, 0);
            return rc;
        }
    }
    int rc = engine_run(e, NULL);
    for (int i = 0; i < n && rc != 0; i++)
        kv_seq_truncate(&k->seqs[i], &e->cache, 0);
    return rc;
}

/* The candidate of the highest score, the first of several. */
static int best_candidate(const struct contrastive *k, int n, int width)
{
    int best = 0;
    float best_score = -INFINITY;
    for (int i = 0; i < n; i++) {
        const float *row = k->rows + (size_t)i * (size_t)width;
        float nearest = -INFINITY;
        for (size_t j = 0; j < k->sequence->ids.n; j++)
            nearest = fmaxf(nearest, dot_product(k->hidden + j * (size_t)width, row, width));
        float score = (1 - k->alpha) * k->p[i] - k->alpha * nearest;
        if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

static struct sampled sampled_token(const struct contrastive *k, token_id id)
{
    const float *logits = k->sequence->logits;
    double log_sum = log_sum_exp(logits, (size_t)k->candidates.n_vocab);
    return (struct sampled){.id = id, .logprob = (float)((double)logits[id] - log_sum)};
}

/* The sequence takes over the candidate's pages, hidden state and logits. */
static int adopt_candidate(struct contrastive *k, int best, int n, int width)
{
    struct sequence *s = k->sequence;
    struct engine *e = s->engine;
    int rc = engine_head(e, s->logits, best, 1);
    if (rc == 0) {
        memcpy(k->hidden + s->ids.n * (size_t)width, k->rows + (size_t)best * (size_t)width,
               (size_t)width * sizeof *k->rows);
        kv_seq_fork(&s->kv, &k->seqs[best], &e->cache, k->seqs[best].n);
    }
    for (int i = 0; i < n; i++)
        kv_seq_truncate(&k->seqs[i], &e->cache, 0);
    s->n_logits = rc == 0 ? s->ids.n + 1 : 0;
    return rc;
}

int contrastive_next(struct contrastive *k, struct sampled *out)
{
    struct sequence *s = k->sequence;
    struct engine *e = s->engine;
    int width = e->model->config.n_embd, best = 0;
    if (!logits_are_finite(s->logits, (size_t)k->candidates.n_vocab))
        return logits_refuse(e->model, s->ids.n);
    const int n = choose_candidates(k);
    if (n < 0)
        return n;
    if (n == 0) {
        *out = (struct sampled){.id = TOKEN_NONE};
        return 0;
    }
    bool fed = kvcache_text_room(&e->cache, s->ids.n) != 1;
    if (fed) {
        int rc = read_candidates(k, n);
        if (rc)
            return rc;
        normalize_hidden(k->rows, e->forward.hidden, n, width);
        best = best_candidate(k, n, width);
    }
    *out = sampled_token(k, k->ids[best]);
    int rc = fed ? adopt_candidate(k, best, n, width) : 0;
    if (rc != 0)
        return rc;
    s->ids.data[s->ids.n++] = out->id;
    return 0;
}

enum sampler_end contrastive_end(const struct contrastive *k)
{
    return sampler_end(k->sampler);
}
