#ifndef PRATTLE_TRAIN_RUN_PUBLISH_H
#define PRATTLE_TRAIN_RUN_PUBLISH_H
/*
 * The run's weights in the model in memory, and where files have them.
 */
struct run;

/* Give the model the weights as they are. */
void run_publish(struct run *r);
/* A checkpoint was written: the model's weights are in it, where they are the last step's. */
void run_publish_saved(struct run *r);
/* The weights are in files: they are not unsaved, and that is where :save reads them. Takes
 * path. */
void run_point_model(struct run *r, char *path);

#endif
