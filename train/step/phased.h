#ifndef PRATTLE_TRAIN_STEP_PHASED_H
#define PRATTLE_TRAIN_STEP_PHASED_H
/*
 * A step larger than memory. All its micro-batches go through a layer before any goes through the
 * next, so that each layer's weights are read twice a step, and its gradients are written once. The
 * inputs of layers and the gradients of the residual stream are in working files too, but for those
 * that are kept:
 *
 *   forward    for each layer: for each micro-batch: x[layer + 1] from x[layer]
 *   loss       for each micro-batch: dx from x[L]
 *   backward   for each layer: for each micro-batch: dx and gradients from x[layer] and dx
 *   embedding  for each micro-batch: gradients from dx
 *
 * What comes next is read meanwhile. Every sum has the order that it has in step_run, and every
 * result the same bits: a gradient is a chain over the tokens of a block of windows, and the blocks
 * of a layer are joined before the next layer. Layers are always recomputed.
 */
#include "train/step/phased_memory.h"
#include "train/step/step.h"

/* The step inside: its gradients (step_gradients), and what collects its activations. */
struct step *phased_step(struct phased_step *k);
/* As step_zero. */
void phased_zero(struct phased_step *k);
/* One more micro-batch since phased_zero; arguments as of step_run, copied. */
void phased_add(struct phased_step *k, const token_id *ids, const token_id *labels,
                uint64_t sequence);

struct phased_tick {
    void (*f)(void *user, double done); /* of 1; called between micro-batches; NULL: none */
    void *user;
};
/*
 * Once all micro-batches are added: what step_run and step_end_block do with them. Gradients are
 * then on disk, and sums are those of the step. ERR_INTERRUPTED between two layers of a
 * micro-batch: the next call resumes. After an error of the disk the step is lost, and each further
 * call gives the error again.
 */
int phased_run(struct phased_step *k, struct step_result *sums, float scale,
               const struct phased_tick *tick);

#endif
