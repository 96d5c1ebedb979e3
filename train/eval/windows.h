#ifndef PRATTLE_TRAIN_EVAL_WINDOWS_H
#define PRATTLE_TRAIN_EVAL_WINDOWS_H
/*
 * A long text in windows that overlap, so that every target is scored once and has context.
 */
#include "train/eval/scoring.h"

struct windows {
    size_t n_ids;
    int length; /* inputs of a window */
    int step;   /* from one to the next, and the targets that count of each: its last; 1..length */
    bool whole; /* of the first window all targets count */
};

/* Windows that have something to score; of windows that were checked, as all below. */
size_t windows_count(const struct windows *w);
/* ERR_RANGE: `step`, which the user knows by this name, is not 1 .. length. */
int windows_check(const struct windows *w, const char *name);
/*
 * Those to be scored, by ev's limit, in fresh memory; their count in all is the result's total.
 * Where the last reaches past the end it is as if padded: what is left of its targets counts.
 */
int windows_cut(struct passage **list, size_t *n, const struct windows *w, const token_id *ids,
                struct evaluation *ev);

#endif
