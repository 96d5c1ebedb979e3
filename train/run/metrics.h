#ifndef PRATTLE_TRAIN_RUN_METRICS_H
#define PRATTLE_TRAIN_RUN_METRICS_H
/*
 * What a run measures, a step at a time, and where it goes to: FOLDER/metrics.jsonl, one
 * JSON object a line, and TensorBoard event files beside it. A run that goes on from a
 * checkpoint drops the lines of the steps it takes again, and begins a new event file that
 * says so.
 */
#include "train/eval/eval.h"
#include "train/optim/optimizer.h"
#include "train/step/activation_stats.h"

#include <stdbool.h>
#include <stdint.h>

/* A source of a mixture. */
struct source_reads {
    const char *path;
    double times; /* all its windows were drawn, so far */
};

struct metrics {
    int64_t step, n_steps; /* steps taken; of the whole run, 0 when not known */
    double epoch;          /* data seen, in epochs */
    uint64_t tokens, samples;
    double hours;         /* of training, over all resumptions */
    double machine_hours; /* those of logging.tokens_per_second; 0: not asked for */
    /* Means since the last line. */
    double loss, accuracy;
    double learning_rate, grad_norm;    /* of the last step */
    double tokens_per_s, samples_per_s; /* since the last line */
    double share;  /* of the speed of matrix products here (speed_sgemm_estimate); 0: not
                      measured, a step being too small */
    double waited; /* share of the time that waited_rank waited for others; 0: none for long */
    int waited_rank;
    double step_s;     /* the clock's, a step since the last line; 0: not known */
    bool finished;     /* no step follows */
    double end_hours;  /* of training, at which the run is over whatever its steps; 0: none */
    int64_t skipped;   /* steps, so far */
    int64_t overflows; /* of these, what the loss scale was too great for */
    double loss_scale; /* of the next step; 1: none */
    /* Of the last evaluation; NaN before the first. */
    double validation_loss, validation_accuracy;
    int64_t validation_step;
    double best_loss; /* the least validation loss so far */
    int64_t best_step;
    const struct eval_result
        *evaluation;                    /* the one the configuration names, of this step; or NULL */
    const struct source_reads *sources; /* [n_sources]; NULL: no mixture. Borrowed */
    int n_sources;
};

/* Seconds until the run's end with `steps` taken, which may have a part; negative: not known. */
double metrics_left_s(const struct metrics *m, double steps);
/* How much of the run they are, 0 to 1; negative: it has no end that is known. */
double metrics_done(const struct metrics *m, double steps);

struct metrics_log;

/*
 * The logs of a run's folder for what comes after step `from`, -1: for all; each line of
 * metrics.jsonl has the run's label. Until metrics_start nothing there has changed: then the lines
 * of later steps go, and an event file begins where one is asked for. A run that goes on in another
 * folder than `old` has its lines up to there from that, under its own label; NULL: it began here.
 */
int metrics_open(struct metrics_log **out, const char *folder, const char *old, int64_t from,
                 const char *label);
int metrics_start(struct metrics_log *l, bool tensorboard);
void metrics_close(struct metrics_log *l);
int metrics_line(struct metrics_log *l, const struct metrics *m);
/* That no step follows, and how many there were to be, where the last line did not say so. */
int metrics_finished(struct metrics_log *l, const struct metrics *m);
/* The figures of the last whole line of a run's folder, also while it is being written to, and the
 * run's label in fresh memory. ERR_MISSING: there is no such line. */
int metrics_read_last(struct metrics *m, char **label, const char *folder);
/* The sources of that line, in fresh memory, one block for mem_free; *n 0: it has none. */
int metrics_read_sources(struct source_reads **out, int *n, const char *folder);
/* Of each tensor of the table the norm of its gradient, and of the last update as a part of
 * the weights. */
int metrics_tensors(struct metrics_log *l, const struct metrics *m, const struct params *table,
                    const struct tensor_change *changes);
/* Of each layer what its activations are like. */
int metrics_activations(struct metrics_log *l, const struct metrics *m,
                        const struct activation_stats *w);
int metrics_sample(struct metrics_log *l, const struct metrics *m, const struct buf *text);

#endif
