#include "sampling/score.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/sampling_kernels.h"
#include "sampling/chain/logits.h"

#include <math.h>
#include <string.h>

/*
 * Each pass reads the next ids of several passages, as many as fit, and leaves the hidden states of
 * their targets; scorer_next makes logits of SCORE_ROWS of these at a time:
 *
 *     pass     | passage 3 | passage 4  | passage 5, first part |     read_pass
 *     targets  |  x x x x  |   x x x x x|           x x x x x x |     rows [n_rows]
 *     calls    |-------- SCORE_ROWS --------|---- rest ---------|     scorer_next
 *
 * A passage is read into a kv_seq, not a sequence: its ids are the caller's, and logits of many
 * positions are wanted.
 */

struct scorer {
    struct engine *engine;
    const struct passage *list; /* [n], borrowed */
    size_t n;
    uint64_t done, total;   /* ids read so far, and in all; shared ones count once */
    struct kv_seq *seqs;    /* [n_seqs]; owned; a passage uses seqs[passage % n_seqs] */
    int n_seqs;             /* passages in one pass, at most */
    size_t passage, at;     /* the next to read, and how many of its ids are read */
    struct score_row *rows; /* [FORWARD_MAX_ROWS], targets of the last pass */
    int n_rows, row;        /* how many, and how many of them were returned */
    int n_given;            /* by the last scorer_next */
    float *logits;          /* [SCORE_ROWS,V] */
    size_t logits_bytes;
};

int scorer_new(struct scorer **out, struct engine *e)
{
    *out = NULL;
    struct scorer *s = mem_alloc(sizeof *s);
    if (s == NULL)
        return ERR_NOMEM;
    s->engine = e;
    s->n_seqs = e->max_seqs;
    s->logits_bytes = SCORE_ROWS * (size_t)e->model->config.n_vocab * sizeof *s->logits;
    s->seqs = mem_array((size_t)s->n_seqs, sizeof *s->seqs);
    s->rows = mem_array(FORWARD_MAX_ROWS, sizeof *s->rows);
    s->logits = mem_map("scoring logits", s->logits_bytes);
    int rc = s->seqs == NULL || s->rows == NULL || s->logits == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < s->n_seqs && rc == 0; i++)
        rc = kv_seq_init(&s->seqs[i], &e->cache);
    if (rc != 0) {
        scorer_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void scorer_free(struct scorer *s)
{
    if (s == NULL)
        return;
    for (int i = 0; s->seqs != NULL && i < s->n_seqs; i++)
        kv_seq_release(&s->seqs[i], &s->engine->cache);
    mem_free(s->seqs);
    mem_free(s->rows);
    mem_unmap(s->logits, s->logits_bytes);
    mem_free(s);
}

static int check_passage(const struct engine *e, const struct passage *p)
{
    if (p->first < 1 || p->first >= p->n)
        return err_set(ERR_RANGE, "cannot score from token %zu on in a text of %zu", p->first,
                       p->n);
    if (p->n - 1 > (size_t)e->cache.n_ctx)
        return err_set(ERR_FULL, "cannot score %zu tokens at once, the context holds %d", p->n,
                       e->cache.n_ctx);
    return engine_check_ids(e, p->ids, p->n);
}

static int check_shared(const struct passage *p)
{
    if (p->shared == 0 || (p->shared < p->first && p->shared < p[-1].n &&
                           memcmp(p->ids, p[-1].ids, p->shared * sizeof *p->ids) == 0))
        return 0;
    return err_set(ERR_RANGE, "%zu tokens are not those of the passage before", p->shared);
}

int scorer_begin(struct scorer *s, const struct passage *list, size_t n)
{
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        int rc = check_passage(s->engine, &list[i]);
        if (rc == 0)
            rc = i > 0                ? check_shared(&list[i])
                 : list[i].shared > 0 ? err_set(ERR_RANGE, "there is no passage before the first")
                                      : 0;
        if (rc != 0)
            return rc;
        total += list[i].n - 1 - list[i].shared;
    }
    for (int i = 0; i < s->n_seqs; i++)
        kv_seq_truncate(&s->seqs[i], &s->engine->cache, 0);
    s->list = list;
    s->n = n;
    s->total = total;
    s->done = 0;
    s->passage = s->at = 0;
    s->n_rows = s->row = 0;
    return 0;
}

static struct kv_seq *passage_seq(const struct scorer *s, size_t passage)
{
    return &s->seqs[passage % (size_t)s->n_seqs];
}

/* Whether what passage i shares with the one before is in the cache, rather than in the pass that
 * is being put together. */
static bool can_begin_passage(const struct scorer *s, size_t i)
{
    return i == 0 || (size_t)passage_seq(s, i - 1)->n >= s->list[i].shared;
}

/* Clear the kv_seq of a passage, except for the ids it shares, and reserve its pages. */
static int begin_passage(struct scorer *s, size_t i)
{
    const struct passage *p = &s->list[i];
    struct kv_seq *seq = passage_seq(s, i);
    if (p->shared > 0)
        kv_seq_fork(seq, passage_seq(s, i - 1), &s->engine->cache, (int)p->shared);
    else
        kv_seq_truncate(seq, &s->engine->cache, (int)p->shared);
    return kv_seq_reserve(seq, &s->engine->cache, (int)(p->n - 1 - p->shared));
}

