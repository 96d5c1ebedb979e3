#ifndef PRATTLE_TRAIN_RUN_PIPELINE_STEP_H
#define PRATTLE_TRAIN_RUN_PIPELINE_STEP_H
/*
 * The micro-batches of a step in a pipeline: this rank's jobs in the order of
 * train/parallel/pipeline.h. Activations go onward round the stages and their gradients back; both
 * are received where they are used, as soon as there is room for them, and are under way while
 * other jobs run. The shards of a stage (tensor_step.h) have the same activations: each has its
 * messages with those in its own place in other stages. They begin a job once all are ready for it;
 * so they have one order, and whichever stops, all of them stop before the same job.
 */
struct run;

/* For a run that is built, by each rank alone; nothing where each has all layers. ERR_NOMEM. */
int run_pipeline_open(struct run *r);
void run_pipeline_close(struct run *r);
/* How many micro-batches there are at once on this rank: [STAGE_MAX_CHUNKS], by chunk of its
 * layers; borrowed. */
const int *run_pipeline_slots(const struct run *r);
/* A step begins; on every rank, also where it then cannot go on. */
void run_pipeline_begin(struct run *r);
/*
 * The step's micro-batches, whose losses are multiplied by scale. 0: they are done, or rank 0 has
 * said that the step does not go on; ERR_INTERRUPTED.
 */
int run_pipeline_go(struct run *r, float scale);
/* By all, once a step does not go on: what is on its way arrives, and is forgotten. */
void run_pipeline_settle(struct run *r);

#endif
