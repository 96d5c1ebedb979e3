/*
 * With u = drop(x) A^T (inner) and y = scale u B:
 *
 *   du = scale dy B^T,  dB += scale u^T dy,  dA += du^T drop(x),  dx = drop'(du A)
 *
 * dx is overwritten; the caller adds the matrix's own contribution.
 */
#include "train/step/backward_low_rank.h"

#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/blas.h"

void backward_low_rank(const struct backward_thread *p, const struct low_rank *w, float *dx,
                       const float *x, const float *dy)
{
    const struct backward *b = p->b;
    const int rows = b->rows, n = p->n_threads;
    const float *inner = b->f->low_rank.inner;
    profile_set(PART_MATRICES);
    blas_gemm_share(false, true, rows, w->rank, w->N, w->scale, dy, w->N, w->b, w->N, 0, b->dinner,
                    w->rank, p->thread, n);
    x = low_rank_inner(w, &b->f->low_rank, b->f->dropout, x, b->seqs, b->n_seqs, p->thread, n);
    blas_gemm_share(true, false, w->rank, w->N, rows, w->scale, inner, w->rank, dy, w->N, 1,
                    backward_gradient(b, w->b), w->N, p->thread, n);
    blas_gemm_share(true, false, w->rank, w->K, rows, 1, b->dinner, w->rank, x, w->K, 1,
                    backward_gradient(b, w->a), w->K, p->thread, n);
    blas_gemm_share(false, false, rows, w->K, w->rank, 1, b->dinner, w->rank, w->a, w->K, 0, dx,
                    w->K, p->thread, n);
    par_barrier();
    if (b->f->dropout == NULL || b->f->dropout->adapter.keep == 0)
        return;
    low_rank_drop(w, b->f->dropout, dx, dx, b->seqs, b->n_seqs, p->thread, n);
    par_barrier();
}
