#ifndef PRATTLE_TRAIN_RUN_RUN_INSIDE_H
#define PRATTLE_TRAIN_RUN_RUN_INSIDE_H
/*
 * What run.h keeps to itself, for run*.c.
 */
#include "train/data/batches.h"
#include "train/eval/eval.h"
#include "train/optim/spike_guard.h"
#include "train/optim/loss_scale.h"
#include "train/step/weights.h"
#include "train/optim/optimizer.h"
#include "train/run/run.h"
#include "train/config/run_config.h"

/* Where a run is after a whole step: with weights, moments and configuration, all that
 * its future depends on, and what people want to know of its past. */
struct run_place {
    int64_t step;             /* steps taken, those skipped among them */
    int64_t skipped;          /* of these */
    int64_t bad_in_a_row;     /* the last ones, but for overflows */
    uint64_t windows, tokens; /* given out by the data set; targets among them */
    double hours;             /* of training */
    struct loss_scale scale;
    double validation_loss, validation_accuracy; /* the last measured; NaN before */
    int64_t validation_step;
    double best_loss; /* infinite before the first */
    int64_t best_step;
    int64_t due; /* an evaluation, a line, a sample that the program was left before */
    struct guard guard;
};

/* What is due after a step, in this order. */
enum {
    DUE_EVAL = 1,
    DUE_LINE = 2,
    DUE_TENSORS = 4,
    DUE_SAMPLE = 8,
    DUE_SAVE = 16,
    DUE_ACTIVATIONS = 32,
    DUE_LATER = DUE_EVAL | DUE_LINE | DUE_SAMPLE /* what a checkpoint can bring back */
};

/* Since the last line. */
struct run_tally {
    struct step_result sum;
    double hours;          /* at work */
    int64_t steps, tokens; /* all, those skipped too, which are not in the sum */
    int64_t windows;
};

/* What makes a step bad, so that it is left out. */
enum run_fault { FAULT_NONE, FAULT_NAN, FAULT_SPIKE, FAULT_WEIGHTS };

/* Why the run is to stop, once what was due at the step is done. */
struct run_stop {
    int64_t bad_steps;    /* in a row; 0: it goes on */
    enum run_fault fault; /* and loss, of the last */
    double loss;
};

struct run {
    struct run_config config; /* settled */
    struct run_events events;
    struct model *model; /* borrowed */
    struct run_folder folder;
    struct dataset train, validation; /* validation.n_tokens 0: none */
    struct batches *batches;
    struct masters masters;
    struct masters learning; /* borrowed: the masters, or the adapter beside them */
    struct adapter *adapter; /* that learns; NULL: the masters do */
    struct adapter *shown;   /* its copy beside the model, which owns it once it is there */
    unsigned char base[32];  /* SHA-256 of the masters that stand still */
    struct optimizer optimizer;
    struct step *step;
    struct watch watch; /* of the last step whose activations were looked at */
    bool watching;      /* that is the step in progress */
    int threads;        /* of the team that step was made for */
    struct metrics_log *log;
    struct metrics metrics;

    struct run_place place;
    int64_t n_steps; /* 0: hours alone end the run */
    enum run_state state;

    /* The step in progress: micro-batches done, what they add up to, and the one at work,
     * where that was interrupted (ids NULL: none); its first window's number in the run. */
    int micro;
    struct step_result sum;
    const token_id *ids, *labels;
    uint64_t sequence;
    double grad_norm, rate; /* of the last whole step */
    struct run_stop stop;
    struct run_tally tally;
    double sgemm_flops; /* of the machine; 0: not measured */
    unsigned due;
    int64_t saved_step;
    struct eval_result evaluation; /* the last of the one that the configuration names */
    int64_t evaluated_step;        /* -1: none yet */
    uint64_t published;            /* the model's version with the weights of step published_at */
    int64_t published_at;
};

static inline void run_add(struct step_result *sum, const struct step_result *one)
{
    sum->loss_sum += one->loss_sum;
    sum->n_targets += one->n_targets;
    sum->n_correct += one->n_correct;
}

/* run_check.c: ERR_EXISTS where another run's checkpoints are; what a model cannot be trained for.
 */
int run_refuse_old(const char *folder);
int run_check_model(const struct run_config *c, const struct model *m);
/* run_place.c: the place as JSON, for checkpoints. */
json_t *run_place_write(const struct run *r);
int run_place_read(struct run *r, const json_t *state);
/* run_measure.c: what a line says. */
void run_fill_metrics(struct run *r);
/* run_eval.c: whether there is anything to measure on; measure, ERR_INTERRUPTED between passes. */
bool run_has_eval(const struct run *r);
int run_eval(struct run *r);
/* run_open.c: give the model the weights as they are; a step for the team as it is now,
 * at the beginning of the step in progress if that has changed. */
void run_publish(struct run *r);
int run_fit_team(struct run *r);
/* The step in progress begins once more. */
void run_begin_step_anew(struct run *r);
/* run_adapter.c: for a run that has one, after masters and before the optimizer; from a
 * checkpoint; as weights are published, saved, closed. */
int run_adapter_open(struct run *r);
int run_adapter_begin(struct run *r); /* of a new run: as lora.adapter says */
/* The one of lora.adapter, for the caller to free, where it goes with the settings; NULL: none. */
int run_adapter_first(struct adapter **out, const struct run_config *c, const struct config *shape);
int run_adapter_restore(struct run *r, const struct checkpoint *cp);
void run_adapter_publish(struct run *r);
void run_adapter_saved(struct run *r);
void run_adapter_close(struct run *r);
/* run_change.c: ERR_MISMATCH names a setting that is not as it was and has to be. */
int run_check_change(const struct run_config *was, const struct run_config *is);
/* A loss_scaling that is not as it was is that of the next step. */
void run_change_scale(struct run *r, const struct run_config *was);

#endif
