#ifndef PRATTLE_TRAIN_RUN_SCALING_H
#define PRATTLE_TRAIN_RUN_SCALING_H
/*
 * What a step takes by several processes: the time of its parts, and the memory of each process.
 * Reckoned from how many operations and bytes there are and how many of them a second a process and
 * its link do; nothing is run.
 *
 * A layout has `replicas` copies of the model, each of which may be divided by layers over `stages`
 * processes: replicas times stages are all. A replica has as many blocks as any; with m
 * micro-batches of its own a pipeline of s stages stands still for (s - 1) / (m + s - 1) of its
 * time.
 */
#include "model/base/buf.h"
#include "train/config/plan.h"

struct cluster {
    int ranks;
    double link, latency_s; /* bytes a second each way, of a process; INFINITY, 0: no cost */
    double disk;            /* bytes a second */
    double flops;           /* operations a second that a process reaches in training */
    double stream;          /* bytes of memory a second */
    double memory;          /* bytes of a process */
};

struct scaling_layout {
    int replicas, stages, zero, blocks;
};

/* Seconds of a step. Of what is sent, that which no computation hides. */
struct step_time {
    double compute, bubble;
    double stages;    /* activations between stages */
    double gradients; /* to where they are added, and back where all keep them */
    double weights;   /* zero=1, 2: to all */
    double optimizer;
    double disk; /* moments on disk, and the step's part of a checkpoint */
    double sent; /* bytes that a process sends, or receives if these are more */
};

double step_time_total(const struct step_time *t);

/* c resolved; ERR_RANGE: the layout is none of this run. */
int scaling_time(struct step_time *out, const struct run_config *c, const struct config *shape,
                 const struct cluster *k, const struct scaling_layout *l);
/* Bytes of a process. With one stage it is what a run allocates. */
int scaling_memory(double *out, const struct run_config *c, const struct config *shape,
                   enum dtype held, const struct scaling_layout *l);
/* The fewest gradient blocks of n replicas, not less than the run has; 0: it has too few
 * micro-batches for so many. */
int scaling_blocks(const struct run_config *c, int replicas);
/* Append its settings as they are typed: "replicas=2 zero=1 gradient_blocks=2
 * layers_per_device=6,6", the last one where there are stages. */
int scaling_words(struct buf *out, const struct scaling_layout *l, int n_layer);
/* That of the least time that fits the memory; where none fits, that of the least memory.
 * ERR_RANGE: there is none for so many processes. */
int scaling_best(struct scaling_layout *out, const struct run_config *c, const struct config *shape,
                 enum dtype held, const struct cluster *k);

#endif
