#ifndef PRATTLE_TRAIN_STEP_ACTIVATION_STATS_H
#define PRATTLE_TRAIN_STEP_ACTIVATION_STATS_H
/*
 * Activation statistics of each layer: mean, standard deviation, maximum magnitude and fraction of
 * exact zeros, over all positions of a step's micro-batches. They show a vanishing deviation, a
 * growing maximum or a dead feed-forward before the loss does. The order of sums does not depend
 * on the size of the thread team.
 */
#include "model/forward.h"

enum activation_site {
    ACTIVATION_ATTENTION, /* the heads' outputs, before their projection */
    ACTIVATION_MLP,       /* the hidden layer of the feed-forward, after the activation */
    ACTIVATION_RESIDUAL,  /* the residual stream after the layer */
    N_ACTIVATION_SITES
};
extern const char *const activation_site_names[N_ACTIVATION_SITES]; /* "attention", ... */

struct activation_summary {
    double mean, std, max; /* NaN or infinite if an activation is; max is of magnitudes */
    double zeros;          /* fraction, 0 to 1 */
};

struct activation_sums {
    double sum, squares, max;
    uint64_t n, zeros;
};
struct activation_stats {
    int n_layer;
    struct activation_sums *total; /* [n_layer][N_ACTIVATION_SITES]; owned */
    struct activation_sums *rows;  /* [max_rows], of the layer being added; owned */
};

/* For passes of up to max_rows rows. ERR_NOMEM. */
int activation_stats_init(struct activation_stats *stats, const struct config *c, int max_rows);
void activation_stats_release(struct activation_stats *stats);
/* Set all statistics to zero, before a step. */
void activation_stats_reset(struct activation_stats *stats);
/* Add the n rows that the forward pass of a layer has just left in f's buffers. To be called by
 * every thread of the job; ends with a barrier. */
void activation_stats_add(struct activation_stats *stats, const struct forward *f, int layer, int n,
                          int thread, int n_threads);
/* Add those of a layer [N_ACTIVATION_SITES] that were gathered elsewhere. */
void activation_stats_join(struct activation_stats *stats, int layer,
                           const struct activation_sums *others);
/* The statistics of one site of a layer. */
struct activation_summary activation_stats_of(const struct activation_stats *stats, int layer,
                                              enum activation_site what);

#endif
