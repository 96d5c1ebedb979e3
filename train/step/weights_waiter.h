#ifndef PRATTLE_TRAIN_STEP_WEIGHTS_WAITER_H
#define PRATTLE_TRAIN_STEP_WEIGHTS_WAITER_H
/* Whoever brings updated weights while the first micro-batch of a step is computed already. */
struct weights_waiter {
    /* Before a forward pass first reads a layer's, -1: those outside the layers; by every thread of
     * the team. Returns once they are whole. */
    void (*await)(void *user, int layer);
    void *user;
};

#endif
