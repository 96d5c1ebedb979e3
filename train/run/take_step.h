#ifndef PRATTLE_TRAIN_RUN_TAKE_STEP_H
#define PRATTLE_TRAIN_RUN_TAKE_STEP_H
/*
 * The step in progress: micro-batches up to a whole step's gradients, and what is done with these:
 * a step with a NaN or infinite loss or gradient, or a spike, is skipped, counted and named.
 */
struct run;

/* A step for the team as it is now; the one in progress begins once more where that has changed. */
int run_fit_team(struct run *r);
/* By all ranks, between steps: for the blocks that this one has from now on. ERR_NOMEM, on all. */
int run_refit_step(struct run *r);
/* The step in progress begins once more. */
void run_begin_step_anew(struct run *r);
/* The rest of it, and the step of the optimizer, by the rate that schedule_rate (optim/schedule.h)
 * has for the steps taken so far; ERR_INTERRUPTED between two micro-batches or layers, to go on
 * from there. */
int run_take_step(struct run *r);
/* ERR_RANGE where too many steps in a row were bad, ERR_NOT_FINITE where the weights are lost: to
 * be asked once what was due at the last step is done. */
int run_check_stop(struct run *r);

#endif
