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
 * A process may have some of them alone, one behind another: what it has joined of the tree then
 * are the parts of it that need no others, and train/parallel joins these. Nodes may be rounded to
 * 16 bits (half_partials.h).
 */
#include "model/base/dtype.h"
#include "train/step/stage.h"
#include "train/step/step_result.h"

#include <stdbool.h>
#include <stddef.h>

enum { GRADIENT_BLOCKS_MAX = 1 << 16, GRADIENT_NODES = 2 * 16 + 1 };

/* The sum of blocks first to last - 1, a node of the tree. */
struct gradient_node {
    int first, last;
    void *data; /* [n_gradients] */
    struct step_result sums;
};

struct gradient_blocks {
    int n;           /* blocks of the step */
    int first, last; /* first to last - 1 of these are computed here */
    int done;        /* the next one; those before are whole */
    enum dtype dtype;
    bool half; /* half_partials: nodes are rounded */
    size_t n_gradients;
    struct spans own;              /* those of them that there are here; n 0: all */
    int n_waiting;                 /* memory for nodes that wait for others */
    void *waiting[GRADIENT_NODES]; /* [n_waiting]; borrowed */
    int n_nodes;                   /* that are joined with none yet, in their order: in waiting, and
                                      once all blocks are done the last in the gradients */
    struct gradient_node nodes[GRADIENT_NODES];
};

/* Whether a node of the tree of n blocks has the parts first to middle - 1 and middle to last - 1.
 */
bool gradient_blocks_are_parts(int n, int first, int middle, int last);
/* How many nodes wait at most where blocks first to last - 1 of n are computed. */
int gradient_blocks_waiting(int n, int first, int last);
/* The step begins anew. */
void gradient_blocks_begin(struct gradient_blocks *b);
/*
 * gradients and sums are those of a whole block. Before the last they begin anew, at zero; after it
 * they are those of the last node, which is the step where all blocks are computed here. By the
 * whole team; not to be called in a job.
 */
void gradient_blocks_end(struct gradient_blocks *b, void *gradients, struct step_result *sums);
/* right [n] = left [n] + right, two nodes that are rounded where `half` says so, as their sum then
 * is; a share of one thread. */
void gradient_blocks_add(void *right, const void *left, size_t n, enum dtype dtype, bool half);
/* right = left + right */
void gradient_blocks_add_sums(struct step_result *right, const struct step_result *left);

#endif
