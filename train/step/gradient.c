#include "train/step/gradient.h"

#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/product.h"
#include "model/kernels/row_kernels.h"

#include <string.h>

/* Rows of the sequences of a pass, which are all of one length. */
static int sequence_rows(const struct backward *b)
{
    return b->rows / b->n_seqs;
}

int gradient_run(const struct backward *b, int row, int last)
{
    const int n = sequence_rows(b), end = (row / n + 1) * n;
    return (b->half && end < last ? end : last) - row;
}

void gradient_round(const struct backward *b, float *x, size_t n)
{
    enum { PART = 512 };
    uint16_t half[PART];
    for (size_t i = 0, count; b->half && i < n; i += count) {
        count = n - i < PART ? n - i : PART;
        row_kernels()->half_from_f32(half, x + i, count);
        row_kernels()->half_to_f32(x + i, half, count);
    }
}

struct rounded {
    const struct backward *b;
    const struct product *m;
};

static void round_block(void *user, int row, int rows, int col, int cols)
{
    const struct rounded *x = user;
    for (int r = row; r < row + rows; r++)
        gradient_round(x->b, x->m->c + (size_t)r * (size_t)x->m->ldc + (size_t)col, (size_t)cols);
}

void gradient_add_product(const struct backward_thread *p, struct product *m, float *gradient,
                          int row)
{
    const bool ends = (row + m->k) % sequence_rows(p->b) == 0;
    m->add = true;
    m->c = gradient;
    m->finish = p->b->half && ends ? round_block : NULL;
    m->user = &(struct rounded){p->b, m};
    product_share(m, p->thread, p->n_threads, p->scratch);
}

void gradient_add_rows(const struct backward_thread *p, float *gradient, const float *dy, int N)
{
    enum { UNIT = 16 /* a thread's share is whole units of columns */ };
    const int n = sequence_rows(p->b);
    size_t first, count;
    par_split_units((size_t)N, UNIT, p->thread, p->n_threads, &first, &count);
    for (int r = 0; r < p->b->rows && count > 0; r++) {
        row_kernels()->add(gradient + first, dy + (size_t)r * (size_t)N + first, count);
        if ((r + 1) % n == 0)
            gradient_round(p->b, gradient + first, count);
    }
}

void gradient_carve_embedding(struct embedding_gradient *e, struct arena *a, int V, int C,
                              int64_t tokens)
{
    e->capacity = (size_t)(tokens > 0 && tokens < V ? tokens : V);
    e->C = (size_t)C;
    e->place = arena_take(a, (size_t)V * sizeof *e->place);
    e->ids = arena_take(a, e->capacity * sizeof *e->ids);
    e->rows = arena_take(a, e->capacity * e->C * sizeof *e->rows);
}

void gradient_place_tokens(const struct backward *b)
{
    struct embedding_gradient *e = b->embedding;
    for (int s = 0; s < b->n_seqs; s++)
        for (int i = 0; i < b->seqs[s].n; i++) {
            const token_id id = shard_token(b->f->shard, b->seqs[s].ids[i]);
            if (id < 0 || e->place[id] != 0)
                continue;
            e->ids[e->n++] = id;
            e->place[id] = (int32_t)e->n;
        }
}

struct join_job {
    const struct embedding_gradient *e;
    void *wte;
    enum dtype dtype;
};

static void add_to_halves(uint16_t *half, const float *x, size_t n)
{
    enum { PART = 512 };
    float part[PART];
    for (size_t i = 0, count; i < n; i += count) {
        count = n - i < PART ? n - i : PART;
        row_kernels()->half_to_f32(part, half + i, count);
        row_kernels()->add(part, x + i, count);
        row_kernels()->half_from_f32(half + i, part, count);
    }
}

/* Each token has a row of its own, so threads may share them out. */
static void join_share(void *arg, int thread, int n_threads)
{
    const struct join_job *j = arg;
    const size_t C = j->e->C;
    int first, last;
    profile_set(PART_OPTIMIZER);
    par_split((int)j->e->n, thread, n_threads, &first, &last);
    for (size_t i = (size_t)first; i < (size_t)last; i++) {
        const size_t at = (size_t)j->e->ids[i] * C;
        float *row = j->e->rows + i * C;
        if (j->dtype == DTYPE_F16)
            add_to_halves((uint16_t *)j->wte + at, row, C);
        else
            row_kernels()->add((float *)j->wte + at, row, C);
    }
}

void gradient_join_embedding(struct embedding_gradient *e, void *wte, enum dtype dtype)
{
    par_run(join_share, &(struct join_job){e, wte, dtype});
    gradient_forget_embedding(e);
}

void gradient_forget_embedding(struct embedding_gradient *e)
{
    for (size_t i = 0; i < e->n; i++)
        e->place[e->ids[i]] = 0;
    if (e->n > 0)
        memset(e->rows, 0, e->n * e->C * sizeof *e->rows);
    e->n = 0;
}
