#ifndef PRATTLE_TRAIN_RUN_PUBLISH_H
#define PRATTLE_TRAIN_RUN_PUBLISH_H
/*
 * The run's weights in the model in memory, and in which files they are.
 */
struct run;

/* Copy the run's weights to the model, unless it has them already. */
void run_publish(struct run *r);
/* A checkpoint was written: if the model has its weights, mark them as saved there. */
void run_publish_saved(struct run *r);
/* The model's weights are in the files at path now: mark them as saved there. Takes path. */
void run_point_model(struct run *r, char *path);

#endif
