#ifndef PRATTLE_TRAIN_RUN_PUBLISH_H
#define PRATTLE_TRAIN_RUN_PUBLISH_H
/*
 * The run's weights in the model in memory, and in which files they are.
 */
#include <stdbool.h>

struct run;

/* Once data and adapter are there. */
int run_publish_open(struct run *r);
void run_publish_close(struct run *r);
/* The next step begins: what the model had before lay in memory that is now used again. */
void run_publish_forget(struct run *r);
/*
 * Give the model the weights as they are, unless it has them already. The first time for each step
 * they are probed there, by a pass of the model in its own precision over the beginning of the
 * run's text: ERR_NOT_FINITE where inference makes NaN or infinite logits of them; then, as with
 * any error, the model has what it had.
 */
int run_publish(struct run *r);
/* Whether what is saved now can be used: as run_publish, unless that was found at this step. */
int run_probe(struct run *r);
/* What was found out too late: the model has again what it had before the last run_publish. */
void run_withdraw(struct run *r);
/* A checkpoint was written: if the model has its weights, mark them as saved there. */
void run_publish_saved(struct run *r);
/* The model's weights are in the files at path now: mark them as saved there. Takes path. */
void run_point_model(struct run *r, char *path);

#endif
