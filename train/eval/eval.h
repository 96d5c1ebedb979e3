#ifndef PRATTLE_TRAIN_EVAL_EVAL_H
#define PRATTLE_TRAIN_EVAL_EVAL_H
/*
 * Evaluations of a model in memory. Each is one function in a file of its own, and one row
 * of the table in eval.c: to add one, write
 *
 *   int eval_NAME(struct evaluation *ev)
 *
 * which reads ev->path by ev->config, makes passages, has them scored by eval_score, and
 * leaves figures in ev->result with eval_figure_add (scoring.h, result.h); declare it in evals.h
 * and add its row. What the command does (finding the file, time, partial results, JSON, history)
 * works for it then as for the others.
 */
#include "train/eval/scoring.h"

/* One row of the table. */
struct eval {
    const char *name, *help; /* one line */
    const char *argument;    /* what follows the name: "[FILE]", "MODEL [FILE]" */
    const char *options;     /* those it takes of the ones for one command: "strict limit" */
    /* Where its file is within the data folder: the place for it, then others after a "|";
     * NULL: it must be named. */
    const char *file;
    const char *where; /* to get that file */
    bool needs_other;  /* a second model */
    int (*run)(struct evaluation *ev);
};
const struct eval *eval_at(int i); /* NULL past the end */
const struct eval *eval_find(const char *name);

/*
 * Run one. path NULL: its file in the data folder; ERR_MISSING says where to get it and where
 * to put it. `other` for those that need one. A result stopped by Ctrl-C after something was
 * scored is 0 with result->partial; before, ERR_INTERRUPTED. On failure the result is empty.
 */
int eval_run(const struct eval *e, struct engine *engine, struct engine *other,
             const struct eval_config *config, const char *path, struct eval_result *result,
             const struct progress *p);

/* Whether the file it would read is there, before any of it is done; path and errors as of
 * eval_run. */
int eval_check_file(const struct eval *e, const struct eval_config *config, const char *path);

#endif
