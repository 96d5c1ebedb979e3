#ifndef PRATTLE_TRAIN_STEP_PHASED_MEMORY_H
#define PRATTLE_TRAIN_STEP_PHASED_MEMORY_H
/* A step larger than memory comes and goes, and what it takes (phased.h). */
#include "train/step/step_config.h"
#include "train/step/weights.h"

struct phased_step;

/* What each such step's configuration has. */
void phased_config(struct step_config *s);
/* A step of weights that are on disk (weights_init_on_disk). Fails as step_new; ERR_IO. */
int phased_new(struct phased_step **out, struct weights *w, const struct step_config *s,
               const struct phased_place *place);
void phased_free(struct phased_step *k); /* accepts NULL */

/* The room of arrays on disk, and what of them is in memory where none is kept, in bytes; and of
 * how many blocks the gradients outside the layers wait, 0 where there is one. */
struct phased_bytes {
    double inputs, residuals;
    int blocks;
    double inputs_at_work, residuals_at_work, outside_at_work;
};
struct phased_bytes phased_bytes(const struct config *c, enum dtype dtype,
                                 const struct step_config *s, int micro_batches);

#endif
