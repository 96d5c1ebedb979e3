#ifndef PRATTLE_TRAIN_RUN_EVENTS_H
#define PRATTLE_TRAIN_RUN_EVENTS_H
/*
 * How a run stands, and how it reports to the one who began it.
 */
#include "train/run/metrics.h"

struct run;

enum run_status {
    RUN_PAUSED, /* before its first step, or stopped by Ctrl-C or an error */
    RUN_GOING,
    RUN_FINISHED /* steps, epochs or hours are used up */
};

/* On the thread that called run_go. All but user may be NULL. */
struct run_events {
    /* A line is due: every log_every steps, after an evaluation, and at the end. */
    void (*line)(void *user, const struct metrics *m);
    /* Before every micro-batch, for a live bar: m of the last line, the steps taken and how
     * much of the next is done, from 0 to below 1. */
    void (*tick)(void *user, const struct metrics *m, int64_t step, double part);
    /* Activations are due: what they were in the step just taken. */
    void (*activations)(void *user, const struct metrics *m, const struct activation_stats *w);
    /* A sample is due and the model has the run's weights: append the text to `out`, or
     * nothing where the model cannot give one. */
    int (*sample)(void *user, struct buf *out);
    const struct progress *progress; /* of loading, preparing data, writing checkpoints */
    void *user;
};

#endif
