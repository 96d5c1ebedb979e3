#ifndef PRATTLE_TRAIN_RUN_SAVE_H
#define PRATTLE_TRAIN_RUN_SAVE_H
/*
 * Writing a run's weights to files.
 */
#include "weights/save.h"

struct run;

/* Write a checkpoint of the last whole step, unless there is one already; not of weights that
 * inference cannot hold (run_probe, publish.h): ERR_NOT_FINITE. One that is there gets the settings
 * of now, and what is due; where the file system cannot do that, a note says so. */
int run_save(struct run *r);
/* Whether it would. */
bool run_owes_state(const struct run *r);
/* The same by rank 0 alone, which waits for another in a step that will not come to its end.
 * ERR_UNSUPPORTED: others have parts of what a checkpoint has. */
int run_save_alone(struct run *r);
/* The run's weights as a model's files, in its precision unless c says otherwise. */
int run_export(struct run *r, const char *path, const struct save_config *c);

#endif
