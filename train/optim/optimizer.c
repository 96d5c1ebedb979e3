#include "train/optim/optimizer.h"

#include "model/base/disk_walk.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/optim/optimizer_internal.h"

#include <math.h>
#include <string.h>

enum { PART = 4 << 20, PART_OF_ALL = 1 << 20 }; /* elements of a part of what is on disk */

double optimizer_disk_part(bool all)
{
    return DISK_WALK_PARTS * (double)(all ? PART_OF_ALL : PART);
}

/* Divide the block into pieces; with o->pieces NULL only count them. */
static void cut_pieces(struct optimizer *o, const struct optimizer_layout *l)
{
    int count = 0;
    size_t second = 0;
    for (int i = 0; i < l->n_tensors; i++) {
        const bool matrix = optimizer_has_matrix(&o->config, &l->tensors[i]),
                   decays = o->config.decay == DECAY_ALL || l->tensors[i].decays;
        for (size_t at = l->offset[i]; at < l->offset[i + 1]; at += PIECE, count++) {
            const size_t left = l->offset[i + 1] - at, n = left < PIECE ? left : PIECE;
            if (o->pieces != NULL)
                o->pieces[count] = (struct optimizer_piece){.first = at,
                                                            .second = second,
                                                            .n = (int)n,
                                                            .tensor = i,
                                                            .decays = decays,
                                                            .of_matrix = matrix};
            second += matrix ? 0 : n;
        }
    }
    o->n_pieces = count;
    o->n_second = second;
}

/* What Muon steps, once there are pieces. */
static int list_matrices(struct optimizer *o, const struct optimizer_layout *l)
{
    struct optimizer_needs needs = {0};
    for (int i = 0; i < l->n_tensors; i++) {
        optimizer_needs_add(&needs, &o->config, &l->tensors[i]);
        o->n_matrices += optimizer_has_matrix(&o->config, &l->tensors[i]);
    }
    if (o->n_matrices == 0)
        return 0;
    o->matrices = mem_array((size_t)o->n_matrices, sizeof *o->matrices);
    o->n_direction = needs.tensor;
    o->direction = mem_map("directions", o->n_direction * sizeof *o->direction);
    if (o->matrices == NULL || o->direction == NULL)
        return ERR_NOMEM;
    struct optimizer_matrix *m = o->matrices;
    for (int i = 0; i < l->n_tensors; i++) {
        const struct param_tensor *t = &l->tensors[i];
        if (!optimizer_has_matrix(&o->config, t))
            continue;
        *m = (struct optimizer_matrix){.first = l->offset[i],
                                       .first_piece = optimizer_pieces(o, l->offset[i]),
                                       .rows = t->rows,
                                       .cols = t->cols,
                                       .fused = t->fused > 0 ? t->fused : 1};
        m->n_pieces = optimizer_pieces(o, l->offset[i + 1]) - m->first_piece;
        m++;
    }
    return newton_schulz_init(&o->schulz, needs.part, needs.side);
}

static int allocate_pieces(struct optimizer *o)
{
    o->pieces = mem_array((size_t)o->n_pieces, sizeof *o->pieces);
    o->sums = mem_array((size_t)o->n_pieces, 2 * sizeof *o->sums);
    o->changes = mem_array((size_t)o->n_tensors, sizeof *o->changes);
    o->part_ends = mem_array((size_t)o->n_pieces + 1, sizeof *o->part_ends);
    return o->pieces != NULL && o->sums != NULL && o->changes != NULL && o->part_ends != NULL
               ? 0
               : ERR_NOMEM;
}

/* Of parts that end so, spread evenly, as many as have no more than so many elements. */
static void keep_parts(bool *kept, const size_t *ends, int n, size_t n_kept)
{
    const double share = (double)n_kept / (double)ends[n - 1];
    size_t here = 0;
    for (int i = 0; i < n; i++) {
        const size_t part = ends[i] - (i == 0 ? 0 : ends[i - 1]);
        kept[i] = (double)(here + part) <= (double)ends[i] * share;
        here += kept[i] ? part : 0;
    }
}

/* Where the moments are, but for n_kept of them. */
struct place {
    const char *folder; /* NULL: all in memory */
    size_t n_kept;
};

