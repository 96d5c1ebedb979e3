#include "train/optim/schedule.h"

#include "train/data/fraction.h"

#include <math.h>

void schedule_config_init(struct schedule_config *c)
{
    *c = (struct schedule_config){.kind = SCHEDULE_COSINE,
                                  .learning_rate = 3e-4,
                                  .min_learning_rate = 3e-5,
                                  .warmup = 0.02,
                                  .cycles = 1};
}

/* A number of steps that, below 1, is a fraction of the run. */
static int64_t steps_of(double said, int64_t n_steps)
{
    return said < 1 ? fraction_of(said, n_steps) : (int64_t)said;
}

static int count_cycles(const struct schedule_config *c)
{
    return c->cycles > 1 ? c->cycles : 1;
}

int64_t schedule_warmup(const struct schedule_config *c, int64_t n_steps)
{
    return steps_of(c->warmup, n_steps / count_cycles(c));
}

/* Linear interpolation, part in 0 .. 1. */
static double rate_between(double from, double to, double part)
{
    return from + (to - from) * part;
}

static double cosine_part(const struct schedule_config *c, double part)
{
    return rate_between(c->min_learning_rate, c->learning_rate, (1 + cos(M_PI * part)) / 2);
}

static double cycle_rate(const struct schedule_config *c, int64_t step, int64_t n_steps)
{
    const int64_t warmup = steps_of(c->warmup, n_steps);
    const int64_t end = c->decay_steps > 0 ? c->decay_steps : n_steps;
    if (c->kind == SCHEDULE_COSINE_RAMP) {
        double part = end > 0 ? fmin((double)(step + 1) / (double)end, 1) : 0;
        double ramp = warmup > 0 ? fmin((double)(step + 1) / (double)warmup, 1) : 1;
        double from = c->learning_rate > 0 ? c->warmup_init / c->learning_rate : 1;
        return cosine_part(c, part) * rate_between(from, 1, ramp);
    }
    if (step < warmup)
        return rate_between(c->warmup_init, c->learning_rate, (double)step / (double)warmup);
    int64_t start = steps_of(c->decay_start, n_steps);
    start = start > warmup ? start : warmup;
    if (c->kind == SCHEDULE_CONSTANT || end == 0)
        return c->learning_rate;
    if (step >= end)
        return c->min_learning_rate;
    if (step < start)
        return c->learning_rate;
    double part = (double)(step - start) / (double)(end - start);
    return c->kind == SCHEDULE_LINEAR ? rate_between(c->learning_rate, c->min_learning_rate, part)
                                      : cosine_part(c, part);
}

int64_t schedule_decay_start(const struct schedule_config *c, int64_t n_steps)
{
    return steps_of(c->decay_start, n_steps / count_cycles(c));
}

double schedule_rate(const struct schedule_config *c, int64_t step, int64_t n_steps)
{
    const int64_t last = count_cycles(c) - 1, each = n_steps / (last + 1);
    if (each == 0)
        return cycle_rate(c, step, n_steps);
    const int64_t cycle = step / each < last ? step / each : last, begins = cycle * each;
    return cycle_rate(c, step - begins, cycle == last ? n_steps - begins : each);
}
