#ifndef PRATTLE_TRAIN_PARALLEL_LAYOUT_SLOTS_H
#define PRATTLE_TRAIN_PARALLEL_LAYOUT_SLOTS_H
/*
 * How many micro-batches the chunks of pipelines have in flight (pipeline.h), of layouts of one
 * model. A search for the best layout comes to the same pipelines again, with other clusters and
 * other numbers of replicas: the order of each is followed once.
 */
#include "train/parallel/layout.h"

enum { LAYOUT_SLOTS_CHAINS = 1024 };

struct layout_slots_entry;
struct layout_slots {
    struct layout_slots_entry *chains[LAYOUT_SLOTS_CHAINS]; /* zeroed: none yet */
};

/* *slots: [stages][chunks], of the order by layout_plan's arguments; valid until the release.
 * ERR_NOMEM. */
int layout_slots_find(struct layout_slots *s, const int **slots, const struct layout *l,
                      const struct config *c, int n_micro, int of_block);
void layout_slots_release(struct layout_slots *s);

#endif