/* Parts of about PART elements, each the end of a piece. */
static int walk_moments(struct optimizer *o, bool half, const struct place *place)
{
    const size_t sizes[] = {sizeof *o->v, half ? sizeof *o->half_m : sizeof *o->m};
    size_t *ends = mem_array((size_t)o->n_parts, sizeof *ends);
    bool *kept = mem_array((size_t)o->n_parts, sizeof *kept);
    int rc = ends == NULL || kept == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < o->n_parts && rc == 0; i++) {
        const struct optimizer_piece *last = &o->pieces[o->part_ends[i] - 1];
        ends[i] = last->first + (size_t)last->n;
    }
    if (rc == 0) {
        keep_parts(kept, ends, o->n_parts, place->n_kept);
        const struct disk_walk_config c = {.what = "moments",
                                           .folder = place->folder,
                                           .n_arrays = 2,
                                           .sizes = sizes,
                                           .n_parts = o->n_parts,
                                           .ends = ends,
                                           .kept = kept};
        rc = disk_walk_new(&o->disk, &c);
    }
    mem_free(ends);
    mem_free(kept);
    return rc;
}

static int take_to_disk(struct optimizer *o, bool half, const struct place *place,
                        const struct optimizer_layout *l)
{
    int rc = walk_moments(o, half, place);
    if (rc != 0)
        return rc;
    o->v = disk_walk_array(o->disk, 0);
    o->half_m = half ? disk_walk_array(o->disk, 1) : NULL;
    o->m = half ? NULL : disk_walk_array(o->disk, 1);
    if (l->weights == NULL)
        return 0;
    disk_walk_join(o->disk, l->weights, dtype_bytes(l->dtype));
    disk_walk_join(o->disk, l->gradients, dtype_bytes(l->dtype));
    o->walks_gradients = true;
    return 0;
}

static int allocate_moments(struct optimizer *o, const struct place *place,
                            const struct optimizer_layout *l)
{
    const bool half = optimizer_moment(&o->config, o->dtype) == DTYPE_F16;
    if (half) {
        o->n_units = (size_t)o->n_pieces * RUNS;
        if ((o->m_unit = mem_array(o->n_units, sizeof *o->m_unit)) == NULL)
            return ERR_NOMEM;
    }
    if (place->folder != NULL)
        return take_to_disk(o, half, place, l);
    if (half)
        o->half_m = mem_map("moments", o->n * sizeof *o->half_m);
    else
        o->m = mem_map("moments", o->n * sizeof *o->m);
    o->v = mem_map("moments", o->n_second * sizeof *o->v);
    return o->v != NULL && (half ? o->half_m != NULL : o->m != NULL) ? 0 : ERR_NOMEM;
}

/* Whether a section of weights on disk ends with piece i. */
static bool ends_section(const struct optimizer *o, const struct optimizer_layout *l, int i)
{
    const size_t each = dtype_bytes(l->dtype);
    return l->weights != NULL && disk_array_section(l->weights, o->pieces[i].first * each) !=
                                     disk_array_section(l->weights, o->pieces[i + 1].first * each);
}

/* Pieces are in the block's order: a part is a run of them. */
static void cut_parts(struct optimizer *o, const struct optimizer_layout *l, size_t most)
{
    for (int i = 0, first = 0; i < o->n_pieces; i++) {
        const struct optimizer_piece *p = &o->pieces[i];
        const bool last = i + 1 == o->n_pieces || ends_section(o, l, i);
        if (!last && (most == 0 || p->first + (size_t)p->n - o->pieces[first].first < most))
            continue;
        o->part_ends[o->n_parts++] = first = i + 1;
    }
}

int optimizer_new(struct optimizer **out, const struct optimizer_config *c,
                  struct optimizer_layout l)
{
    return optimizer_new_on_disk(out, c, l, NULL, 0);
}

int optimizer_new_on_disk(struct optimizer **out, const struct optimizer_config *c,
                          struct optimizer_layout l, const char *folder, size_t n_kept)
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
    int rc = allocate_pieces(o);
    if (rc == 0) {
        cut_pieces(o, &l);
        cut_parts(o, &l, folder == NULL ? 0 : l.weights != NULL ? PART_OF_ALL : PART);
        if ((rc = list_matrices(o, &l)) == 0)
            rc = allocate_moments(o, &(struct place){folder, n_kept}, &l);
    }
    o->own = (struct piece_runs){.n = {o->n_pieces}};
    if (rc == 0)
        *out = o;
    else
        optimizer_free(o);
    return rc;
}

int optimizer_error(const struct optimizer *o)
{
    return o->disk == NULL ? 0 : disk_walk_error(o->disk);
}

