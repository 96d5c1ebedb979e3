#ifndef PRATTLE_TRAIN_STEP_STEP_H
#define PRATTLE_TRAIN_STEP_STEP_H
/*
 * Forward and backward pass of one micro-batch. The forward pass is that of model/forward.h and
 * saves its activations here; the backward pass adds to one block of gradients. Only step_new
 * allocates.
 *
 * Every sum has one order (product.h, gradient.h, gradient_blocks.h): the bits of every result are
 * the same for thread teams of any size, any division of a step into micro-batches, any slices of
 * the loss and of attention, with and without recomputation, and on every machine. With
 * matrices=openblas they are the same for teams of any size and with recomputation.
 *
 * In float16, weights, gradients and saved activations are stored in binary16, rounded to nearest
 * when they are stored: an activation once, a gradient at the end of each sequence. All arithmetic
 * is fp32, and so are values that live within one layer's pass: sums, gradients of activations.
 */
#include "model/config.h"
#include "model/params.h"
#include "train/step/gradient_taker.h"
#include "train/step/step_config.h"
#include "train/step/step_memory.h"
#include "train/step/step_result.h"
#include "train/step/weights_waiter.h"

#include <stddef.h>
#include <stdint.h>

struct weights;
struct activation_stats;
struct gradient_blocks;

struct step; /* activations, gradients and scratch */

/* A step for the current thread team. w is borrowed and must outlive it. ERR_RANGE names the
 * setting that does not fit the model; ERR_MISSING: matrices=openblas without OpenBLAS; ERR_NOMEM.
 */
int step_new(struct step **out, struct weights *w, const struct step_config *s);
void step_free(struct step *s);
/* Copied, their users borrowed. */
void step_set_taker(struct step *s, const struct gradient_taker *t);
void step_set_waiter(struct step *s, const struct weights_waiter *w);
/* After the last micro-batch of each of the gradient_blocks of a step: joins the block's gradients
 * and its sums to those of the blocks before. Before the last block, sums begins anew at zero;
 * after it, sums is the step's, or where some blocks are computed here, of the last node of
 * step_blocks. With a taker the rest of the block is taken, and sums stays the block's. */
void step_end_block(struct step *s, struct step_result *sums);
/* What the blocks done here add up to (gradient_blocks.h); borrowed. */
struct gradient_blocks *step_blocks(struct step *s);
/* The gradients of all micro-batches since step_zero, [n] in the layout and type of the trainable
 * weights (weights_trainable); borrowed. To be asked for once a step is whole: what the tokens'
 * embeddings have is added only then. Those that overflow float16 are infinite. Between the
 * optimizer's step and the next step_zero they are anyone's memory. */
void *step_gradients(struct step *s);
/* From now on, passes with a backward add their activations to stats, which is borrowed; NULL: stop
 * collecting. */
void step_collect(struct step *s, struct activation_stats *stats);
/* Set the gradients to zero, before the first micro-batch of each step, and discard an interrupted
 * pass. */
void step_zero(struct step *s);
/*
 * Forward and backward pass over a micro-batch: adds the gradient of scale times the sum of losses,
 * and its losses to `sums`, one after another.
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
int step_run(struct step *s, struct step_result *sums, const token_id *ids, const token_id *labels,
             int batch, int length, float scale, uint64_t sequence, bool backward);

#endif
