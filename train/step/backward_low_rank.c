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
#include "model/kernels/product.h"

/* dB and dA, of x and of inner as they are: this thread's share. */
static void low_rank_gradients(const struct backward_thread *p, const struct low_rank *w,
                               const float *x, const float *dy)
{
    const struct backward *b = p->b;
    const int rows = b->rows, n = p->n_threads;
    const struct product db = {.float32 = true,
                               .transpose_a = true,
                               .add = true,
                               .m = w->rank,
                               .n = w->N,
                               .k = rows,
                               .alpha = w->scale,
                               .a = b->f->low_rank.inner,
                               .lda = w->rank,
                               .b = dy,
                               .ldb = w->N,
                               .c = backward_gradient(b, w->b),
                               .ldc = w->N};
    product_share(&db, p->thread, n, p->scratch);
    const struct product da = {.float32 = true,
                               .transpose_a = true,
                               .add = true,
                               .m = w->rank,
                               .n = w->K,
                               .k = rows,
                               .alpha = 1,
                               .a = b->dinner,
                               .lda = w->rank,
                               .b = x,
                               .ldb = w->K,
                               .c = backward_gradient(b, w->a),
                               .ldc = w->K};
    product_share(&da, p->thread, n, p->scratch);
}

void backward_low_rank(const struct backward_thread *p, const struct low_rank *w, float *dx,
                       const float *x, const float *dy)
{
    const struct backward *b = p->b;
    const int rows = b->rows, n = p->n_threads;
    profile_set(PART_MATRICES);
    const struct product du = {.float32 = true,
                               .transpose_b = true,
                               .m = rows,
                               .n = w->rank,
                               .k = w->N,
                               .alpha = w->scale,
                               .a = dy,
                               .lda = w->N,
                               .b = w->b,
                               .ldb = w->N,
                               .c = b->dinner,
                               .ldc = w->rank};
    product_share(&du, p->thread, n, p->scratch);
    x = low_rank_inner(w, &b->f->low_rank, b->f->dropout, x, b->seqs, b->n_seqs, p->thread, n,
                       p->scratch);
    low_rank_gradients(p, w, x, dy);
    const struct product dropped = {.float32 = true,
                                    .m = rows,
                                    .n = w->K,
                                    .k = w->rank,
                                    .alpha = 1,
                                    .a = b->dinner,
                                    .lda = w->rank,
                                    .b = w->a,
                                    .ldb = w->K,
                                    .c = dx,
                                    .ldc = w->K};
    product_share(&dropped, p->thread, n, p->scratch);
    par_barrier();
    if (b->f->dropout == NULL || b->f->dropout->adapter.keep == 0)
        return;
    low_rank_drop(w, b->f->dropout, dx, dx, b->seqs, b->n_seqs, p->thread, n);
    par_barrier();
}
