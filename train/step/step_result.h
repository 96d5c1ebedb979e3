#ifndef PRATTLE_TRAIN_STEP_STEP_RESULT_H
#define PRATTLE_TRAIN_STEP_STEP_RESULT_H
/* The results of the micro-batches of a step other than gradients. */
#include "train/data/label.h"

#include <stdint.h>

struct step_result {
    double loss_sum;   /* of -ln p(label) over the targets */
    int64_t n_targets; /* labels that are not LABEL_NONE */
    int64_t n_correct; /* targets whose most probable token is the label */
};

#endif
