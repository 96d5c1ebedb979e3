#ifndef PRATTLE_TRAIN_PARALLEL_WORLD_H
#define PRATTLE_TRAIN_PARALLEL_WORLD_H
/*
 * The processes that work together: ranks 0 to size - 1, of which rank 0 speaks and writes. The
 * process has one world; until world_open it is alone in it. Every function that exchanges bytes is
 * called by all ranks alike, except where it says otherwise, by the thread that opened the world,
 * and waits asleep; the messages below by any thread where world_threaded() says so. Messages that
 * are of one tag keep their order.
 */
#include "train/parallel/transport.h"

#include <stdbool.h>
#include <stddef.h>

/* What a message is of. */
enum world_tag {
    TAG_BROADCAST = 1,
    TAG_GATHER,
    TAG_WORD,    /* of rank 0, what comes next */
    TAG_MEETING, /* to rank 0: how a step's micro-batches ended */
    TAG_VERDICT, /* of rank 0, to all */
    TAG_PART,    /* of a reduction */
    TAG_WHOLE,   /* its result */
    TAG_STATE,   /* of the optimizer, to rank 0 */
    TAG_NODE,    /* of gradients, to the rank of the slice */
    TAG_SPREAD,  /* of updated weights, to all */
    TAG_SUM,     /* of tensor parallelism, to the next rank */
    TAG_SHARD,   /* of gradients or weights, to the rank whose slice or shard they are of */
    TAG_READY,   /* for what all shards compute next, to all of them */
    TAG_PIPELINE /* the first of many, the last here: activations of a micro-batch and their
                    gradients, to each chunk of a rank's layers (train/run/pipeline_step.c) */
};

/* Join the world of the launcher that has started this process, if one has; ERR_MISSING: it has,
 * and MPI is not there. On ranks other than 0 standard output and error lead nowhere from then on.
 */
int world_open(void);
/* For tests: of another transport, which is copied. */
int world_use(const struct transport *t);
/* By all ranks. */
void world_close(void);

int world_rank(void);
int world_size(void);
/* Where a rank runs; borrowed. */
const char *world_host(int rank);
/* This process's share of the processors that it has in common with other ranks: how many threads
 * it may have. 0: all, and they are its own. */
int world_threads(void);

/* Whether threads other than the one that opened the world may send, receive and test. */
bool world_threaded(void);
/* Start a message; world_wait ends it. */
void world_send(int to, enum world_tag tag, const void *data, size_t n, struct transfer *x);
void world_receive(int from, enum world_tag tag, void *data, size_t n, struct transfer *x);
/* Whether all n are done. */
bool world_test(struct transfer *x, int n);
void world_wait(struct transfer *x, int n);
/* Sleep a little, and longer the more often it was called for the same wait: *times begins at 0. */
void world_pause(int *times);
/* Whether such a message waits to be received. */
bool world_arrived(int from, enum world_tag tag);

/* A message of any length, sent and received at once. */
void world_send_whole(int to, enum world_tag tag, const void *data, size_t n);
void world_receive_whole(int from, enum world_tag tag, void *data, size_t n);

/* The n bytes of this rank to another, below 2^30, and as many from there, both ways at once; by
 * these two. */
void world_swap(int other, const void *own, void *theirs, size_t n);

/* The bytes of `from` to all. */
void world_broadcast(void *data, size_t n, int from);
/* The n bytes of each rank, one after another, to rank 0: all [size][n], which others leave NULL.
 */
void world_gather(void *all, const void *own, size_t n);
/* The same to all. */
void world_all_gather(void *all, const void *own, size_t n);

/*
 * Whether every rank has come so far: rc of this rank, with err_text() where it is not 0. Returns 0
 * where all have 0; else the code of the first rank that has another, with its sentence, on all
 * ranks, and the rank and its host before the sentence where it is not this program's own.
 */
int world_agree(int rc);
/* Whether they did not. */
bool world_has_failed(void);
/* End all ranks at once. */
void world_end_all(int status);

#endif
