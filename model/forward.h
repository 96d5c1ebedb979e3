#ifndef PRATTLE_MODEL_FORWARD_H
#define PRATTLE_MODEL_FORWARD_H
/*
 * GPT-2 forward pass (Radford et al. 2019): ONE body for prefill, decode and scoring,
 * for one sequence or a batch of different lengths. Every row's bits depend on that
 * row's text alone.
 */
#include "model/base/mem.h"
#include "model/kv_view.h"
#include "model/low_rank.h"
#include "model/params.h"
#include "model/pass.h"

enum { FORWARD_MAX_ROWS = 512 }; /* rows of one pass at most; longer texts go in parts */

/*
 * Where a pass leaves what it makes of a layer. In inference all layers share one set,
 * and mid is x; training gives each its own, and the backward reads them. Rows are those
 * of the pass in batch order; in the last layer, those to skip leave x before attention.
 */
struct activations {
    float *x;   /* [T,C] what comes in; of "layer" L, what leaves the last */
    float *qkv; /* [T,3C] */
    float *att; /* [T,C] before its projection */
    float *mid; /* [T,C] after attention's residual */
    float *fc;  /* [T,F] before the activation; NULL: not saved */
    float *lse; /* [T,H] ln of the sum of the exponentials of each row's scores; NULL: not saved */
};
/* A set for each of L layers [L+1]; those of which shared [L] is true have one in common,
 * but for x. shared NULL: none. */
void activations_carve(struct activations *layers, struct arena *a, const struct config *c,
                       int rows, const bool *shared);

/* What scores are multiplied by. */
float forward_score_scale(const struct config *c, int layer);

struct forward {
    const struct params *params;
    struct kv_layout layout;
    int max_rows, n_threads;
    const struct activations *layers;      /* [L+1]; own, or set by whoever saves them */
    const struct forward_dropout *dropout; /* NULL: none */
    bool half; /* what is left in the activations is rounded to binary16 before it is read */
    struct low_rank_scratch low_rank; /* set by whoever has LoRA branches */
    float *normed,
        *fc;       /* scratch [max_rows,C] after a layer norm, [max_rows,F] after the activation */
    float *hidden; /* [max_rows,C] after ln_f: what forward_head reads */
    char *thread_scratch; /* [n_threads][thread_bytes]: the kernels' first, then
                             [few,C] for rows each thread normalizes itself */
    size_t kernel_bytes, thread_bytes;
    void *block;
    size_t block_bytes;
};

/* Scratch for passes of up to max_rows rows with the team as it is now. The params
 * are borrowed and must outlive f. */
int forward_init(struct forward *f, const struct params *p, int max_rows);
void forward_release(struct forward *f);

/*
 * One pass over n_seqs sequences, the sum of their n at most max_rows. Rows of
 * f->hidden follow the sequences' order, those to skip left out; returns how many.
 * To be called by every thread of a running job with the same arguments; ends with a
 * barrier.
 */
int forward_pass(struct forward *f, const struct forward_seq *seqs, int n_seqs, int thread,
                 int n_threads);
/*
 * The same in pieces, one call after another, for a pass with nothing to skip that may
 * have to stop on its way: 0 .. forward_pieces - 1 (embedding, layers, last norm).
 */
int forward_pieces(const struct config *c);
void forward_piece(struct forward *f, const struct forward_seq *seqs, int n_seqs, int piece,
                   int thread, int n_threads);
/*
 * Recompute a layer's activations from its x, all but its output, after a pass over the
 * same sequences with nothing to skip. By every thread; ends with a barrier.
 */
void forward_recompute(struct forward *f, const struct forward_seq *seqs, int n_seqs, int layer,
                       int thread, int n_threads);
/*
 * Logits [n,V] of the rows f->hidden[rows[i]], row i at logits + i * ld. By every
 * thread; ends with a barrier. rows NULL: 0..n-1.
 */
void forward_head(struct forward *f, float *logits, size_t ld, const int *rows, int n, int thread,
                  int n_threads);

#endif
