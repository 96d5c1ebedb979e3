#ifndef PRATTLE_TRAIN_OPTIM_SCHEDULE_H
#define PRATTLE_TRAIN_OPTIM_SCHEDULE_H
/*
 * The learning rate of each step: a straight line from warmup_init to learning_rate
 * during the warm-up, W steps; learning_rate until step S, where the decay starts, which is
 * W if not said otherwise; then, with t = (step - S) / (D - S),
 *
 *   constant     learning_rate
 *   linear       learning_rate + (min_learning_rate - learning_rate) t
 *   cosine       min + (learning_rate - min) (1 + cos(pi t)) / 2, min = min_learning_rate
 *
 * and min_learning_rate (constant: learning_rate) from step D on. These are fairseq's
 * cosine, transformers' get_*_schedule_with_warmup and nanoGPT's; with a later S transformers'
 * get_wsd_schedule (warm-up, stable, decay: Hu et al., 2024). Languini's,
 *
 *   cosine_ramp  cosine with t = s / D, times the warm-up's line as a part of learning_rate,
 *                which reaches 1 at s = W; s = step + 1
 *
 * begins to fall during the warm-up, whatever S, and is that line times min_learning_rate
 * from D on.
 */
#include <stdint.h>

enum schedule_kind { SCHEDULE_CONSTANT, SCHEDULE_LINEAR, SCHEDULE_COSINE, SCHEDULE_COSINE_RAMP };

struct schedule_config {
    int kind;                 /* enum schedule_kind */
    double learning_rate;     /* the greatest */
    double min_learning_rate; /* where all but constant end */
    double warmup;            /* W: below 1, this part of all steps; else so many steps */
    double warmup_init;       /* where the warm-up begins */
    double decay_start;       /* S, said as W is; 0: W */
    int64_t decay_steps;      /* D, counted from the start of the run; 0: its last step */
};
/* Cosine from 3e-4 to 3e-5 over the run, warm-up 0.02 from 0. */
void schedule_config_init(struct schedule_config *c);
/* Steps of warm-up in a run of n_steps. */
int64_t schedule_warmup(const struct schedule_config *c, int64_t n_steps);
/*
 * Of step 0, 1, ... in a run of n_steps. With n_steps 0 (the end is not known) a warm-up
 * given as a part is none, a decay_start so given is W, and nothing decays unless decay_steps
 * says how long.
 */
double schedule_rate(const struct schedule_config *c, int64_t step, int64_t n_steps);

#endif
