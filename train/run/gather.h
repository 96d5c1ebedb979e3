#ifndef PRATTLE_TRAIN_RUN_GATHER_H
#define PRATTLE_TRAIN_RUN_GATHER_H
/*
 * What other ranks have of the weights, on rank 0: a tensor at a time, in its place in the block of
 * the whole model, whose addresses each rank has. Where the weights are not divided, none of these
 * functions does anything.
 */
#include "weights/tensors/source.h"

struct run;

struct run_gather {
    struct run *run; /* borrowed */
    int here;        /* the tensor that is whole; -1: none */
    struct gather_reader *readers;
};

/* Between steps. */
void run_gather_begin(struct run_gather *g, struct run *r);
/* Have a tensor here, and forget what others have of the one before; user is the run_gather. */
void run_gather_tensor(void *user, int tensor);
/* Let s, a source of r->weights, read its tensors so, until run_gather_end: by one thread at a
 * time. ERR_NOMEM. */
int run_gather_source(struct run_gather *g, struct source *s);
/* Forget all that others have. */
void run_gather_end(struct run_gather *g);

#endif
