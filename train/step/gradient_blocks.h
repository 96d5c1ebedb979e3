#ifndef PRATTLE_TRAIN_STEP_GRADIENT_BLOCKS_H
#define PRATTLE_TRAIN_STEP_GRADIENT_BLOCKS_H
/*
 * The gradients of a step in N blocks of its windows, each a chain of sums of its own, are joined
 * in one fixed tree, so that several processes with some blocks each have the bits of one with all.
 * Pairs join first, then pairs of pairs; what has no partner waits for the end:
 *
 *   N = 5      0   1   2   3   4        a node is its left part plus its right part
 *               \ /     \ /   /
 *                +       +   /
 *                 \     /   /
 *                    +     /
 *                     \   /
 *                       +
 *
 * A process that computes all of them keeps one block of gradients for each height of the tree.
 */
#include "model/base/dtype.h"
#include "train/step/step_result.h"

#include <stddef.h>

enum { GRADIENT_HEIGHTS = 16, GRADIENT_BLOCKS_MAX = 1 << GRADIENT_HEIGHTS };

struct gradient_blocks {
    int n, done;   /* blocks of the step, and those that are whole */
    int n_heights; /* with memory */
    enum dtype dtype;
    size_t n_gradients;
    void *waiting[GRADIENT_HEIGHTS];           /* what waits for its right part; borrowed */
    struct step_result sums[GRADIENT_HEIGHTS]; /* and its losses */
};

/* How many blocks of gradients wait at most, of n. */
int gradient_blocks_heights(int n);
/* The step begins anew. */
void gradient_blocks_begin(struct gradient_blocks *b);
/*
 * gradients and sums are those of a whole block. Before the last they begin anew, at zero; after it
 * they are the step's. By the whole team; not to be called in a job.
 */
void gradient_blocks_end(struct gradient_blocks *b, void *gradients, struct step_result *sums);

#endif
