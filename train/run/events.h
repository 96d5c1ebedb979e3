#ifndef PRATTLE_TRAIN_RUN_EVENTS_H
#define PRATTLE_TRAIN_RUN_EVENTS_H
/*
 * The status of a run, and the callbacks by which it reports.
 */
#include "train/run/metrics.h"

struct run;

enum run_status {
    RUN_PAUSED, /* before its first step, or stopped by Ctrl-C or an error */
    RUN_GOING,
    RUN_FINISHED, /* steps, epochs or hours are used up */
    RUN_LOST      /* inference cannot hold its weights: there is nothing but its checkpoints */
};

/* Called on the thread that called run_go. Every member may be NULL. */
struct run_events {
    /* A line is due: every log_every steps, after an evaluation, and at the end. */
    void (*line)(void *user, const struct metrics *m);
    /* Before every micro-batch, for the progress bar: the metrics of the last line, the steps
     * taken, and the fraction of the next step that is done, from 0 to below 1. */
    void (*tick)(void *user, const struct metrics *m, int64_t step, double part);
    /* Activation statistics are due: those of the step just taken. */
    void (*activations)(void *user, const struct metrics *m, const struct activation_stats *w);
    /* A sample is due and the model has the run's weights: append the text to `out`, or nothing if
     * the model cannot generate text. Returns 0 or an error code, which stops the run. */
    int (*sample)(void *user, struct buf *out);
    const struct progress *progress; /* of loading, preparing data, writing checkpoints */
    void *user;
};

#endif
