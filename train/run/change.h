#ifndef PRATTLE_TRAIN_RUN_CHANGE_H
#define PRATTLE_TRAIN_RUN_CHANGE_H
/*
 * Which settings of a run may change once it has begun.
 */
#include <stdbool.h>

struct run;
struct run_config;

/* Change settings of a paused run by n words "key=value". ERR_MISMATCH: as run_check_change, or the
 * setting is built into a run in memory (RUN_HOLDS_FROM_RESUME). ERR_MISSING, ERR_RANGE: as
 * run_check_reports. */
int run_change(struct run *r, char *const *words, int n);
/* Whether that would be refused for a setting that is built in alone, and the run can be saved and
 * opened again with it: it has a step. */
bool run_change_opens(const struct run *r, char *const *words, int n);
/* As run_config_look_in. */
int run_look_in(struct run *r, const char *data_dir);
/* ERR_MISMATCH names a setting that differs and must not (RUN_HOLDS_FROM_NEW_RUN), such as the
 * model's, or the weights of a mixture. Both are resolved. */
int run_check_change(const struct run_config *was, const struct run_config *is);
/* Plan the batches of a resumed run for its new length. ERR_MISMATCH: that would move phases of a
 * mixture within the steps already taken. */
int run_change_length(struct run *r, const struct run_config *was);
/* A loss_scaling that has changed applies from the next step. */
void run_change_scale(struct run *r, const struct run_config *was);
/* Where eval_windows has changed how much validation measures, the best loss begins anew. */
void run_change_validation(struct run *r, const struct run_config *was);

#endif
