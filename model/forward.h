#ifndef PRATTLE_FORWARD_H
#define PRATTLE_FORWARD_H
/*
 * GPT-2 forward pass (Radford et al. 2019): ONE body for prefill, decode and scoring,
 * for one sequence or a batch of different lengths. Every row's bits depend on that
 * row's text alone.
 */
#include "model/kv_view.h"
#include "model/params.h"

enum { FORWARD_MAX_ROWS = 512 }; /* rows of one pass at most; longer texts go in parts */

/* One sequence's part of a pass. */
struct forward_seq {
    const token_id *ids; /* [n], each in 0..V-1 */
    int n;               /* new positions, >= 1; n_past + n <= n_ctx */
    int skip;            /* the first so many are read, but f->hidden has no rows for them; <= n */
    struct kv_view kv;   /* pages up to n_past + n exist and are not shared from n_past on */
};

/* Points of the pass a sink can watch, in order. */
enum forward_point {
    FORWARD_EMBEDDED,     /* [T,C] wte + wpe; layer -1 */
    FORWARD_LN_1,         /* [T,C] */
    FORWARD_QKV,          /* [T,3C] */
    FORWARD_ATTENTION,    /* [T,C] before its projection; in the last layer and from here on,
                             T leaves out the rows to skip */
    FORWARD_RESIDUAL_MID, /* [T,C] after attention's residual */
    FORWARD_LN_2,         /* [T,C] */
    FORWARD_FC,           /* [T,F] after the activation */
    FORWARD_LAYER_OUT,    /* [T,C] */
    FORWARD_FINAL         /* [T,C] after ln_f; layer L */
};
/*
 * Takes copies of activations as they are made; called by thread 0 between two
 * barriers, data borrowed for the call, rows those of the pass in batch order.
 */
struct activation_sink {
    void (*take)(void *user, enum forward_point point, int layer, const float *data, int rows,
                 int width);
    void *user;
};

struct forward {
    const struct params *params;
    struct kv_layout layout;
    int max_rows, n_threads;
    struct activation_sink *sink;       /* NULL: none */
    float *x, *normed, *qkv, *att, *fc; /* scratch, [max_rows, C | C | 3C | C | F] */
    float *hidden;                      /* [max_rows,C] after ln_f: what forward_head reads */
    char *thread_scratch;               /* [n_threads][thread_bytes]: the kernels' first, then
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
 * Logits [n,V] of the rows f->hidden[rows[i]], row i at logits + i * ld. By every
 * thread; ends with a barrier. rows NULL: 0..n-1.
 */
void forward_head(struct forward *f, float *logits, size_t ld, const int *rows, int n, int thread,
                  int n_threads);

#endif
