#ifndef PRATTLE_TRAIN_PARALLEL_PIPELINE_H
#define PRATTLE_TRAIN_PARALLEL_PIPELINE_H
/*
 * The order in which the stages of a pipeline do their work. Stage 0 has the embedding, the head
 * and perhaps layers, the others the layers behind; so a micro-batch goes round:
 *
 *   stage 0   forward --.                          .--> head --.                         .-->
 * backward stage 1             '--> forward --.           |           |           .--> backward --'
 *   stage 2                            '--> forward'           '--> backward
 *
 * Each stage begins no more micro-batches than it takes to keep those behind it busy, and then does
 * one forward, one backward. Which of them comes when is found once, by a clock that counts what
 * each costs, and is the same on all ranks.
 *
 * Forwards, heads and backwards are in the order of micro-batches. The head of a gradient block's
 * first micro-batch comes behind the last backward of the block before, since on stage 0 both add
 * to the gradient of one matrix; so each block's chains of sums are those of one process.
 */
#include <stdint.h>

enum pipeline_work { PIPELINE_FORWARD, PIPELINE_HEAD, PIPELINE_BACKWARD };

struct pipeline_job {
    enum pipeline_work work;
    int micro;
};

struct pipeline {
    int stages;
    int n_micro;            /* micro-batches of a step */
    int of_block;           /* of a gradient block */
    const int64_t *forward; /* [stages], what the forward of one costs; its backward costs twice
                               that */
    int64_t head;
};

/* How many micro-batches a stage has begun and not ended, at most. */
int pipeline_in_flight(int stages, int n_micro, int stage);
/* The jobs of a stage in their order: *out [*n], to be freed. ERR_NOMEM. */
int pipeline_order(struct pipeline_job **out, int *n, const struct pipeline *p, int stage);

#endif
