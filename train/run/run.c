#include "train/run/run_inside.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* What the schedule counts to: where hours alone end the run, as many steps as they will
 * be at the speed so far. */
static int64_t expected_steps(const struct run *r)
{
    double hours = r->config.training.budget_hours;
    if (r->n_steps > 0 || r->place.hours <= 0)
        return r->n_steps > 0 ? r->n_steps : 1;
    /* The hours are of this step too. */
    return (int64_t)((double)(r->place.step + 1) * fmax(1, hours / r->place.hours));
}

/* ---- one step ---- */

static bool every(int64_t step, int n)
{
    return n > 0 && step % n == 0;
}

/* Activations are looked at during the steps after which they are logged. */
static int watch_step(struct run *r)
{
    const struct training_section *t = &r->config.training;
    bool due = every(r->place.step + 1, r->config.logging.log_activations_every);
    int rc = 0;
    if (due && r->watch.rows == NULL)
        rc = watch_init(&r->watch, &r->model->config, t->micro_batch_size * t->sequence_length);
    if (rc == 0 && due)
        watch_reset(&r->watch);
    r->watching = rc == 0 && due;
    step_watch(r->step, r->watching ? &r->watch : NULL);
    return rc;
}

/* The next batch, or the one at which the run was interrupted. */
static int take_batch(struct run *r)
{
    if (r->ids != NULL)
        return 0;
    r->sequence = batches_given(r->batches);
    int rc = batches_next(r->batches, &r->ids, &r->labels);
    if (rc == 0 && r->micro == 0) {
        r->sum = (struct step_result){0};
        step_zero(r->step);
        rc = watch_step(r);
    }
    return rc;
}

static void spend(struct run *r, double begun)
{
    double hours = (clock_s() - begun) / 3600;
    r->tally.hours += hours;
    r->place.hours += hours;
}

/*
 * What the sum of losses is multiplied by: the loss scale, over as many targets as a step has
 * where all labels count. The gradients are then those of a mean, however large the step.
 */
static double loss_factor(const struct run *r)
{
    const struct training_section *t = &r->config.training;
    return r->place.scale.scale / ((double)t->global_batch_size * t->sequence_length);
}

static int take_micro_batch(struct run *r)
{
    const struct training_section *t = &r->config.training;
    struct step_result one;
    double begun = clock_s();
    int rc = take_batch(r);
    if (rc == 0)
        rc = step_run(r->step, &one, r->ids, r->labels, t->micro_batch_size, t->sequence_length,
                      (float)loss_factor(r), r->sequence, true);
    spend(r, begun);
    if (rc != 0)
        return rc;
    run_add(&r->sum, &one);
    r->ids = NULL;
    r->micro++;
    return 0;
}

/* For the next line. A skipped step's loss is no part of the mean. */
static void tally(struct run *r, bool good)
{
    struct run_tally *t = &r->tally;
    if (good)
        run_add(&t->sum, &r->sum);
    t->steps++;
    t->tokens += r->sum.n_targets;
    t->windows += r->config.training.global_batch_size;
}

/* Whether the loss scale is to blame for gradients that are no numbers. */
static bool overflows(struct run *r, double loss)
{
    return r->config.training.auto_loss_scaling == 1 && isfinite(loss) && !isfinite(r->grad_norm) &&
           loss_scale_overflow(&r->place.scale);
}

static enum run_fault fault_of(const struct run *r, double loss)
{
    if (!isfinite(loss) || !isfinite(r->grad_norm))
        return FAULT_NAN;
    return guard_spike(&r->place.guard, loss, r->grad_norm, r->config.training.spike_z)
               ? FAULT_SPIKE
               : FAULT_NONE;
}

