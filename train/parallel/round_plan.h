#ifndef PRATTLE_TRAIN_PARALLEL_ROUND_PLAN_H
#define PRATTLE_TRAIN_PARALLEL_ROUND_PLAN_H
/*
 * In which order the blocks of a round of reduce_scatter.h join each other and what the rounds
 * before have left, in the tree of step/gradient_blocks.h.
 */
#include "train/step/gradient_blocks.h"

/* Where a node lies: in memory of the slice, or a block of the round in progress. */
struct node_place {
    bool received; /* else in a slot */
    int at;
};

/* right = left + right */
struct scatter_join {
    struct node_place left, right;
};

/* How the blocks of a round join; what is left goes to slots 0, 1, ... */
struct round_plan {
    int round, n;               /* n: blocks of it */
    struct scatter_join *joins; /* room for a round's blocks and GRADIENT_NODES; the caller's */
    int n_joins;
    int begins[GRADIENT_NODES]; /* the first block of each node on the stack */
    struct node_place stack[GRADIENT_NODES];
    int depth;
};

/* The plan of a round, 0 or the one behind that of p, of a world of `size`. */
void round_plan_next(struct round_plan *p, int n_blocks, int size, int round);
/* How many slots are in use between rounds, at most. */
int round_plan_slots(int n_blocks, int size);

#endif
