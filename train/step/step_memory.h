#ifndef PRATTLE_TRAIN_STEP_STEP_MEMORY_H
#define PRATTLE_TRAIN_STEP_STEP_MEMORY_H
/* The memory of a step: what it would take, and for step.c mapping and carving. */
#include "model/base/dtype.h"
#include "model/config.h"
#include "train/step/step_config.h"

/* The memory that step_new would allocate. Allocates nothing; ERR_RANGE as step_new. */
int step_bytes(struct step_bytes *out, const struct config *c, enum dtype dtype,
               const struct step_config *s);

/* How many parameters a stage has. */
double stage_params(const struct config *c, const struct model_stage *stage);

struct step;
struct weights;

/* The sizes of everything, into s->bytes; ERR_NOMEM where the machine has less. */
int step_memory_size(struct step *s, const struct config *c, enum dtype dtype);
/* Map and carve it, and connect the parts. On failure step_memory_unmap gives back what there is.
 */
int step_memory_map(struct step *s, struct weights *w);
void step_memory_unmap(struct step *s);

#endif
