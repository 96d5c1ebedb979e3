#ifndef PRATTLE_TRAIN_STEP_ACTIVATION_STATS_H
#define PRATTLE_TRAIN_STEP_ACTIVATION_STATS_H
/*
 * What a layer's activations are like: mean, deviation, greatest magnitude and the share of
 * exact zeros, over all positions of a step's micro-batches. A vanishing deviation, a growing
 * maximum or a dead feed-forward are seen here before the loss shows them. All sums have one
 * order: the same numbers for any size of the team.
 */
#include "model/forward.h"

enum activation_site {
    ACTIVATION_ATTENTION, /* what the heads give, before its projection */
    ACTIVATION_MLP,       /* the feed-forward's inside, after the activation */
    ACTIVATION_RESIDUAL,  /* the residual stream as it leaves the layer */
    N_ACTIVATION_SITES
};
extern const char *const activation_site_names[N_ACTIVATION_SITES]; /* "attention", ... */

struct activation_summary {
    double mean, std, max; /* NaN or infinite where the activations are */
    double zeros;          /* share, 0 to 1 */
};

struct activation_sums {
    double sum, squares, max;
    uint64_t n, zeros;
};
struct activation_stats {
    int n_layer;
    struct activation_sums *total; /* [n_layer][N_ACTIVATION_SITES]; owned */
    struct activation_sums *rows;  /* [max_rows] of the layer at work; owned */
};

/* For passes of up to max_rows rows. */
int activation_stats_init(struct activation_stats *stats, const struct config *c, int max_rows);
void activation_stats_release(struct activation_stats *stats);
/* Forget what was added. */
void activation_stats_reset(struct activation_stats *stats);
/* A layer's forward piece has ended and left n rows: add them. By every thread of the team;
 * ends with a barrier. */
void activation_stats_add(struct activation_stats *stats, const struct forward *f, int layer, int n,
                          int thread, int n_threads);
struct activation_summary activation_stats_of(const struct activation_stats *stats, int layer,
                                              enum activation_site what);

#endif