static enum run_fault take_gradients(struct run *r, double loss, float scale)
{
    const struct training_section *t = &r->config.training;
    if (!optimizer_step(&r->optimizer, &r->learning, step_gradients(r->step), scale, r->grad_norm,
                        (float)r->rate))
        return FAULT_WEIGHTS;
    guard_add(&r->place.guard, loss, r->grad_norm);
    if (t->auto_loss_scaling == 1)
        loss_scale_good(&r->place.scale, t->loss_scaling_growth);
    return FAULT_NONE;
}

/* Who goes on after a stop tries as many again. */
static void count_bad(struct run *r, enum run_fault fault, bool bad, double loss)
{
    struct run_place *p = &r->place;
    p->bad_in_a_row = fault == FAULT_NONE ? 0 : p->bad_in_a_row + bad;
    p->skipped += fault != FAULT_NONE;
    if (p->bad_in_a_row < r->config.training.max_bad_steps)
        return;
    r->stop = (struct run_stop){p->bad_in_a_row, fault, loss};
    p->bad_in_a_row = 0;
}

/* The gradients are whole: use them, or leave the step out. */
static void finish_step(struct run *r)
{
    double begun = clock_s();
    struct run_place *p = &r->place;
    double targets = r->sum.n_targets > 0 ? (double)r->sum.n_targets : 1;
    double loss = r->sum.loss_sum / targets;
    float scale = (float)(1 / (targets * loss_factor(r)));
    r->grad_norm = optimizer_norm(&r->optimizer, step_gradients(r->step), scale);
    r->rate = schedule_rate(&r->config.schedule, p->step, expected_steps(r));
    enum run_fault fault = fault_of(r, loss);
    bool bad = fault != FAULT_NONE && !overflows(r, loss);
    if (fault == FAULT_NONE)
        bad = (fault = take_gradients(r, loss, scale)) != FAULT_NONE;
    count_bad(r, fault, bad, loss);
    p->step++;
    p->windows = batches_given(r->batches);
    p->tokens += (uint64_t)r->sum.n_targets;
    r->micro = 0;
    tally(r, fault == FAULT_NONE);
    spend(r, begun);
}

/* Not before what was due at the step that it stops at. */
static int check_stop(struct run *r)
{
    static const struct {
        const char *what, *advice;
    } words[] = {
        [FAULT_NAN] = {"had a loss or gradient that is no number",
                       "a lower learning_rate may help: train resume learning_rate=..."},
        [FAULT_SPIKE] = {"were spikes by spike_z", "train resume spike_z=0 takes such steps"},
        [FAULT_WEIGHTS] = {"would have made weights NaN or infinite",
                           "a lower learning_rate or weight_decay may help: train resume "
                           "learning_rate=..."}};
    const struct run_stop s = r->stop;
    r->stop = (struct run_stop){0};
    if (s.bad_steps == 0)
        return 0;
    char what[96];
    snprintf(what, sizeof what, "%s%s", words[s.fault].what,
             s.fault == FAULT_WEIGHTS && isfinite(r->optimizer.limit) ? " in fp16 (beyond 65504)"
                                                                      : "");
    return err_set(ERR_RANGE,
                   "stopped at step %" PRId64 ": %" PRId64
                   " steps in a row %s; the last had a loss "
                   "of %g and a gradient norm of %g, the weights are those before them; %s",
                   r->place.step, s.bad_steps, what, s.loss, r->grad_norm, words[s.fault].advice);
}

static int take_step(struct run *r)
{
    const int n = r->config.training.gradient_accumulation;
    while (r->micro < n) {
        if (r->events.tick != NULL)
            r->events.tick(r->events.user, &r->metrics, r->place.step, (double)r->micro / n);
        int rc = interrupt_pending() ? err_set(ERR_INTERRUPTED, "paused") : take_micro_batch(r);
        if (rc != 0)
            return rc;
    }
    finish_step(r);
    return 0;
}

/* ---- what comes between steps ---- */

static bool is_over(const struct run *r)
{
    const double end_hours = run_config_end_hours(&r->config);
    return (r->n_steps > 0 && r->place.step >= r->n_steps) ||
           (end_hours > 0 && r->place.hours >= end_hours);
}

