#ifndef PRATTLE_TRAIN_RUN_REPORT_H
#define PRATTLE_TRAIN_RUN_REPORT_H
/*
 * The position and the metrics of a run.
 */
#include "train/run/events.h"

struct buf;
struct run_config;

enum run_status run_status(const struct run *r);
/* Why the run takes no more steps. */
enum run_end { END_NONE, END_STEPS, END_HOURS, END_EARLY /* patience */ };
enum run_end run_end(const struct run *r);
/* The settings that would take it further: "steps=N", for one that stopped early
 * "patience=0". */
const char *run_extension(const struct run *r);
const struct run_config *run_settings(const struct run *r);
const struct metrics *run_metrics(const struct run *r); /* as of the last line */
/* The length of the run, tokens, hours and counts as of now, the other metrics as of the last line.
 */
struct metrics run_now(const struct run *r);
const char *run_path(const struct run *r); /* its folder */
int64_t run_step(const struct run *r);     /* whole steps taken */
/* The step of the newest checkpoint, -1: none. */
int64_t run_saved_step(const struct run *r);
/* Whether a checkpoint is to be written before the next step. */
bool run_owes_checkpoint(const struct run *r);

/* Append which rank has what, where ranks have some layers each; else nothing. */
int run_devices(const struct run *r, struct buf *out);

/* For run.c: set r->metrics from what was counted since the last line. */
void run_fill_metrics(struct run *r);

#endif