/* Append the next ids of passage i to the pass, as many as fit, and their targets to the rows.
 * Returns how many ids, or an error code. */
static int add_passage(struct scorer *s, size_t i, size_t at)
{
    const struct passage *p = &s->list[i];
    size_t left = p->n - 1 - at, room = (size_t)engine_room(s->engine);
    size_t n = left < room ? left : room;
    int rc = at == p->shared ? begin_passage(s, i) : 0;
    size_t skip = p->first - 1 <= at ? 0 : p->first - 1 - at < n ? p->first - 1 - at : n;
    if (rc == 0)
        rc = engine_add(s->engine, passage_seq(s, i), p->ids + at, (int)n, (int)skip);
    if (rc != 0)
        return rc;
    for (size_t k = at + skip; k < at + n; k++)
        s->rows[s->n_rows++] = (struct score_row){i, k + 1, p->ids[k + 1]};
    return (int)n;
}

/* Run one pass over as many passages as fit. */
static int read_pass(struct scorer *s)
{
    struct engine *e = s->engine;
    size_t i = s->passage, at = s->at;
    s->n_rows = s->row = 0;
    engine_begin(e);
    while (i < s->n && engine_room(e) > 0 && e->n_pass < s->n_seqs && can_begin_passage(s, i)) {
        int n = add_passage(s, i, at);
        if (n < 0) {
            s->n_rows = 0;
            return n;
        }
        at += (size_t)n;
        if (at == s->list[i].n - 1) {
            i++;
            at = i < s->n ? s->list[i].shared : 0;
        }
    }
    int rc = engine_run(e, NULL);
    if (rc != 0) {
        s->n_rows = 0;
        return rc;
    }
    s->done += (uint64_t)e->n_pass_rows;
    s->passage = i;
    s->at = at;
    return 0;
}

int scorer_next(struct scorer *s, const struct score_row **rows, const float **logits, int *n,
                const struct progress *p)
{
    *n = 0;
    while (s->row == s->n_rows && s->passage < s->n) {
        int rc = progress_step(p, "scoring", s->done, s->total);
        if (rc == 0)
            rc = read_pass(s);
        if (rc != 0)
            return rc;
    }
    s->n_given = s->n_rows - s->row;
    if (s->n_given > SCORE_ROWS)
        s->n_given = SCORE_ROWS;
    int rc = s->n_given == 0 ? 0 : engine_head(s->engine, s->logits, s->row, s->n_given);
    if (rc != 0)
        return rc;
    *rows = s->rows + s->row;
    *logits = s->logits;
    *n = s->n_given;
    s->row += s->n_given;
    return 0;
}

struct scorer_place scorer_place(const struct scorer *s)
{
    return (struct scorer_place){.read = s->done,
                                 .total = s->total,
                                 .passage = s->passage,
                                 .at_end = s->passage == s->n && s->row == s->n_rows};
}

struct judging {
    const struct scorer *s;
    struct score *out;
};

static void judge_token(struct score *out, const float *logits, size_t n, token_id id)
{
    const struct sampling_kernels *k = sampling_kernels();
    size_t best = k->argmax(logits, n);
    const float target = logits[id];
    int above = 0;
    for (size_t i = 0; i < n; i++)
        above += !(logits[i] <= target); /* all, where that is NaN */
    out->best = (token_id)best;
    out->above = above;
    /* Not by log_sum_exp: the difference of two logits is exact. */
    out->logprob =
        (double)target - (double)logits[best] - log(k->exp_sum(NULL, logits, n, logits[best], 1));
}

static void judge_share(void *arg, int thread, int n_threads)
{
    const struct judging *j = arg;
    const struct scorer *s = j->s;
    size_t V = (size_t)s->engine->model->config.n_vocab;
    int first, last;
    par_split(s->n_given, thread, n_threads, &first, &last);
    profile_set(PART_LOSS);
    for (int i = first; i < last; i++)
        judge_token(&j->out[i], s->logits + (size_t)i * V, V, s->rows[s->row - s->n_given + i].id);
}

int scorer_judge(const struct scorer *s, struct score *out)
{
    struct judging j = {s, out};
    par_run(judge_share, &j);
    for (int i = 0; i < s->n_given; i++)
        if (!isfinite(out[i].logprob))
            return logits_refuse(s->engine->model, s->rows[s->row - s->n_given + i].target);
    return 0;
}

int score_text(struct engine *e, const token_id *ids, size_t n, size_t first,
               void (*f)(void *user, size_t i, const float *logits), void *user,
               const struct progress *p)
{
    const size_t V = (size_t)e->model->config.n_vocab;
    struct scorer *s;
    struct passage text = {.ids = ids, .n = n, .first = first < 1 ? 1 : first};
    if (n <= text.first)
        return 0;
    int rc = scorer_new(&s, e), got = 1;
    if (rc != 0)
        return rc;
    rc = scorer_begin(s, &text, 1);
    while (rc == 0 && got > 0) {
        const struct score_row *rows;
        const float *logits;
        rc = scorer_next(s, &rows, &logits, &got, p);
        for (int i = 0; rc == 0 && i < got; i++) {
            const float *row = logits + (size_t)i * V;
            if (logits_are_finite(row, V))
                f(user, rows[i].target, row);
            else
                rc = logits_refuse(e->model, rows[i].target);
        }
    }
    scorer_free(s);
    return rc;
}