static unsigned due_now(const struct run *r)
{
    const struct logging_section *l = &r->config.logging;
    int64_t step = r->place.step;
    bool over = is_over(r), first = step == 1;
    unsigned due = 0;
    if (run_has_eval(r) && l->eval_every > 0 && (over || every(step, l->eval_every)))
        due |= DUE_EVAL;
    if (over || first || every(step, l->log_every) || (due & DUE_EVAL))
        due |= DUE_LINE;
    if (every(step, l->log_grads_every))
        due |= DUE_TENSORS;
    if (every(step, l->log_activations_every))
        due |= DUE_ACTIVATIONS;
    if (every(step, l->sample_every))
        due |= DUE_SAMPLE;
    if (every(step, r->config.checkpoint.save_every))
        due |= DUE_SAVE;
    return due;
}

static int do_eval(struct run *r)
{
    int rc = run_eval(r);
    if (rc == 0 && r->place.best_step == r->place.step && r->config.checkpoint.keep_best)
        r->due |= DUE_SAVE;
    return rc;
}

static int do_line(struct run *r)
{
    run_fill_metrics(r);
    int rc = metrics_line(r->log, &r->metrics);
    if (rc != 0) /* due still, with what it counts */
        return rc;
    r->tally = (struct run_tally){0};
    if (r->events.line != NULL)
        r->events.line(r->events.user, &r->metrics);
    return 0;
}

/* Which step it is, for what comes between lines. */
static struct metrics where(const struct run *r)
{
    return (struct metrics){.step = r->place.step, .tokens = r->place.tokens};
}

static int do_tensors(struct run *r)
{
    const struct metrics now = where(r);
    return metrics_tensors(r->log, &now, &r->learning.view, r->optimizer.changes);
}

static int do_activations(struct run *r)
{
    const struct metrics now = where(r);
    if (!r->watching) /* asked for after the step had begun */
        return 0;
    if (r->events.activations != NULL)
        r->events.activations(r->events.user, &now, &r->watch);
    return metrics_activations(r->log, &now, &r->watch);
}

static int do_sample(struct run *r)
{
    const struct metrics now = where(r);
    struct buf text = {0};
    int rc = 0;
    if (r->events.sample != NULL) {
        run_publish(r);
        if ((rc = r->events.sample(r->events.user, &text)) == 0 && text.n > 0)
            rc = metrics_sample(r->log, &now, &text);
    }
    buf_release(&text);
    return rc;
}

/* One that is interrupted is still due when the run goes on. */
static int do_due(struct run *r)
{
    static const struct {
        unsigned bit;
        int (*act)(struct run *r);
    } acts[] = {{DUE_EVAL, do_eval},       {DUE_LINE, do_line},
                {DUE_TENSORS, do_tensors}, {DUE_ACTIVATIONS, do_activations},
                {DUE_SAMPLE, do_sample},   {DUE_SAVE, run_save}};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (!(r->due & acts[i].bit))
            continue;
        int rc = acts[i].act(r);
        if (rc != 0)
            return rc;
        r->due &= ~acts[i].bit;
    }
    return 0;
}

/* ---- the run ---- */

int run_go(struct run *r)
{
    int rc = run_fit_team(r);
    r->state = RUN_GOING;
    while (rc == 0 && (rc = do_due(r)) == 0 && (rc = check_stop(r)) == 0 && !is_over(r))
        if ((rc = take_step(r)) == 0)
            r->due = due_now(r);
    /* The end has a checkpoint, also where it came by a change of steps. */
    if (rc == 0)
        rc = run_save(r);
    r->state = rc == 0 ? RUN_FINISHED : RUN_PAUSED;
    /* Publishing looks at files, which forgets why the run stopped. */
    char *why = rc == 0 ? NULL : mem_strdup(err_text());
    run_publish(r);
    if (why != NULL)
        err_set(rc, "%s", why);
    mem_free(why);
    return rc;
}
