#ifndef PRATTLE_TRAIN_RUN_FOLDER_H
#define PRATTLE_TRAIN_RUN_FOLDER_H
/*
 * The folder of one training run: checkpoints as step-000400, and a lock, so that two
 * trainers never write there at once.
 */
#include "weights/run_folder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_folder {
    char *path; /* owned; NULL: closed */
    int lock;
    bool made_lock; /* its file was not there before */
    size_t there;   /* bytes of the path that were there before: of it or of a folder above it */
};

/*
 * Make the folder if it is not there, take its lock and remove what a killed trainer
 * left half-written. ERR_EXISTS: another process trains there, named in the sentence.
 */
int run_folder_open(struct run_folder *f, const char *path);
/* Make the folder of an open run again, with its lock, where somebody has deleted it (*gone). Fails
 * as run_folder_open. */
int run_folder_restore(struct run_folder *f, bool *gone);
/* Gives the lock back, as the end of the process does, whatever ends it. run_free (open.h) calls
 * it, so a paused run keeps its lock. */
void run_folder_close(struct run_folder *f);
/* The process that has the run open, at work or paused, 0: none, -1: one that has not said who it
 * is. */
long run_folder_holder(const char *path);
/* Close it, and take away the lock and the folders that opening it made; of these, those into which
 * nothing was put since. */
void run_folder_undo(struct run_folder *f);

bool run_folder_has_checkpoint(const char *path); /* whole or not */
/* Of the runs' folders in `parent`, the one whose newest checkpoint was written last, in
 * fresh memory. ERR_MISSING: there is no checkpoint in any. */
int run_folder_latest(char **out, const char *parent);
/* Returns rc, the error set; where the folder has runs and is none itself, its sentence is that,
 * and has the newest. */
int run_folder_explain(int rc, const char *parent);
/*
 * Remove checkpoints older than `newest` but the `keep` newest of them all (0: keep all)
 * and the one of step `best` (negative: none).
 */
int run_folder_prune(const struct run_folder *f, int64_t newest, int keep, int64_t best);
/* The folder at `made` takes the place of the checkpoint of `step` in one moment. ERR_UNSUPPORTED:
 * the file system cannot do that. Whichever of the two is not in that place is removed. */
int run_folder_replace(const struct run_folder *f, int64_t step, const char *made);
/* Those newer than `step` are renamed to step-NNNNNN.aside: of a course that is left, or
 * damaged. *n says how many. */
int run_folder_set_aside(const struct run_folder *f, int64_t step, int *n);

#endif
