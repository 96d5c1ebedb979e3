#ifndef PRATTLE_TRAIN_EVAL_HISTORY_H
#define PRATTLE_TRAIN_EVAL_HISTORY_H
/*
 * The results of evaluations as they came, kept in $XDG_STATE_HOME/prattle/evaluations.jsonl: a
 * record of record.h a line.
 */
#include "model/base/json.h"

/* Append one, in one piece: several programs may do so at a time. ERR_IO, ERR_MISSING (no home). */
int eval_history_add(const json_t *record);

struct eval_history {
    json_t **list; /* [n], oldest first; owned */
    size_t n;
    size_t n_bad; /* lines that are no record, passed over */
};
/* 0 also where there is no file. ERR_RANGE: it has grown beyond all measure. */
int eval_history_read(struct eval_history *h);
/* Leave the records that have each of the words in the name or path of their model, their
 * evaluation or their file, whatever the case; of these the newest `last`, 0: all. */
void eval_history_select(struct eval_history *h, char *const *words, int n, int last);
/* Remove the file; 0 also where there is none. */
int eval_history_clear(void);
void eval_history_release(struct eval_history *h);

#endif
