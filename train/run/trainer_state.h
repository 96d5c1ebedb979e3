#ifndef PRATTLE_TRAIN_RUN_TRAINER_STATE_H
#define PRATTLE_TRAIN_RUN_TRAINER_STATE_H
/*
 * Where a run is after a whole step, in numbers: with weights, moments and configuration, all
 * that its future depends on, and what people want to know of its past.
 */
#include "model/base/json.h"
#include "train/optim/loss_scale.h"
#include "train/optim/spike_guard.h"
#include "train/step/step.h"

/* Since the last line. */
struct run_tally {
    struct step_result sum;
    double hours;          /* at work */
    int64_t steps, tokens; /* all, those skipped too, which are not in the sum */
    int64_t windows;
};

struct trainer_state {
    int64_t step;             /* steps taken, those skipped among them */
    int64_t skipped;          /* of these */
    int64_t bad_in_a_row;     /* the last ones, but for overflows */
    uint64_t windows, tokens; /* given out by the data set; targets among them, and
                                 prompts */
    double hours;             /* of training */
    double rate, grad_norm;   /* of the last step; NaN: not known */
    struct loss_scale scale;
    double validation_loss, validation_accuracy; /* the last measured; NaN before */
    int64_t validation_step;
    double best_loss; /* infinite before the first */
    int64_t best_step;
    int64_t validations_since_best;
    int64_t due; /* an evaluation, a line, a sample that the program was left before */
    struct spike_guard spike_guard;
    int64_t optimizer_steps; /* as of the checkpoint */
    struct run_tally tally;
};

/* What is due after a step. */
enum {
    DUE_EVAL = 1,
    DUE_LINE = 2,
    DUE_TENSORS = 4,
    DUE_SAMPLE = 8,
    DUE_SAVE = 16,
    DUE_ACTIVATIONS = 32,
    DUE_LATER = DUE_EVAL | DUE_LINE | DUE_SAMPLE /* what a checkpoint can bring back */
};

/* Before the first step. */
void trainer_state_init(struct trainer_state *s, double loss_scaling);
/* What validation measured so far counts no more: its data is other data now. */
void trainer_state_forget_validation(struct trainer_state *s);
/* Add every number of it to the object o; ERR_NOMEM. */
int trainer_state_write(json_t *o, const struct trainer_state *s);
/*
 * Those that o has; what it has not stays. ERR_FORMAT where one is out of its range, they are not
 * of `step`, or count more than there can have been by then.
 */
int trainer_state_read(struct trainer_state *s, const json_t *o, int64_t step);

#endif
