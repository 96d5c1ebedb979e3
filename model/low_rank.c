#include "model/low_rank.h"

#include "model/base/par.h"
#include "model/kernels/blas.h"
#include "model/kernels/training_kernels.h"

/* Dropout masks of LoRA branches have streams after those of every layer's other masks. */
enum { FIRST_STREAM = 1 << 20 };

static int count_rows(const struct forward_seq *seqs, int n_seqs)
{
    int rows = 0;
    for (int s = 0; s < n_seqs; s++)
        rows += seqs[s].n;
    return rows;
}

static bool drops_input(const struct forward_dropout *d)
{
    return d != NULL && d->adapter.keep != 0;
}

void low_rank_drop(const struct low_rank *w, const struct forward_dropout *d, float *y,
                   const float *x, const struct forward_seq *seqs, int n_seqs, int thread,
                   int n_threads)
{
    const size_t K = (size_t)w->K;
    int first, last, row = 0;
    par_split(count_rows(seqs, n_seqs), thread, n_threads, &first, &last);
    for (int s = 0; s < n_seqs; row += seqs[s++].n)
        for (int r = row > first ? row : first; r < row + seqs[s].n && r < last; r++)
            training_kernels()->dropout(y + (size_t)r * K, x + (size_t)r * K, K, &d->adapter,
                                        dropout_stream(d->sequence + (uint64_t)s,
                                                       FIRST_STREAM + w->layer,
                                                       (enum dropout_point)w->site),
                                        dropout_row(seqs[s].kv.n_past + r - row, w->K));
}

const float *low_rank_inner(const struct low_rank *w, const struct low_rank_scratch *scratch,
                            const struct forward_dropout *d, const float *x,
                            const struct forward_seq *seqs, int n_seqs, int thread, int n_threads)
{
    if (drops_input(d)) {
        low_rank_drop(w, d, scratch->dropped, x, seqs, n_seqs, thread, n_threads);
        par_barrier();
        x = scratch->dropped;
    }
    blas_gemm_share(false, true, count_rows(seqs, n_seqs), w->rank, w->K, 1, x, w->K, w->a, w->K, 0,
                    scratch->inner, w->rank, thread, n_threads);
    par_barrier();
    return x;
}

void low_rank_add(const struct low_rank *w, const struct low_rank_scratch *scratch,
                  const struct forward_dropout *d, float *y, const float *x,
                  const struct forward_seq *seqs, int n_seqs, int thread, int n_threads)
{
    low_rank_inner(w, scratch, d, x, seqs, n_seqs, thread, n_threads);
    blas_gemm_share(false, false, count_rows(seqs, n_seqs), w->N, w->rank, w->scale, scratch->inner,
                    w->rank, w->b, w->N, 1, y, w->N, thread, n_threads);
    par_barrier();
}
