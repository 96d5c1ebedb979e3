#ifndef PRATTLE_TRAIN_STEP_GRADIENT_TAKER_H
#define PRATTLE_TRAIN_STEP_GRADIENT_TAKER_H
/*
 * Whoever takes the gradients of each block away as soon as they are whole, in place of what the
 * tree of gradient_blocks.h has; of a step whose configuration says `taken`. layer -1 is what lies
 * outside the layers. Called by one thread at a time, not always the same.
 */
#include <stdbool.h>

struct gradient_taker {
    /* Before a block first adds to those of a layer, and they must be zero; may wait. False: the
     * pass is to stop, as by Ctrl-C. Not called by the parts of a pass (step_stage.h) nor by a
     * shard's, which nothing stops: these begin once the memory is there. */
    bool (*await)(void *user, int layer);
    /* They are whole, layers from the last to the first, then -1; their memory is the taker's until
     * await returns. */
    void (*take)(void *user, int layer);
    void *user;
};

#endif
