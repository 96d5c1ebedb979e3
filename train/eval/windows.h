#ifndef PRATTLE_TRAIN_EVAL_WINDOWS_H
#define PRATTLE_TRAIN_EVAL_WINDOWS_H
/*
 * A long text in windows that overlap, so that every target is scored once and has context.
 */
#include "train/eval/scoring.h"

struct windows {
    size_t n_ids;
    int length; /* inputs of a window */
    int step;   /* stride, 1..length; the last `step` targets of each window count */
    bool whole; /* all targets of the first window count */
};

/* The number of windows with a target that counts. w was checked, as for the function below. */
size_t windows_count(const struct windows *w);
/* ERR_RANGE: `step`, called `name` in the message, is not in 1..length. */
int windows_check(const struct windows *w, const char *name);
/*
 * The windows to score, at most ev's limit, in fresh memory; sets the total of ev's result. A last
 * window that reaches past the end is short: the targets it has count. ERR_NOMEM.
 */
int windows_cut(struct passage **list, size_t *n, const struct windows *w, const token_id *ids,
                struct evaluation *ev);

#endif
