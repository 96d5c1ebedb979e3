#ifndef PRATTLE_WEIGHTS_RUN_FOLDER_H
#define PRATTLE_WEIGHTS_RUN_FOLDER_H
/*
 * The folder of a training run where a model is named: what it has of checkpoints, step-000400 and
 * the like, which are models or adapters (train/run/checkpoint.h writes them).
 */
#include "model/base/progress.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The steps there are checkpoints of, whole or not, the newest first, in fresh memory. A
 * folder that is not there has none.
 */
int run_folder_steps(const char *path, int64_t **steps, int *n);
/* path/step-NNNNNN in fresh memory. */
char *run_folder_checkpoint(const char *path, int64_t step);
/* The step of the checkpoint that is called so in its run's folder, -1: none is. */
int64_t run_folder_step_of(const char *name);
/* Whether a run's checkpoints or metrics are there, and no model or adapter beside them. */
bool run_folder_is(const char *path);
/*
 * The path to open where `path` is named: of a run's folder the newest checkpoint that is whole
 * (every file of its manifest there, in its size; train resume compares the bytes too), of all else
 * the path itself, ~ expanded. Fresh memory, *title too: "runs/a, checkpoint of step 200", NULL
 * where path is no run's folder. ERR_MISSING: the run has no whole checkpoint; what is damaged
 * gives a note.
 */
int run_folder_resolve(char **out, char **title, const char *path, const struct progress *p);

#endif
