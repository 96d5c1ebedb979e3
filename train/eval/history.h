#ifndef PRATTLE_TRAIN_EVAL_HISTORY_H
#define PRATTLE_TRAIN_EVAL_HISTORY_H
/*
 * The results of evaluations in their order, stored in $XDG_STATE_HOME/prattle/evaluations.jsonl,
 * one record (record.h) per line.
 */
#include "model/base/json.h"

/* Append a record in one write, so that several programs may do so at a time. ERR_IO, ERR_MISSING
 * (no home folder). */
int eval_history_add(const json_t *record);

struct eval_history {
    json_t **list; /* [n], oldest first; owned */
    size_t n;
    size_t n_bad; /* lines that are not records, which are ignored */
};
/* No file gives an empty history. ERR_RANGE: the file is too large. */
int eval_history_read(struct eval_history *h);
/* Keep the records that have every word in the name or path of their model, their evaluation or
 * their file, ignoring case; of these the newest `last` (0: all). */
void eval_history_select(struct eval_history *h, char *const *words, int n, int last);
/* Delete the file, if there is one. */
int eval_history_clear(void);
void eval_history_release(struct eval_history *h);

#endif
