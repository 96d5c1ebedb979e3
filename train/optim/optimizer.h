#ifndef PRATTLE_TRAIN_OPTIM_OPTIMIZER_H
#define PRATTLE_TRAIN_OPTIM_OPTIMIZER_H
/*
 * AdamW (Loshchilov & Hutter 2019), Adam with L2 regularization (Kingma & Ba 2015), both as in
 * PyTorch, LAMB (You et al. 2020), and Muon (Keller Jordan et al. 2024; scaled as by Liu et al.
 * 2025, "Muon is scalable for LLM training"). With g the scaled and clipped gradient, w a weight
 * and t the step, counted from 1:
 *
 *   Adam: g += weight_decay w
 *   m = beta1 m + (1 - beta1) g          v = beta2 v + (1 - beta2) g^2
 *   u = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)
 *   Adam:  w -= rate u
 *   AdamW: w -= rate u + rate weight_decay w
 *   LAMB:  u += weight_decay w;  w -= rate |w| / |u| u
 *          (the trust ratio |w| / |u| is over each tensor, and 1 where either norm is 0)
 *
 *   Muon, for the matrices of layers [rows,cols]; all else is AdamW's:
 *   m = momentum m + (1 - momentum) g    n = momentum m + (1 - momentum) g   (Nesterov)
 *   u = 0.2 sqrt(max(rows, cols)) O(n)   w -= rate u + rate weight_decay w
 *   (O: n made nearly orthogonal, newton_schulz.h. The factor makes the elements of u about as
 *   large as AdamW's, so that rate and weight_decay are AdamW's.)
 *
 * Q, K and V, which lie side by side in c_attn, are made orthogonal each by itself, for they are
 * three maps, as in the speedruns of nanoGPT. As one matrix they would share one unit of size in
 * each direction, and the one with the largest gradients would take most of it. Muon's matrices
 * have no second moment, in memory and in checkpoints.
 *
 * Without bias_correction the divisors 1 - beta^t are 1. Norms and steps are computed by the whole
 * thread team, in an order of sums that does not depend on its size. Only optimizer_new allocates.
 *
 * Weights in binary16 have no fp32 master copy. New weights are computed in fp32 and rounded
 * stochastically (Gupta et al. 2015), since rounding to nearest would lose every update smaller
 * than half a unit in the last place; the random numbers are a function of seed, step and
 * position. A first moment in binary16 has a power-of-two scale for each run of elements, so that
 * it neither overflows nor underflows at any scale of the gradients.
 *
 * No step makes the size of a weight NaN, infinite or as large as the limit. A step that might
 * bring a weight halfway to the limit, by a cheap upper bound, and the first step are first tried
 * on copies; if they would break the limit, the step is not taken and the state stays as it was. A
 * guard can refuse more: weights that would not serve their purpose.
 */
#include "model/params.h"
#include "train/optim/optimizer_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of this size and above round to infinity in binary16. */
#define OPTIMIZER_HALF_LIMIT 65520.0f

/* What one step did to one tensor; norms are Euclidean. */
struct tensor_change {
    double grad_norm;   /* of the scaled gradient, before clipping; from optimizer_norm */
    double weight_norm; /* of the weights before the step; this and update_norm come from
                           optimizer_step, and are 0 where no step was taken */
    double update_norm; /* of the change of the weights */
};

/* Where each tensor lies in the block of weights. Gradients and moments are blocks of the same
 * layout. */
struct disk_array;
struct optimizer_layout {
    enum dtype dtype; /* of weights and gradients: DTYPE_F32 or DTYPE_F16 */
    int n_tensors;
    const struct param_tensor *tensors; /* [n_tensors]; only decays is read, and what Muon needs:
                                           kind, rows, cols, fused */
    const size_t *offset;               /* [n_tensors + 1], in elements */
    /* What has the weights and the gradients, each section some tensors; NULL: memory. Both or
     * none, borrowed for as long as the optimizer lives, and only with moments on disk. */
    struct disk_array *weights, *gradients;
};

struct disk_walk;
struct optimizer;

/* An optimizer before its first step, with moments of zero. The layout is only read during the
 * call, but for the arrays that it names. Muon has scratch besides (optimizer_scratch_bytes).
 * ERR_NOMEM. */
int optimizer_new(struct optimizer **out, const struct optimizer_config *c,
                  struct optimizer_layout l);
