#ifndef PRATTLE_TRAIN_RUN_CHANGE_H
#define PRATTLE_TRAIN_RUN_CHANGE_H
/*
 * What of a run's configuration may change on its way.
 */
struct run;
struct run_config;

/* Change settings of a paused run by n words "key=value". ERR_MISMATCH: as run_check_change, or
 * what is built into a run in memory. */
int run_change(struct run *r, char *const *words, int n);
/* ERR_MISMATCH names a setting that is not as it was and has to be: model, data, batch; rates,
 * lengths and cadences may change. Both resolved. */
int run_check_change(const struct run_config *was, const struct run_config *is);
/* A run that goes on, at its place, with other steps in all than it was planned for: where the
 * phases of its data depend on how many, ERR_MISMATCH unless those taken stay as they were. */
int run_change_length(struct run *r, const struct run_config *was);
/* A loss_scaling that is not as it was is that of the next step. */
void run_change_scale(struct run *r, const struct run_config *was);

#endif
