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
    const char *options;     /* which options for one command it takes: "strict limit" */
    const char
        *settings; /* which of seq_length, overlap, last_n, detokenize and special it reads */
    /* Lines "FORMAT\tWHAT IS IN IT", each followed by those of its fields, "  FIELD\tMEANING". */
    const char *reads;
    /* Where its file is in the data folder, and other places for it, each after a "|"; NULL: a file
     * must be given. */
    const char *file;
    const char *published; /* the name of that file (train/data/published.h) */
    const char *where;     /* where else to get it */
    bool needs_other;      /* a second model */
    int (*run)(struct evaluation *ev);
};
const struct eval *eval_at(int i); /* NULL past the end */
const struct eval *eval_find(const char *name);

/*
 * Run an evaluation. After Ctrl-C it returns 0 with result->partial if something was scored, else
 * ERR_INTERRUPTED. On failure the result is empty.
 *
 * other    the second model, for evaluations that need one; else NULL
 * path     NULL: its file in the data folder; ERR_MISSING says where to get it and where to put it
 */
int eval_run(const struct eval *e, struct engine *engine, struct engine *other,
             const struct eval_config *config, const char *path, struct eval_result *result,
             const struct progress *p);

/* Check that the file which eval_run would read exists; path and errors as of eval_run. */
int eval_check_file(const struct eval *e, const struct eval_config *config, const char *path);

#endif