/* The same, but not Muon, with moments in a working file in a folder, but for those of n_kept
 * elements, or somewhat fewer: a step brings them in a part at a time, and has the same bits. After
 * an error of the disk (optimizer_error) weights and moments are those of half a step, and no step
 * can be taken. ERR_IO. */
int optimizer_new_on_disk(struct optimizer **out, const struct optimizer_config *c,
                          struct optimizer_layout l, const char *folder, size_t n_kept);
/* How many elements of moments on disk are in memory at once, at most; all: where weights and
 * gradients are on disk too, and as many of theirs. */
double optimizer_disk_part(bool all);
/* 0: none; always so with moments in memory. */
int optimizer_error(const struct optimizer *o);
void optimizer_free(struct optimizer *o);
/* Change the configuration from the next step on; kind, decay and first_order_momentum must be
 * those given to optimizer_new. */
void optimizer_configure(struct optimizer *o, const struct optimizer_config *c);
/* Where n slices of the elements first to last - 1 begin, whole pieces of work each and about as
 * long as each other: bounds [n + 1], in elements. first and last are where tensors or slices
 * begin, or the end. */
void optimizer_slices(const struct optimizer *o, size_t first, size_t last, int n, size_t *bounds);
/* Where slice i of these begins, before there is an optimizer. */
size_t optimizer_layout_bound(const struct optimizer_layout *l, size_t first, size_t last, int n,
                              int i);
/* How many pieces of work lie before an element at which one begins, or the end. */
int optimizer_pieces(const struct optimizer *o, size_t element);
/* s is copied, its user borrowed. Not together with a guard; for Muon the runs have whole matrices.
 */
void optimizer_set_share(struct optimizer *o, const struct optimizer_share *s);
/* The size that no weight may reach: OPTIMIZER_HALF_LIMIT for weights in binary16, else infinite,
 * until it is set. */
float optimizer_limit(const struct optimizer *o);
void optimizer_set_limit(struct optimizer *o, float limit);
/* For weights in fp32. g is copied, its user borrowed. ERR_NOMEM: there is no guard then. */
int optimizer_set_guard(struct optimizer *o, const struct optimizer_guard *g);
/* The number of steps taken. With the blocks below it is the whole state of an optimizer. */
int64_t optimizer_steps(const struct optimizer *o);
void optimizer_set_steps(struct optimizer *o, int64_t steps);
/* [n_tensors], of the last step, in the layout's order; borrowed. */
const struct tensor_change *optimizer_changes(const struct optimizer *o);
/* One array of the state, for checkpoints: borrowed, to be written or filled in place, or through
 * optimizer_block_read and optimizer_block_write wherever it is. */
struct optimizer_block {
    const char *name;
    enum dtype dtype;
    void *data; /* [n]; NULL: on disk */
    size_t n;
    struct disk_walk *disk; /* its array number disk_array; NULL: in memory */
    int disk_array;
};
/* Bytes first .. first + bytes - 1 of it. ERR_IO. */
int optimizer_block_read(const struct optimizer_block *b, void *to, size_t first, size_t bytes);
int optimizer_block_write(const struct optimizer_block *b, const void *from, size_t first,
                          size_t bytes);
enum { OPTIMIZER_MAX_BLOCKS = 3 };
/* The moments, and the scales of a first moment in binary16. Returns how many blocks there are. */
int optimizer_blocks(const struct optimizer *o, struct optimizer_block out[OPTIMIZER_MAX_BLOCKS]);
/* Where in one of them an element of the weights lies at which a piece of work begins, or the end.
 */
size_t optimizer_block_index(const struct optimizer *o, const struct optimizer_block *b,
                             size_t element);
/* The global norm of scale grads [n], grads in the weights' type. If a gradient is NaN or infinite,
 * so is the norm: then take no step. */
double optimizer_norm(struct optimizer *o, const void *grads, float scale);
/*
 * Take one step with gradients scale grads [n], clipped as in PyTorch: multiplied by
 * grad_clip / (norm + 1e-6) where that is below 1.
 *
 * weights   [n], in the layout's type; updated in place
 * norm      what optimizer_norm returned for these gradients
 * returns   false if some weight would have become NaN, infinite or as large as the limit (LAMB:
 *           0.99 of it), or the guard refused; weights, moments and the number of steps are then
 *           unchanged
 */
bool optimizer_step(struct optimizer *o, void *weights, const void *grads, float scale, double norm,
                    float rate);

#endif