void optimizer_free(struct optimizer *o)
{
    if (o == NULL)
        return;
    if (o->disk == NULL) {
        mem_unmap(o->m, o->n * sizeof *o->m);
        mem_unmap(o->half_m, o->n * sizeof *o->half_m);
        mem_unmap(o->v, o->n_second * sizeof *o->v);
    }
    disk_walk_free(o->disk);
    newton_schulz_release(&o->schulz);
    mem_unmap(o->direction, o->n_direction * sizeof *o->direction);
    mem_free(o->matrices);
    mem_free(o->m_unit);
    mem_free(o->part_ends);
    mem_unmap(o->rehearsed, o->n * sizeof *o->rehearsed);
    mem_free(o->pieces);
    mem_free(o->sums);
    mem_free(o->changes);
    mem_free(o);
}

void optimizer_configure(struct optimizer *o, const struct optimizer_config *c)
{
    o->config = *c;
}

int optimizer_pieces(const struct optimizer *o, size_t element)
{
    int from = 0, to = o->n_pieces;
    while (from < to) {
        const int middle = from + (to - from) / 2;
        if (o->pieces[middle].first < element)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

void optimizer_slices(const struct optimizer *o, size_t first, size_t last, int n, size_t *bounds)
{
    const int from = optimizer_pieces(o, first), pieces = optimizer_pieces(o, last) - from;
    for (int i = 0; i <= n; i++) {
        const int piece = from + (int)((long long)pieces * i / n);
        bounds[i] = piece < o->n_pieces ? o->pieces[piece].first : o->n;
    }
}

static size_t pieces_of(size_t n)
{
    return (n + PIECE - 1) / PIECE;
}

/* Pieces of tensor i that begin before an element, at which one begins or which lies outside it. */
static size_t pieces_before(const struct optimizer_layout *l, int i, size_t element)
{
    const size_t begin = l->offset[i], end = l->offset[i + 1];
    return element <= begin ? 0 : pieces_of((element < end ? element : end) - begin);
}

/* Those among elements first to last - 1. */
static size_t pieces_within(const struct optimizer_layout *l, int i, size_t first, size_t last)
{
    return pieces_before(l, i, last) - pieces_before(l, i, first);
}

size_t optimizer_layout_bound(const struct optimizer_layout *l, size_t first, size_t last, int n,
                              int i)
{
    size_t all = 0, before = 0;
    for (int t = 0; t < l->n_tensors; t++)
        all += pieces_within(l, t, first, last);
    const size_t at = all * (size_t)i / (size_t)n;
    for (int t = 0; t < l->n_tensors; t++) {
        const size_t here = pieces_within(l, t, first, last);
        if (at < before + here)
            return l->offset[t] + (pieces_before(l, t, first) + at - before) * PIECE;
        before += here;
    }
    return last;
}

size_t optimizer_block_index(const struct optimizer *o, const struct optimizer_block *b,
                             size_t element)
{
    const int piece = optimizer_pieces(o, element);
    if (o->m_unit != NULL && b->data == o->m_unit)
        return (size_t)piece * RUNS;
    if (b->data == o->v)
        return piece < o->n_pieces ? o->pieces[piece].second : o->n_second;
    return element;
}

void optimizer_set_share(struct optimizer *o, const struct optimizer_share *s)
{
    o->share = *s;
    o->own = (struct piece_runs){.n = {0}};
    for (int i = 0; i < s->n_runs; i++) {
        o->own.first[i] = optimizer_pieces(o, s->runs[i].first);
        o->own.n[i] = optimizer_pieces(o, s->runs[i].last) - o->own.first[i];
    }
    o->first_gradient = s->first_gradient;
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
    const bool here = o->disk == NULL, half = o->half_m != NULL;
    void *m = half ? (void *)o->half_m : (void *)o->m;
    out[0] = (struct optimizer_block){"exp_avg_sq", DTYPE_F32, here ? o->v : NULL,
                                      o->n_second,  o->disk,   0};
    out[1] = (struct optimizer_block){
        "exp_avg", half ? DTYPE_F16 : DTYPE_F32, here ? m : NULL, o->n, o->disk, 1};
    out[2] = (struct optimizer_block){"exp_avg_unit", DTYPE_F32, o->m_unit, o->n_units, NULL, 0};
    return half ? 3 : 2;
}

int optimizer_block_read(const struct optimizer_block *b, void *to, size_t first, size_t bytes)
{
    if (b->disk != NULL)
        return disk_walk_read(b->disk, b->disk_array, to, first, bytes);
    memcpy(to, (const char *)b->data + first, bytes);
    return 0;
}

int optimizer_block_write(const struct optimizer_block *b, const void *from, size_t first,
                          size_t bytes)
{
    if (b->disk != NULL)
        return disk_walk_write(b->disk, b->disk_array, from, first, bytes);
    memcpy((char *)b->data + first, from, bytes);
    return 0;
}
