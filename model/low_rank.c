#include "model/low_rank.h"

#include "model/base/par.h"
#include "model/kernels/product.h"
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
                            const struct forward_seq *seqs, int n_seqs, int thread, int n_threads,
                            void *kernels)
{
    if (drops_input(d)) {
        low_rank_drop(w, d, scratch->dropped, x, seqs, n_seqs, thread, n_threads);
        par_barrier();
        x = scratch->dropped;
    }
    const struct product m = {.float32 = true,
                              .transpose_b = true,
                              .m = count_rows(seqs, n_seqs),
                              .n = w->rank,
                              .k = w->K,
                              .alpha = 1,
                              .a = x,
                              .lda = w->K,
                              .b = w->a,
                              .ldb = w->K,
                              .c = scratch->inner,
                              .ldc = w->rank};
    product_share(&m, thread, n_threads, kernels);
    par_barrier();
    return x;
}

void low_rank_add(const struct low_rank *w, const struct low_rank_scratch *scratch,
                  const struct forward_dropout *d, float *y, const float *x,
                  const struct forward_seq *seqs, int n_seqs, int thread, int n_threads,
                  void *kernels)
{
    low_rank_inner(w, scratch, d, x, seqs, n_seqs, thread, n_threads, kernels);
    const struct product m = {.float32 = true,
                              .add = true,
                              .m = count_rows(seqs, n_seqs),
                              .n = w->N,
                              .k = w->rank,
                              .alpha = w->scale,
                              .a = scratch->inner,
                              .lda = w->rank,
                              .b = w->b,
                              .ldb = w->N,
                              .c = y,
                              .ldc = w->N};
    product_share(&m, thread, n_threads, kernels);
    par_barrier();
}
