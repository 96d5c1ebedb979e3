#ifndef PRATTLE_TRAIN_PARALLEL_PIPELINE_H
#define PRATTLE_TRAIN_PARALLEL_PIPELINE_H
/*
 * The order in which the stages of a pipeline do their work. Stage 0 has the embedding, the head
 * and perhaps layers, the others the layers behind; so a micro-batch goes round:
 *
 *   stage 0   forward -.                         .-> head -.                           .-> backward
 *   stage 1            '-> forward -.            |         |             .-> backward -'
 *   stage 2                         '-> forward -'         '-> backward -'
 *
 * Each stage begins no more micro-batches than it takes to keep those behind it busy, and then does
 * one forward, one backward. Which of them comes when is found once, by a clock that counts what
 * each costs, and is the same on all ranks.
 *
 * With several chunks of layers on each stage (interleaved stages: Narayanan et al. 2021,
 * arXiv:2104.04473, 2.2) a micro-batch goes round so many times before its head. Groups of about as
 * many micro-batches as stages go through a stage's chunks, chunk by chunk, forward in the order of
 * the model and backward in the other; any number of micro-batches is divided into such groups.
 * Where it is shorter, as with a head that takes as long as layers do, each chunk goes on as soon
 * as it can instead.
 *
 * Forwards, heads and backwards of a chunk are in the order of micro-batches. The head of a
 * gradient block's first micro-batch comes behind the last backward of the block before, since on
 * stage 0 both add to the gradient of one matrix, and a stage does all backwards of a block before
 * those of the next; so each block's chains of sums are those of one process.
 */
#include "train/parallel/chunk_ring.h"

#include <stdint.h>

enum pipeline_work { PIPELINE_FORWARD, PIPELINE_HEAD, PIPELINE_BACKWARD };

struct pipeline_job {
    enum pipeline_work work;
    int chunk; /* of the stage's */
    int micro;
    int stage;
};

struct pipeline {
    struct chunk_ring ring;
    int n_micro;            /* micro-batches of a step */
    int of_block;           /* of a gradient block */
    const int64_t *forward; /* [chunk_ring_size], what the forward of one costs; its backward costs
                               twice that */
    int64_t head;
};

struct pipeline_plan {
    struct pipeline_job *jobs; /* [n_jobs], of one stage in their order */
    int n_jobs;
    int *slots;  /* [stages][chunks], how many micro-batches each has begun and not ended at most */
    double idle; /* the share of a step in which a stage has nothing to do, on average */
};

enum { PIPELINE_ALL = -1 };

/* The jobs of a stage, or with PIPELINE_ALL those of all in the order in which they begin, and what
 * all need. ERR_NOMEM: there is nothing to release. */
int pipeline_plan(struct pipeline_plan *out, const struct pipeline *p, int stage);
void pipeline_plan_release(struct pipeline_plan *plan);

/* What the jobs and messages of a pipeline take, in seconds. */
struct pipeline_seconds {
    const double *forward, *backward; /* [chunk_ring_size], of each chunk */
    double head;
    double message, latency; /* on a process's link, which has one at a time each way; and until it
                                is there */
    double jitter;           /* of stages (jitter.h) */
};

struct pipeline_time {
    double all;  /* until the last stage is done */
    double busy; /* of the stage that has most to do */
};

/* The same order, of PIPELINE_ALL, by these times. ERR_NOMEM. */
int pipeline_time(struct pipeline_time *out, const struct pipeline *p,
                  const struct pipeline_plan *plan, const struct pipeline_seconds *s);

#endif
