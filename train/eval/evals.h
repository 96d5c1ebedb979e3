#ifndef PRATTLE_EVALS_H
#define PRATTLE_EVALS_H
/*
 * The evaluations of the table in eval.c; each says in its own file what it measures.
 */
#include "train/eval/eval.h"

int eval_wikitext(struct eval_job *j);
int eval_ptb(struct eval_job *j);
int eval_lambada(struct eval_job *j);
int eval_text(struct eval_job *j);
int eval_choice(struct eval_job *j);
int eval_kl(struct eval_job *j);

#endif
