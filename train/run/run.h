#ifndef PRATTLE_TRAIN_RUN_RUN_H
#define PRATTLE_TRAIN_RUN_RUN_H
/*
 * A training run: batches, step, clipping, optimizer, schedule; lines, evaluations,
 * samples and checkpoints as often as the configuration says. It can stop between any
 * two micro-batches and go on at the same bits, in this process or from a checkpoint in
 * another, on any number of threads.
 */
#include "train/run/metrics.h"
#include "train/run/checkpoint.h"
#include "weights/save.h"

struct run;
struct run_config;

/* How a run reports; on the thread that called run_go. All but user may be NULL. */
struct run_events {
    /* A line is due: every log_every steps, after an evaluation, and at the end. */
    void (*line)(void *user, const struct metrics *m);
    /* Before every micro-batch, for a live bar: m of the last line, the steps taken and how
     * much of the next is done, from 0 to below 1. */
    void (*tick)(void *user, const struct metrics *m, int64_t step, double part);
    /* Activations are due: what they were in the step just taken. */
    void (*activations)(void *user, const struct metrics *m, const struct watch *w);
    /* A sample is due and the model has the run's weights: append the text to `out`, or
     * nothing where the model cannot give one. */
    int (*sample)(void *user, struct buf *out);
    const struct progress *progress; /* of loading, preparing data, writing checkpoints */
    void *user;
};

enum run_state {
    RUN_PAUSED, /* before its first step, or stopped by Ctrl-C or an error */
    RUN_GOING,
    RUN_FINISHED /* steps, epochs or hours are used up */
};

/*
 * A new run on a model, from its first step. c, settled, is copied; e too. ERR_EXISTS: the
 * run's folder has checkpoints already, or another trainer at work. The model is
 * borrowed until run_free.
 */
int run_new(struct run **out, const struct run_config *c, struct model *m,
            const struct run_events *e);
/* Whether the run's folder, c settled, has a checkpoint to go on from. */
bool run_can_resume(const struct run_config *c);
/* What can be refused before the model in memory makes room for another: settings that do not go
 * together or with the model's shape, data that is not there, a folder that has a run; an adapter
 * beside the model (ERR_EXISTS), weights in no file that the run's own could refer to
 * (ERR_MISMATCH). shape: the one in memory, NULL: none. m: the model that would be trained, NULL:
 * one that c names. */
int run_check_first(const struct run_config *c, const struct config *shape, const struct model *m);
/* The same of what would go on from a checkpoint, under c, not settled. */
int run_check_resume(const struct checkpoint *cp, const struct run_config *c);
/* The configuration a checkpoint was written with, into c as run_config_init does; its
 * folder is the one the checkpoint is in now. */
int run_stored_config(struct run_config *c, const struct checkpoint *cp);
/*
 * Go on from a checkpoint, whose model m is (loaded from cp->path), under c. ERR_MISMATCH
 * names what of c is not as the checkpoint's (its model, data, batch; rates, lengths and
 * cadences may change), or says that the data themselves have changed. In the checkpoint's own
 * folder newer checkpoints are set aside; another must have none (ERR_EXISTS), and begins anew.
 */
int run_resume(struct run **out, const struct checkpoint *cp, const struct run_config *c,
               struct model *m, const struct run_events *e);
/* NULL-safe. What is not in a checkpoint by now is lost. */
void run_free(struct run *r);

/*
 * Train until the end. 0: finished; ERR_INTERRUPTED: paused, call again to go on;
 * ERR_RANGE: max_bad_steps steps in a row had no finite loss or gradient (or were
 * spikes, or would have made weights that the run's or the model's precision cannot hold);
 * the weights, their moments and every checkpoint are those before them, and what was due at
 * the last of them is done. However it ends, the model has the run's weights, and a new version
 * where they are not those it had.
 */
int run_go(struct run *r);
/* Change settings of a paused run by n words "key=value"; refused as in run_resume. */
int run_change(struct run *r, char *const *words, int n);
/* Write a checkpoint of the last whole step, unless there is one already. */
int run_save(struct run *r);
/* The run's weights as a model's files, in its precision unless c says otherwise. */
int run_export(struct run *r, const char *path, const struct save_config *c);

enum run_state run_state(const struct run *r);
const struct run_config *run_settings(const struct run *r);
const struct metrics *run_metrics(const struct run *r); /* as of the last line */
/* Tokens, hours and counts as of now; the rest as of the last line. */
struct metrics run_now(const struct run *r);
const char *run_path(const struct run *r); /* its folder */
int64_t run_step(const struct run *r);     /* whole steps taken */
/* The step of the newest checkpoint, -1: none. */
int64_t run_saved_step(const struct run *r);

#endif
