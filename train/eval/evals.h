#ifndef PRATTLE_TRAIN_EVAL_EVALS_H
#define PRATTLE_TRAIN_EVAL_EVALS_H
/*
 * The evaluations of the table in eval.c; each says in its own file what it measures.
 */
#include "train/data/dataset.h"
#include "train/eval/scoring.h"

int eval_wikitext(struct eval_job *j);
int eval_ptb(struct eval_job *j);
int eval_lambada(struct eval_job *j);
int eval_text(struct eval_job *j);
/* The same of a data set that is open: what training holds out. j->path names it. */
int eval_dataset(struct eval_job *j, const struct dataset *d);
int eval_choice(struct eval_job *j);
int eval_kl(struct eval_job *j);

#endif
