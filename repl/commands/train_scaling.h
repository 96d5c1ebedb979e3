#ifndef PRATTLE_REPL_COMMANDS_TRAIN_SCALING_H
#define PRATTLE_REPL_COMMANDS_TRAIN_SCALING_H
/*
 * train CONFIG --plan ranks=N ...: what a step would take by several processes, on standard output.
 */
#include "train/run/scaling.h"

struct scaling_request {
    struct cluster cluster; /* ranks 0: it is not asked for; 0 else: to be measured here */
    bool measures_disk;
    const char *plot; /* the file for the curve; NULL: the terminal; borrowed */
};

/*
 * Take those of n words that are of a cluster (ranks, link, latency, jitter, disk, gflops, stream,
 * memory, plot), which leaves n others. link=auto and jitter=auto are measured, by ranks 0 and 1;
 * disk=auto, where the run would have its folder, when it is shown. ERR_RANGE.
 */
int train_scaling_words(struct scaling_request *q, char **words, int *n);
/* On other ranks, with the same words: what these measure together. */
void train_scaling_follow(char *const *words, int n);
/* flops: what training does a second here. force: the file may be there. */
int train_scaling_show(const struct scaling_request *q, const struct run_config *c,
                       const struct config *shape, enum dtype held, double flops, bool force);

#endif
