#ifndef PRATTLE_TRAIN_RUN_SCALING_PARTS_H
#define PRATTLE_TRAIN_RUN_SCALING_PARTS_H
/*
 * What a step by several processes consists of (scaling.h); and its computation, with what a
 * replica's processes send each other meanwhile.
 */
#include "train/config/plan.h"
#include "train/parallel/layout_slots.h"

/* A run that is planned. */
struct scaling_run {
    const struct run_config *c; /* resolved */
    const struct config *shape;
    enum dtype held;                    /* of the model to talk to */
    const struct scaling_layout *given; /* what the settings say; NULL: nothing */
    struct layout_slots *slots;         /* of all its layouts so far; NULL: none are kept */
};

struct cluster {
    int ranks;
    double link, latency_s; /* bytes a second each way, of a process; INFINITY, 0: no cost */
    double disk;            /* bytes a second, read and written together */
    double flops;           /* operations a second that a process reaches in training */
    double stream;          /* bytes of memory a second */
    double memory;          /* bytes of a process */
    double jitter;          /* of two processes (parallel/jitter.h); 0: none */
};

struct scaling_layout {
    struct layout over;
    int zero, blocks;
};

/* Seconds of a step. Of what is sent, that which no computation hides. */
struct step_time {
    double compute;   /* of the process that has most to do */
    double bubble;    /* a pipeline: stages that wait for each other */
    double stages;    /* its activations between stages */
    double sums;      /* tensor parallelism: sums on their way, and waited for */
    double gradients; /* to where they are added, and back where all keep them */
    double weights;   /* zero=1, 2: to all */
    double optimizer;
    double disk; /* waiting for working files, and the step's part of a checkpoint */
    double sent; /* bytes that a process sends, or receives if these are more */
};

/* What a micro-batch takes one process, in seconds. */
struct micro_seconds {
    double layer;   /* forward and backward of one */
    double forward; /* of these */
    double again;   /* of all layers, where they are recomputed */
    double head;    /* with its backward */
};

/* The step of the replica that has most blocks. */
struct scaling_work {
    const struct run_config *c;
    const struct config *shape;
    enum dtype held;
    const struct cluster *k;
    const struct scaling_layout *l;
    struct micro_seconds micro;
    int of_block; /* micro-batches */
    int rounds;   /* blocks of the replica that has most */
};

/* Trainable parameters of the process that has most. */
double scaling_params(const struct config *shape, const struct layout *l);

/* Each fills in compute, what it waits for, and what is sent. ERR_NOMEM. */
int scaling_pipeline(struct step_time *out, const struct scaling_work *w);
int scaling_tensor(struct step_time *out, const struct scaling_work *w);
/* A job of a stage's shards on so many layers, which all begin together: until all are done, and at
 * work and sent by whichever has most. ends: the embedding's too. ERR_NOMEM. */
struct shard_time {
    double all, busy, sent;
};
int scaling_shards(struct shard_time *out, const struct scaling_work *w, enum pipeline_work work,
                   int n_layers, bool ends);
/* Of shards, their gradients to the slices that are updated, and weights back. */
void scaling_slices(struct step_time *out, const struct scaling_work *w);
/* Of one process that trains from disk: how long it waits for the disk beyond compute and
 * optimizer, which out has. ERR_NOMEM: its memory is too little. */
int scaling_phased(struct step_time *out, const struct scaling_work *w);

#endif
