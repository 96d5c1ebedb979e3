#ifndef PRATTLE_TRAIN_STEP_STEP_H
#define PRATTLE_TRAIN_STEP_STEP_H
/*
 * One micro-batch forward and backward: the forward is model/'s own and leaves its
 * activations in buffers of this struct; the backward adds to one block of gradients.
 * Every number has the same bits for any size of the team, and with or without
 * recomputation. After step_new nothing allocates.
 *
 * In float16, weights, gradients and all activations saved for the backward lie in
 * binary16: each is rounded to nearest once when it is put there, a
 * gradient once a micro-batch. All arithmetic is fp32, and so is what is in one layer's
 * work only: sums, the gradients of activations.
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

/* Bytes step_new would take, by part, before anything is allocated; ERR_RANGE as there. */
struct step_bytes {
    size_t activations, gradients, scratch, logits;
    size_t window; /* float16: of the gradients, in fp32; weights.h */
};
int step_bytes(struct step_bytes *out, const struct config *c, enum dtype dtype,
               const struct step_config *s);
/* The weights are borrowed and outlive the step; made for the team as it is now. ERR_RANGE
 * names the setting that does not fit the model, ERR_NOMEM. */
int step_new(struct step **out, struct weights *w, const struct step_config *s);
void step_free(struct step *s);
/* The gradients, in the layout and type of what learns (weights_trainable), as many; borrowed.
 * Infinite where float16 had no room for them. */
void *step_gradients(struct step *s);
/* From here on passes that have a backward add what their layers make to w, which is
 * borrowed; NULL: to nothing. */
void step_collect(struct step *s, struct activation_stats *stats);
/* Make them zero: before the first micro-batch of each step. By the whole team. A pass that
 * was interrupted is given up. */
void step_zero(struct step *s);
/*
 * Forward and backward of ids and labels [batch,length], row-major; gradients of loss_sum *
 * scale are added. With scale = 1 / (targets of the whole step) their sum over the
 * micro-batches is the gradient of the mean.
 *
 * ids            each in 0..V-1
 * labels         the id that follows, or LABEL_NONE for a position that does not count
 * batch, length  at most those of the configuration
 * sequence       number in the run of the first sequence; the next has the next number.
 *                The dropout masks of a sequence come from its number alone, so that a step
 *                split into micro-batches in another way has the same ones.
 * backward       false only measures: no dropout, no gradients, no interruption
 * returns        0, or ERR_INTERRUPTED at Ctrl-C: the pass stands between two layers, and the
 *                next call, with the same arguments, goes on from there at the same bits
 */
int step_run(struct step *s, struct step_result *out, const token_id *ids, const token_id *labels,
             int batch, int length, float scale, uint64_t sequence, bool backward);

#endif
