#ifndef PRATTLE_TRAIN_CONFIG_MOMENTS_H
#define PRATTLE_TRAIN_CONFIG_MOMENTS_H
/* What the optimizer of a run's settings takes for the tensors of a stage of the model. */
#include "train/config/run_config.h"
#include "train/step/stage.h"

struct moment_sizes {
    double first, second; /* bytes of the moments */
    double scratch;       /* of Muon's orthogonalization */
    double flops;         /* of the same, a step */
};
struct moment_sizes moment_sizes(const struct run_config *c, const struct config *shape,
                                 const struct model_stage *stage);
/* Of the whole model. */
struct moment_sizes moment_sizes_all(const struct run_config *c, const struct config *shape);

#endif
