#ifndef PRATTLE_WEIGHTS_RUN_FOLDER_H
#define PRATTLE_WEIGHTS_RUN_FOLDER_H
/*
 * A training run's folder where a model is expected: its checkpoints, step-000400 and the like, are
 * models or adapters (train/run/checkpoint.h writes them).
 */
#include "model/base/progress.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The steps of all checkpoints, whole or not, the newest first, in new memory; none if there is no
 * such folder.
 */
int run_folder_steps(const char *path, int64_t **steps, int *n);
/* "path/step-NNNNNN" in new memory; NULL: ERR_NOMEM. */
char *run_folder_checkpoint(const char *path, int64_t step);
/* The step of a checkpoint with this name; -1: it is no checkpoint's name. */
int64_t run_folder_step_of(const char *name);
/* Whether the folder has a run's checkpoints, metrics or lock, and no model or adapter. */
bool run_folder_is(const char *path);
/* Whether it has a metrics.jsonl of a run; other programs have files of that name. */
bool run_folder_has_metrics(const char *path);
/* Whether the path is a checkpoint of a run beside it, which removes it (keep_last) as it goes on,
 * or, where nothing is there, would be taken for one. */
bool run_folder_is_checkpoint(const char *path);
/* ERR_EXISTS: path is a run's folder or one of its checkpoints, there or not, where no other model
 * is written: the run would go on from it no more. */
int run_folder_spare(const char *path);
/*
 * The path to open for `path`: of a run's folder its newest whole checkpoint, of anything else the
 * path itself, with ~ expanded. A checkpoint is whole if every file of its manifest exists with its
 * size (train resume also compares the bytes); others give a note. *title: "runs/a, checkpoint of
 * step 200", or NULL if path is no run's folder. Both in new memory. ERR_MISSING: no checkpoint is
 * whole.
 */
int run_folder_resolve(char **out, char **title, const char *path, const struct progress *p);
/* The step of that checkpoint; -1: none. Notes as there. */
int64_t run_folder_newest(const char *path, const struct progress *p);

#endif
