#ifndef PRATTLE_TRAIN_RUN_PARTS_H
#define PRATTLE_TRAIN_RUN_PARTS_H
/*
 * A checkpoint of several ranks by all of them. Rank 0 has made a folder that nobody takes for a
 * checkpoint, and asks the others whether they reach it. Then
 *
 *   all      tensors that lie on several ranks: whole on that of their first element; of those that
 *            all have, each on one (train/config/weight_parts.h)
 *   all      the own tensors and the own part of the optimizer's blocks to files, and their SHA-256
 *   all      whether all of this was done, else what has failed on which rank
 *   rank 0   names, sizes and digests of the files; the index
 *
 * and rank 0 alone makes the folder a checkpoint (checkpoint.h).
 */
#include <jansson.h>
#include <stdbool.h>

struct run;

/* For checkpoint_content; user is the run. *written false, with 0: a rank does not reach the
 * folder, as on hosts without a common disk, or ranks are too many. */
int run_parts_write(void *user, const char *folder, json_t *files, bool *written);
/* The others, after ORDER_PARTS (ranks.h). */
void run_parts_follow(struct run *r);

#endif
