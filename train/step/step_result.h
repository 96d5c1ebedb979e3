#ifndef PRATTLE_TRAIN_STEP_STEP_RESULT_H
#define PRATTLE_TRAIN_STEP_STEP_RESULT_H
/* What a micro-batch gives besides gradients. */
#include "train/data/label.h"

#include <stdint.h>

struct step_result {
    double loss_sum;   /* of -log p over the targets, natural logarithm */
    int64_t n_targets; /* labels that are not LABEL_NONE */
    int64_t n_correct; /* whose argmax is the label */
};

#endif
