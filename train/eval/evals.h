#ifndef PRATTLE_TRAIN_EVAL_EVALS_H
#define PRATTLE_TRAIN_EVAL_EVALS_H
/*
 * The evaluations of the table in eval.c; each says in its own file what it measures.
 */
#include "train/data/dataset.h"
#include "train/eval/scoring.h"

int eval_wikitext(struct evaluation *ev);
int eval_ptb(struct evaluation *ev);
int eval_lambada(struct evaluation *ev);
int eval_text(struct evaluation *ev);
/* What it reads: the documents of ev->path. To be closed. */
int eval_open_text(struct dataset *d, const struct evaluation *ev);
/* eval_text of an open data set, such as a run's validation data; ev->path is its name. */
int eval_dataset(struct evaluation *ev, const struct dataset *d);
int eval_choice(struct evaluation *ev);
int eval_kl(struct evaluation *ev);

#endif
