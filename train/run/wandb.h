#ifndef PRATTLE_TRAIN_RUN_WANDB_H
#define PRATTLE_TRAIN_RUN_WANDB_H
/*
 * Weights & Biases: the user's own wandb program reads the TensorBoard files of a run's folder.
 * Nothing here sends anything.
 */

/* ERR_MISSING: there is no program wandb on PATH. */
int wandb_check(void);
/* Start "wandb sync FOLDER" and let it go on by itself, past the end of this process; what it says
 * goes to FOLDER/wandb.log. ERR_IO: it was not started. */
int wandb_sync(const char *folder);

#endif
