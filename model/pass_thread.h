#ifndef PRATTLE_MODEL_PASS_THREAD_H
#define PRATTLE_MODEL_PASS_THREAD_H
/*
 * The arithmetic of a forward pass (forward.h), as one thread of the team takes part in it: every
 * thread calls all of it, each on its own rows, columns or heads, and on return from each function
 * the result is whole in all threads. No sum is split between threads, and no row's arithmetic
 * depends on the rows computed with it.
 */
#include "model/low_rank.h"
#include "model/params.h"
#include "model/pass.h"
#include "model/shard.h"

/*
 * The activations of one layer. In inference all layers share one set, where mid is x; in training
 * each layer has its own, which the backward reads. T counts the rows of the pass, one sequence
 * after another; in the last layer, rows to skip are removed from x before attention.
 */
struct activations {
    float *x;   /* [T,C], the layer's input; for "layer" L, the last layer's output */
    float *qkv; /* [T,3A] */
    float *att; /* [T,A], the heads' outputs, before their projection */
    float *mid; /* [T,C], the residual stream after attention */
    float *fc;  /* [T,F], the feed-forward before its activation; NULL: not saved */
    float *lse; /* [T,H], log-sum-exp of each row's scores; NULL: not saved */
};

struct forward {
    const struct params *params;
    struct kv_layout layout;
    int max_rows, n_threads;
    const struct activations *layers;      /* [L+1]; f's own, or those that training sets */
    const struct forward_dropout *dropout; /* NULL: none */
    const struct shard *shard;             /* in training; NULL: the whole model is here */
    bool half; /* activations are rounded to binary16 before they are read (train/step/saved.h) */
    struct low_rank_scratch low_rank; /* set by training with LoRA branches */
    float *normed;                    /* scratch [max_rows,C] after a layer norm */
    float *fc;                        /* scratch [max_rows,F] after the activation */
    float *hidden;                    /* [max_rows,C] after ln_f, the input of forward_head */
    char *thread_scratch; /* [n_threads][thread_bytes]: kernel_bytes for the kernels, then [few,C]
                             for rows that each thread normalizes itself */
    size_t kernel_bytes, thread_bytes;
    void *block;
    size_t block_bytes;
};

/* Up to so many rows every thread normalizes all of them for itself: cheaper than one more
 * barrier. */
enum { PASS_FEW_ROWS = 4 };

/* What one thread knows of the pass it takes part in. */
struct pass_thread {
    struct forward *f;
    const struct forward_seq *seqs;
    int n_seqs;
    int rows;
    int thread, n_threads;
    void *scratch;     /* for the kernels */
    float *few_normed; /* [PASS_FEW_ROWS,C] */
};

struct pass_thread pass_thread_begin(struct forward *f, const struct forward_seq *seqs, int n_seqs,
                                     int thread, int n_threads);
/* Token and position embeddings: x of the first layer. */
void pass_thread_embed(const struct pass_thread *p);
/* mid of a layer from its x. In the last layer the rows to skip go, and p has fewer. */
void pass_thread_attend(struct pass_thread *p, int layer);
/* x of the next layer from mid; pass_thread_expand: only up to the activation, in f->fc. */
void pass_thread_run_mlp(const struct pass_thread *p, int layer);
void pass_thread_expand(const struct pass_thread *p, int layer);
/* f->hidden from x of "layer" L. */
void pass_thread_normalize_last(const struct pass_thread *p);

/* The factor of attention scores in a layer: 1 / sqrt(D) unless configured otherwise. */
float pass_thread_score_scale(const struct config *c, int layer);

#endif
