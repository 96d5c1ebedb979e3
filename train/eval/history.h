#ifndef PRATTLE_TRAIN_EVAL_HISTORY_H
#define PRATTLE_TRAIN_EVAL_HISTORY_H
/*
 * The results of evaluations in their order, stored in $XDG_STATE_HOME/prattle/evaluations.jsonl,
 * one record (record.h) per line.
 */
#include "model/base/record_file.h"

int eval_history_add(const json_t *record); /* as record_file_add */
int eval_history_read(struct records *h);   /* as record_file_read */
/* Keep the records that have every word in the name or path of their model, their evaluation or
 * their file, ignoring case; of these the newest `last` (0: all). */
void eval_history_select(struct records *h, char *const *words, int n, int last);
/* Delete the file, if there is one. */
int eval_history_clear(void);

#endif
