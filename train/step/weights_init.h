#ifndef PRATTLE_TRAIN_STEP_WEIGHTS_INIT_H
#define PRATTLE_TRAIN_STEP_WEIGHTS_INIT_H
/* The weights to train, from a model (weights.h). */
#include "model/shard.h"
#include "train/step/weights.h"

/*
 * Take the weights of m, rounded to nearest in dtype, DTYPE_F32 or DTYPE_F16. They are read from
 * m's source again if that has more precision than memory and m is unchanged since; otherwise from
 * memory, with a progress note if that loses precision.
 *
 * open     m's source if it is still open, so that what was loaded is what is read; NULL: it is
 *          opened here
 * returns  0; ERR_MISMATCH: the source has changed since m was loaded
 */
int weights_init(struct weights *w, const struct model *m, const struct source *open,
                 enum dtype dtype, const struct progress *p);
/* The same for one stage of a pipeline: the others' weights are read, but not kept. */
int weights_init_stage(struct weights *w, const struct model *m, const struct source *open,
                       enum dtype dtype, const struct model_stage *stage, const struct progress *p);
/* The same for one process of tensor parallelism (model/shard.h) in a stage: `own`, what it has of
 * each tensor as weights of their own, to compute with; and of w its weights_slices, which it
 * updates. */
int weights_init_shard(struct weights *w, struct weights *own, const struct model *m,
                       const struct source *open, enum dtype dtype, const struct model_stage *stage,
                       const struct shard *s, const struct weights_slice *slice,
                       const struct progress *p);
/* The same with layers on disk (weights_disk.h); place NULL: in memory. ERR_IO: a full disk. */
int weights_init_on_disk(struct weights *w, const struct model *m, const struct source *open,
                         enum dtype dtype, const struct progress *p,
                         const struct weights_place *place);

#endif
