#include "train/optim/optimizer_walk.h"

#include "model/base/disk_walk.h"
#include "model/base/par.h"

/* Piece k of the runs. */
static int run_piece(const struct piece_runs *r, int k)
{
    int i = 0;
    for (; k >= r->n[i]; i++)
        k -= r->n[i];
    return r->first[i] + k;
}

/* Those of the runs that lie in pieces from to to - 1. */
static struct piece_runs clip_runs(const struct piece_runs *r, int from, int to)
{
    struct piece_runs out;
    for (int i = 0; i < OPTIMIZER_MAX_RUNS; i++) {
        const int end = r->first[i] + r->n[i];
        out.first[i] = r->first[i] > from ? r->first[i] : from;
        out.n[i] = (end < to ? end : to) - out.first[i];
        out.n[i] = out.n[i] > 0 ? out.n[i] : 0;
    }
    return out;
}

static int count_pieces(const struct piece_runs *r)
{
    int n = 0;
    for (int i = 0; i < OPTIMIZER_MAX_RUNS; i++)
        n += r->n[i];
    return n;
}

void optimizer_walk(const struct optimizer *o, int thread, int n_threads, unsigned used,
                    unsigned changed, optimizer_visit *f, const struct optimizer_pass *j)
{
    const bool walks = o->disk != NULL && (o->walks_gradients || (used & MOMENTS) != 0);
    if (walks && thread == 0)
        disk_walk_begin(o->disk, used, changed);
    for (int part = 0; part < o->n_parts; part++) {
        const int from = part == 0 ? 0 : o->part_ends[part - 1];
        const struct piece_runs here = clip_runs(&o->own, from, o->part_ends[part]);
        int first, last;
        if (walks && thread == 0)
            disk_walk_enter(o->disk, part);
        if (walks)
            par_barrier();
        par_split(count_pieces(&here), thread, n_threads, &first, &last);
        for (int k = first; k < last; k++)
            f(j, run_piece(&here, k));
        par_barrier();
        if (walks && thread == 0)
            disk_walk_leave(o->disk, part);
    }
    if (walks && thread == 0)
        disk_walk_end(o->disk);
}
