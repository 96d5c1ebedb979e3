#include "train/optim/optimizer_muon.h"

#include "model/base/par.h"
#include "model/base/profile.h"
#include "train/optim/optimizer_run.h"

#include <math.h>

/* By what a direction is multiplied, so that its elements are about as large as AdamW's. */
static double direction_factor(const struct optimizer_matrix *m)
{
    const int cols = m->cols / m->fused;
    return 0.2 * sqrt(m->rows > cols ? m->rows : cols);
}

double optimizer_muon_most(const struct optimizer *o)
{
    double most = 0;
    for (int i = 0; i < o->n_matrices; i++)
        most = fmax(most, NEWTON_SCHULZ_MOST * direction_factor(&o->matrices[i]));
    return most;
}

static bool is_own(const struct optimizer *o, const struct optimizer_matrix *m)
{
    const struct piece_runs *own = &o->own;
    for (int i = 0; i < OPTIMIZER_MAX_RUNS; i++)
        if (m->first_piece >= own->first[i] && m->first_piece < own->first[i] + own->n[i])
            return true;
    return false;
}

/* Momentum, stored, and direction of a piece of a matrix. */
static void direct_piece(const struct optimizer_pass *j, const struct optimizer_matrix *m, int i)
{
    const struct optimizer_piece *p = &j->o->pieces[i];
    struct optimizer_run r;
    for (size_t from = 0; from < (size_t)p->n; from += r.n) {
        optimizer_run_open(&r, j, p, from);
        optimizer_kernels()->muon_direction(j->o->direction + (r.at - m->first), r.m, r.g, r.n,
                                            &j->momentum);
        optimizer_run_close_moment(&r, j);
    }
}

static void update_piece(const struct optimizer_pass *j, const struct optimizer_matrix *m, int i)
{
    const struct optimizer_piece *p = &j->o->pieces[i];
    struct adam_constants d = p->decays ? j->decaying : j->plain;
    double *sums = &j->o->sums[2 * i], more[2];
    struct optimizer_run r;
    d.rate = (float)((double)d.rate * direction_factor(m));
    sums[0] = sums[1] = 0;
    for (size_t from = 0; from < (size_t)p->n; from += r.n) {
        optimizer_run_open(&r, j, p, from);
        optimizer_kernels()->muon_update(more, r.w, j->o->direction + (r.at - m->first), r.n, &d);
        optimizer_run_close_weights(&r, j);
        sums[0] += more[0];
        sums[1] += more[1];
    }
}

void optimizer_muon_share(void *arg, int thread, int n_threads)
{
    const struct optimizer_pass *j = arg;
    struct optimizer *o = j->o;
    int first, last;
    profile_set(PART_OPTIMIZER);
    for (int i = 0; i < o->n_matrices; i++) {
        const struct optimizer_matrix *m = &o->matrices[i];
        const int cols = m->cols / m->fused;
        if (!is_own(o, m))
            continue;
        par_split(m->n_pieces, thread, n_threads, &first, &last);
        for (int k = first; k < last; k++)
            direct_piece(j, m, m->first_piece + k);
        par_barrier();
        for (int k = 0; k < m->fused; k++)
            newton_schulz_share(&o->schulz, o->direction + (size_t)k * (size_t)cols, m->rows, cols,
                                (size_t)m->cols, thread, n_threads);
        for (int k = first; k < last; k++)
            update_piece(j, m, m->first_piece + k);
        par_barrier();
    }
}
