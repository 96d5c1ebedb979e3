#ifndef PRATTLE_TRAIN_STEP_ACTIVATION_STATS_H
#define PRATTLE_TRAIN_STEP_ACTIVATION_STATS_H
/*
 * What a layer's activations are like: mean, deviation, greatest magnitude and the share of
 * exact zeros, over all positions of a step's micro-batches. A vanishing deviation, a growing
 * maximum or a dead feed-forward are seen here before the loss shows them. All sums have one
 * order: the same numbers for any size of the team.
 */
#include "model/forward.h"

enum watched {
    WATCHED_ATTENTION, /* what the heads give, before its projection */
    WATCHED_MLP,       /* the feed-forward's inside, after the activation */
    WATCHED_RESIDUAL,  /* the residual stream as it leaves the layer */
    N_WATCHED
};
extern const char *const watched_names[N_WATCHED]; /* "attention", ... */

struct watched_stats {
    double mean, std, max; /* NaN or infinite where the activations are */
    double zeros;          /* share, 0 to 1 */
};

struct watch_sums {
    double sum, squares, max;
    uint64_t n, zeros;
};
struct watch {
    int n_layer;
    struct watch_sums *total; /* [n_layer][N_WATCHED]; owned */
    struct watch_sums *rows;  /* [max_rows] of the layer at work; owned */
};

/* For passes of up to max_rows rows. */
int watch_init(struct watch *w, const struct config *c, int max_rows);
void watch_release(struct watch *w);
/* Forget what was added. */
void watch_reset(struct watch *w);
/* A layer's forward piece has ended and left n rows: add them. By every thread of the team;
 * ends with a barrier. */
void watch_add(struct watch *w, const struct forward *f, int layer, int n, int thread,
               int n_threads);
struct watched_stats watch_stats(const struct watch *w, int layer, enum watched what);

#endif
