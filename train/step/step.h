#ifndef PRATTLE_TRAIN_STEP_STEP_H
#define PRATTLE_TRAIN_STEP_STEP_H
/*
 * Forward and backward pass of one micro-batch. The forward pass is that of model/forward.h and
 * saves its activations here; the backward pass adds to one block of gradients. The bits of every
 * result are the same for thread teams of any size, with and without recomputation. Only step_new
 * allocates.
 *
 * In float16, weights, gradients and saved activations are stored in binary16, rounded to nearest
 * when they are stored: an activation once, a gradient once for each micro-batch. All arithmetic
 * is fp32, and so are values that live within one layer's pass: sums, gradients of activations.
 */
#include "model/config.h"
#include "model/params.h"
#include "train/step/step_config.h"
#include "train/step/step_result.h"

#include <stddef.h>
#include <stdint.h>

struct weights;
struct activation_stats;

struct step; /* activations, gradients and scratch */

/* The memory that step_new would allocate, in bytes. Allocates nothing; ERR_RANGE as step_new. */
struct step_bytes {
    size_t activations, gradients, scratch, logits;
    size_t window; /* float16: the fp32 window of the gradients (weights.h) */
};
int step_bytes(struct step_bytes *out, const struct config *c, enum dtype dtype,
               const struct step_config *s);
/* A step for the current thread team. w is borrowed and must outlive it. ERR_RANGE names the
 * setting that does not fit the model; ERR_NOMEM. */
int step_new(struct step **out, struct weights *w, const struct step_config *s);
void step_free(struct step *s);
/* The gradients, [n] in the layout and type of the trainable weights (weights_trainable); borrowed.
 * Those that overflow float16 are infinite. Between the optimizer's step and the next step_zero
 * they are anyone's memory. */
void *step_gradients(struct step *s);
/* From now on, passes with a backward add their activations to stats, which is borrowed; NULL: stop
 * collecting. */
void step_collect(struct step *s, struct activation_stats *stats);
/* Set the gradients to zero, before the first micro-batch of each step, and discard an interrupted
 * pass. */
void step_zero(struct step *s);
/*
 * Forward and backward pass over a micro-batch: adds the gradient of scale times the sum of losses.
 * With scale = 1 / (targets of the whole step), the gradients of all micro-batches add up to the
 * gradient of the mean loss.
 *
 * ids            [batch,length], each in 0..V-1
 * labels         [batch,length], the id that follows, or LABEL_NONE where no loss is counted
 * batch, length  at most those of the configuration
 * sequence       the first sequence's number in the run; the following sequences are numbered on
 *                from there. Dropout masks depend on a sequence's number alone, and so not on how
 *                a step is divided into micro-batches.
 * backward       false: the loss alone, without dropout, gradients or interruption
 * returns        0, or ERR_INTERRUPTED after Ctrl-C: the pass stopped between two layers, and
 *                the next call with the same arguments resumes it, with the same bits
 */
int step_run(struct step *s, struct step_result *out, const token_id *ids, const token_id *labels,
             int batch, int length, float scale, uint64_t sequence, bool backward);

#endif
