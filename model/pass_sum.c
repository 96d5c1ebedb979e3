#include "model/pass_sum.h"

#include "model/base/profile.h"

struct row_sum {
    const struct pass_sum *p;
    struct linear w;
    float *y;
    const float *x;
};

static void add_own_rows(void *user, int round, bool fresh, int first, int last)
{
    const struct row_sum *j = user;
    const struct linear *w = &j->w;
    (void)round;
    profile_set(PART_MATRICES);
    linear_rows(w, j->y + (size_t)first * (size_t)w->N, (size_t)w->N,
                j->x + (size_t)first * (size_t)w->K, (size_t)w->K, last - first,
                fresh ? EPILOGUE_STORE : EPILOGUE_ADD, j->p->thread, j->p->n_threads,
                j->p->scratch);
}

/* The bias comes last, as in one process. */
void pass_sum_rows(const struct pass_sum *p, const struct linear *w, float *y, const float *x)
{
    struct row_sum j = {.p = p, .w = *w, .y = y, .x = x};
    if (p->shard->own < p->shard->n - 1)
        j.w.bias = NULL;
    const struct shard_sum sum = {.rows = y,
                                  .row_bytes = (size_t)w->N * sizeof *y,
                                  .n_rows = p->rows,
                                  .rounds = 1,
                                  .add = add_own_rows,
                                  .user = &j};
    shard_add(p->shard, &sum, p->thread);
}

struct token_sum {
    const struct pass_sum *p;
    const struct linear *wte;
    float *x;
    const struct forward_seq *seqs;
    int n_seqs;
};

/* Those that are here. */
static void add_own_tokens(void *user, int round, bool fresh, int first, int last)
{
    const struct token_sum *j = user;
    int row = 0;
    (void)round;
    (void)fresh;
    for (int s = 0; s < j->n_seqs; s++)
        for (int i = 0; i < j->seqs[s].n; i++, row++) {
            const int at = shard_token(j->p->shard, j->seqs[s].ids[i]);
            if (at >= 0 && row >= first && row < last && row % j->p->n_threads == j->p->thread)
                linear_column(j->wte, at, j->x + (size_t)row * (size_t)j->wte->K);
        }
}

void pass_sum_tokens(const struct pass_sum *p, const struct linear *wte, float *x,
                     const struct forward_seq *seqs, int n_seqs)
{
    struct token_sum j = {p, wte, x, seqs, n_seqs};
    const struct shard_sum sum = {.rows = x,
                                  .row_bytes = (size_t)wte->K * sizeof *x,
                                  .n_rows = p->rows,
                                  .rounds = 1,
                                  .add = add_own_tokens,
                                  .user = &j};
    shard_add(p->shard, &sum, p->thread);
}
