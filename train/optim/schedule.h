#ifndef PRATTLE_TRAIN_OPTIM_SCHEDULE_H
#define PRATTLE_TRAIN_OPTIM_SCHEDULE_H
/*
 * The learning rate of each step: linear warm-up over W steps, then the peak rate up to step S,
 * then decay up to step D. With peak = learning_rate and min = min_learning_rate:
 *
 *   steps 0 .. W - 1        warmup_init + (peak - warmup_init) step / W
 *   steps W .. S - 1        peak
 *   steps S .. D - 1, with t = (step - S) / (D - S):
 *     constant              peak
 *     linear                peak + (min - peak) t
 *     cosine                min + (peak - min) (1 + cos(pi t)) / 2
 *   steps from D on         min; constant: peak
 *
 *   cosine_ramp, all steps, with s = step + 1 and both fractions at most 1:
 *                           (min + (peak - min) (1 + cos(pi s / D)) / 2) r(s / W),
 *                           r(x) = (warmup_init / peak) (1 - x) + x
 *
 * With cycles above 1 all of this, the warm-up too, runs so many times, each time over an equal
 * part of the run (Loshchilov and Hutter 2017; transformers' get_cosine_with_hard_restarts_schedule
 * has one warm-up); fractions and D are those of a part, and the last part has the steps that
 * remain.
 *
 * S is W unless decay_start is set. The first three are the schedules of fairseq (cosine),
 * transformers (get_*_schedule_with_warmup) and nanoGPT; with S > W, transformers'
 * get_wsd_schedule (warm-up, stable, decay: Hu et al. 2024). cosine_ramp is Languini's, which
 * decays during the warm-up already and does not use S.
 */
#include <stdint.h>

enum schedule_kind { SCHEDULE_CONSTANT, SCHEDULE_LINEAR, SCHEDULE_COSINE, SCHEDULE_COSINE_RAMP };

struct schedule_config {
    int kind;                 /* enum schedule_kind */
    double learning_rate;     /* the peak */
    double min_learning_rate; /* the final rate, except for constant */
    double warmup;            /* W in steps; below 1: as a fraction of the run */
    double warmup_init;       /* the rate at step 0 */
    double decay_start;       /* S in steps; below 1: as a fraction of the run; 0: W */
    int64_t decay_steps;      /* D, counted from step 0; 0: the length of the run */
    int cycles;               /* 0 as 1 */
};
/* Cosine from 3e-4 to 3e-5 over the whole run, warm-up from 0 over 2 % of it. */
void schedule_config_init(struct schedule_config *c);
/* W in a run of n_steps, or in its first part. */
int64_t schedule_warmup(const struct schedule_config *c, int64_t n_steps);
/* The step of it that decay_start says. */
int64_t schedule_decay_start(const struct schedule_config *c, int64_t n_steps);
/*
 * The learning rate of step 0, 1, ... in a run of n_steps; 0: the length is unknown. Then a warmup
 * given as a fraction is 0, a decay_start given as a fraction is W, and the rate decays only if
 * decay_steps is set.
 */
double schedule_rate(const struct schedule_config *c, int64_t step, int64_t n_steps);

#endif
