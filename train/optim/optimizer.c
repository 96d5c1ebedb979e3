#include "train/optim/optimizer.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/optim/optimizer_internal.h"

#include <math.h>

/* Divide the block into pieces; with o->pieces NULL only count them. */
static void cut_pieces(struct optimizer *o, const struct optimizer_layout *l)
{
    int count = 0;
    for (int i = 0; i < l->n_tensors; i++) {
        bool decays = o->config.decay == DECAY_ALL || l->tensors[i].decays;
        for (size_t at = l->offset[i]; at < l->offset[i + 1]; at += PIECE, count++) {
            size_t left = l->offset[i + 1] - at;
            if (o->pieces != NULL)
                o->pieces[count] =
                    (struct optimizer_piece){at, left < PIECE ? (int)left : PIECE, i, decays};
        }
    }
    o->n_pieces = count;
}

/* False: out of memory. */
static bool allocate_moments(struct optimizer *o)
{
    bool half = optimizer_moment(&o->config, o->dtype) == DTYPE_F16;
    o->pieces = mem_array((size_t)o->n_pieces, sizeof *o->pieces);
    o->sums = mem_array((size_t)o->n_pieces, 2 * sizeof *o->sums);
    o->changes = mem_array((size_t)o->n_tensors, sizeof *o->changes);
    if (half) {
        o->n_units = (size_t)o->n_pieces * RUNS;
        o->m_unit = mem_array(o->n_units, sizeof *o->m_unit);
        o->half_m = mem_map("moments", o->n * sizeof *o->half_m);
    } else {
        o->m = mem_map("moments", o->n * sizeof *o->m);
    }
    o->v = mem_map("moments", o->n * sizeof *o->v);
    return o->pieces != NULL && o->sums != NULL && o->changes != NULL && o->v != NULL &&
           (half ? o->m_unit != NULL && o->half_m != NULL : o->m != NULL);
}

int optimizer_new(struct optimizer **out, const struct optimizer_config *c,
                  struct optimizer_layout l)
{
    struct optimizer *o = mem_alloc(sizeof *o);
    if (o == NULL)
        return ERR_NOMEM;
    *o = (struct optimizer){.config = *c,
                            .limit = l.dtype == DTYPE_F16 ? OPTIMIZER_HALF_LIMIT : INFINITY,
                            .n = l.offset[l.n_tensors],
                            .largest = INFINITY,
                            .n_tensors = l.n_tensors,
                            .dtype = l.dtype};
    cut_pieces(o, &l);
    if (!allocate_moments(o)) {
        optimizer_free(o);
        return ERR_NOMEM;
    }
    cut_pieces(o, &l);
    o->last_piece = o->n_pieces;
    *out = o;
    return 0;
}

void optimizer_free(struct optimizer *o)
{
    if (o == NULL)
        return;
    mem_unmap(o->m, o->n * sizeof *o->m);
    mem_unmap(o->half_m, o->n * sizeof *o->half_m);
    mem_free(o->m_unit);
    mem_unmap(o->v, o->n * sizeof *o->v);
    mem_unmap(o->rehearsed, o->n * sizeof *o->rehearsed);
    mem_free(o->pieces);
    mem_free(o->sums);
    mem_free(o->changes);
    mem_free(o->piece_bounds);
    mem_free(o);
}

void optimizer_configure(struct optimizer *o, const struct optimizer_config *c)
{
    o->config = *c;
}

/* The first piece of slice i of n. */
static int slice_piece(const struct optimizer *o, int i, int n)
{
    return (int)((long long)o->n_pieces * i / n);
}

void optimizer_slices(const struct optimizer *o, int n, size_t *bounds)
{
    for (int i = 0; i <= n; i++) {
        const int piece = slice_piece(o, i, n);
        bounds[i] = piece < o->n_pieces ? o->pieces[piece].first : o->n;
    }
}

void optimizer_block_slices(const struct optimizer *o, const struct optimizer_block *b, int n,
                            size_t *bounds)
{
    if (b->data != o->m_unit) {
        optimizer_slices(o, n, bounds);
        return;
    }
    for (int i = 0; i <= n; i++)
        bounds[i] = (size_t)slice_piece(o, i, n) * RUNS;
}

int optimizer_set_share(struct optimizer *o, const struct optimizer_share *s)
{
    o->piece_bounds = mem_array((size_t)s->n + 1, sizeof *o->piece_bounds);
    if (o->piece_bounds == NULL)
        return ERR_NOMEM;
    for (int i = 0; i <= s->n; i++)
        o->piece_bounds[i] = slice_piece(o, i, s->n);
    o->share = *s;
    o->first_piece = o->piece_bounds[s->slice];
    o->last_piece = o->piece_bounds[s->slice + 1];
    return 0;
}

float optimizer_limit(const struct optimizer *o)
{
    return o->limit;
}
void optimizer_set_limit(struct optimizer *o, float limit)
{
    o->limit = limit;
}

int optimizer_set_guard(struct optimizer *o, const struct optimizer_guard *g)
{
    if (o->rehearsed == NULL)
        o->rehearsed = mem_map("spike guard", o->n * sizeof *o->rehearsed);
    if (o->rehearsed == NULL)
        return ERR_NOMEM;
    o->guard = *g;
    return 0;
}
int64_t optimizer_steps(const struct optimizer *o)
{
    return o->steps;
}
void optimizer_set_steps(struct optimizer *o, int64_t steps)
{
    o->steps = steps;
}
const struct tensor_change *optimizer_changes(const struct optimizer *o)
{
    return o->changes;
}

int optimizer_blocks(const struct optimizer *o, struct optimizer_block out[OPTIMIZER_MAX_BLOCKS])
{
    out[0] = (struct optimizer_block){"exp_avg_sq", DTYPE_F32, o->v, o->n};
    out[1] = (struct optimizer_block){"exp_avg", DTYPE_F32, o->m, o->n};
    if (o->half_m == NULL)
        return 2;
    out[1] = (struct optimizer_block){"exp_avg", DTYPE_F16, o->half_m, o->n};
    out[2] = (struct optimizer_block){"exp_avg_unit", DTYPE_F32, o->m_unit, o->n_units};
    return 3;
}
