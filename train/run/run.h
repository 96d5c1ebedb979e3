#ifndef PRATTLE_TRAIN_RUN_RUN_H
#define PRATTLE_TRAIN_RUN_RUN_H
/*
 * A training run: batches, step, clipping, optimizer, schedule; lines, evaluations,
 * samples and checkpoints as often as the configuration says. It can stop between any
 * two micro-batches and go on at the same bits, in this process or from a checkpoint in
 * another, on any number of threads.
 */
#include "train/run/change.h"
#include "train/run/check.h"
#include "train/run/open.h"
#include "train/run/report.h"
#include "train/run/resume.h"
#include "train/run/save.h"

/*
 * Train until the end. 0: finished; ERR_INTERRUPTED: paused, call again to go on;
 * ERR_RANGE: max_bad_steps steps in a row had no finite loss or gradient (or were
 * spikes, or would have made weights that the run's or the model's precision cannot hold);
 * the weights, their moments and every checkpoint are those before them, and what was due at
 * the last of them is done. However it ends, the model has the run's weights, and a new version
 * where they are not those it had; but for
 * ERR_NOT_FINITE: inference makes NaN or infinite logits of the weights, as the probe before each
 * use of them (publish.h), an evaluation or a sample found. They are in no checkpoint, the model
 * has what it had before, and the run is lost (RUN_LOST): one may go on from its newest checkpoint.
 */
int run_go(struct run *r);

#endif
