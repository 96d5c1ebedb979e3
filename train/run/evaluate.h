#ifndef PRATTLE_TRAIN_RUN_EVALUATE_H
#define PRATTLE_TRAIN_RUN_EVALUATE_H
/*
 * What a run measures on its way: as :eval does, by the same code and to the same bits.
 */
#include <stdbool.h>

struct run;

/* Whether there is anything to measure on. */
bool run_has_eval(const struct run *r);
/* ERR_INTERRUPTED between passes; ERR_NOT_FINITE: of some text the weights make no finite loss. */
int run_eval(struct run *r);

#endif
