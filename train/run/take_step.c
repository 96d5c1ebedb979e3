/*
 * A step is `micro` micro-batches done and, where ids are not NULL, one that was interrupted and
 * goes on. Until finish_step r->state is that of the last whole step: to begin anew, the data set
 * goes back to its window.
 */
#include "train/run/take_step.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file_show.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/base/progress.h"
#include "train/parallel/world.h"
#include "train/run/inside.h"
#include "train/run/pipeline_step.h"
#include "train/run/publish.h"
#include "train/run/ranks.h"
#include "train/run/scatter.h"
#include "train/run/spread.h"
#include "train/run/tensor_step.h"
#include "train/step/phased.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- from its beginning ---- */

void run_begin_step_anew(struct run *r)
{
    r->micro = 0;
    r->ids = NULL;
    batches_seek(r->batches, r->state.windows + run_ranks_offset(r));
}

int run_fit_team(struct run *r)
{
    struct step_config s;
    if (r->step != NULL && r->threads == par_threads())
        return 0;
    if (r->phased_step == NULL)
        step_free(r->step);
    phased_free(r->phased_step);
    r->phased_step = NULL;
    r->step = NULL;
    run_publish_forget(r);
    run_begin_step_anew(r);
    run_config_step(&r->config, &r->model->config, &s);
    run_shares_blocks(r, &s.first_block, &s.last_block);
    s.taken = r->scatter != NULL;
    r->threads = par_threads();
    if (r->pipeline != NULL) {
        s.stage = r->weights.stage;
        memcpy(s.slots, run_pipeline_slots(r), sizeof s.slots);
    }
    run_tensor_fit(r, &s);
    if (!r->phased.streams) {
        int rc = step_new(&r->step, run_tensor_weights(r), &s);
        if (rc == 0) {
            run_scatter_fit_step(r);
            run_spread_fit_step(r);
        }
        return rc;
    }
    struct phased_place place = r->phased.place;
    place.folder = r->folder.path;
    int rc = phased_new(&r->phased_step, &r->weights, &s, &place);
    if (rc == 0)
        r->step = phased_step(r->phased_step);
    return rc;
}

int run_refit_step(struct run *r)
{
    run_spread_finish(r);
    int rc = run_shares_take_division(r);
    run_ranks_take_division(r);
    step_free(r->step);
    r->step = NULL;
    if (rc == 0)
        rc = run_fit_team(r);
    return world_agree(rc);
}

/* What the schedule counts to: where hours alone end the run, as many steps as they will
 * be at the speed so far. */
static int64_t expected_steps(const struct run *r)
{
    double hours = r->config.training.budget_hours;
    if (r->n_steps > 0 || r->state.hours <= 0)
        return r->n_steps > 0 ? r->n_steps : 1;
    /* The hours are of this step too. */
    return (int64_t)((double)(r->state.step + 1) * fmax(1, hours / r->state.hours));
}

/* ---- micro-batches ---- */

/* Activations are looked at during the steps after which they are logged. */
static int collect_activation_stats_if_due(struct run *r)
{
    const struct training_section *t = &r->config.training;
    const int every = r->config.logging.log_activations_every;
    bool due = every > 0 && (r->state.step + 1) % every == 0;
    int rc = 0;
    if (due && r->activation_stats.rows == NULL)
        rc = activation_stats_init(&r->activation_stats, &r->model->config,
                                   t->micro_batch_size * t->sequence_length);
    if (rc == 0 && due)
        activation_stats_reset(&r->activation_stats);
    r->collects_activation_stats = rc == 0 && due;
    step_collect(r->step, r->collects_activation_stats ? &r->activation_stats : NULL);
    return rc;
}

/* What the step adds up to, from nothing, unless it goes on. Before anything can stop the step: all
 * ranks have begun those that they give up together (scatter.h). */
static int begin_work(struct run *r)
{
    if (r->micro > 0 || r->ids != NULL)
        return 0;
    r->sum = (struct step_result){0};
    run_publish_forget(r);
    if (r->phased_step != NULL)
        phased_zero(r->phased_step);
    else
        step_zero(r->step);
    run_scatter_begin(r);
    run_pipeline_begin(r);
    return collect_activation_stats_if_due(r);
}

/* The next batch, or the one at which the run was interrupted. */
static int take_batch(struct run *r)
{
    if (r->ids != NULL)
        return 0;
    run_scatter_seek(r, r->micro);
    r->sequence = batches_given(r->batches);
    profile_begin(SPAN_BATCH, -1);
    profile_set(PART_LOADER);
    int rc = batches_next(r->batches, &r->ids, &r->labels);
    profile_end();
    return rc;
}

static void spend_time(struct run *r, double begun)
{
    double hours = (clock_s() - begun) / 3600;
    r->state.tally.hours += hours;
    r->state.hours += hours;
}

/*
 * What the sum of losses is multiplied by: the loss scale, over as many targets as a step has
 * where all labels count. The gradients are then those of a mean, however large the step.
 */
static double loss_factor(const struct run *r)
{
    const struct training_section *t = &r->config.training;
    return r->state.scale.scale / ((double)t->global_batch_size * t->sequence_length);
}

static void add_result(struct step_result *sum, const struct step_result *one)
{
    sum->loss_sum += one->loss_sum;
    sum->n_targets += one->n_targets;
    sum->n_correct += one->n_correct;
}

/* *stopped: the step does not go on, which others have said. */
static int take_micro_batch(struct run *r, bool *stopped)
{
    const struct training_section *t = &r->config.training;
    double begun = clock_s();
    int rc = interrupt_pending() ? err_set(ERR_INTERRUPTED, "paused") : take_batch(r);
    *stopped = run_ranks_stopped(r);
    if (rc == 0 && !*stopped)
        rc = run_scatter_await(r, stopped);
    *stopped = !run_ranks_ready(r, rc, *stopped, NULL, NULL);
    if (rc == 0 && !*stopped)
        rc = step_run(r->step, &r->sum, r->ids, r->labels, t->micro_batch_size, t->sequence_length,
                      (float)loss_factor(r), r->sequence, true);
    spend_time(r, begun);
    if (rc != 0 || *stopped)
        return rc;
    r->ids = NULL;
    r->micro++;
    if (r->micro % (t->gradient_accumulation / t->gradient_blocks) == 0) {
        step_end_block(r->step, &r->sum);
        run_scatter_end_block(r);
    }
    return 0;
}

static void tick_phased(void *user, double done)
{
    const struct run *r = user;
    if (r->events.tick != NULL)
        r->events.tick(r->events.user, &r->metrics, r->state.step, done);
}

/* All micro-batches at once, where they go through a layer one after another. */
static int take_phased(struct run *r)
{
    const struct phased_tick tick = {tick_phased, r};
    const double begun = clock_s();
    int rc = begin_work(r);
    while (rc == 0 && r->micro < run_ranks_micro(r))
        if ((rc = take_batch(r)) == 0) {
            phased_add(r->phased_step, r->ids, r->labels, r->sequence);
            r->ids = NULL;
            r->micro++;
        }
    if (rc == 0)
        rc = phased_run(r->phased_step, &r->sum, (float)loss_factor(r), &tick);
    spend_time(r, begun);
    return rc;
}

/* Tokens of the step: those of prompts have no targets, but are read all the same. */
static int64_t step_tokens(const struct run *r)
{
    const struct training_section *t = &r->config.training;
    return r->train.n_prompt == 0 ? r->sum.n_targets
                                  : (int64_t)t->global_batch_size * t->sequence_length;
}

/* For the next line. A skipped step's loss is no part of the mean. */
static void tally_step(struct run *r, bool good)
{
    struct run_tally *t = &r->state.tally;
    if (good)
        add_result(&t->sum, &r->sum);
    t->steps++;
    t->tokens += step_tokens(r);
    t->windows += r->config.training.global_batch_size;
}

/* Whether the loss scale is to blame for NaN or infinite gradients. */
static bool blames_scale(struct run *r, double loss)
{
    return r->config.training.auto_loss_scaling == 1 && isfinite(loss) &&
           !isfinite(r->state.grad_norm) && loss_scale_overflow(&r->state.scale);
}

static enum run_fault find_fault(const struct run *r, double loss)
{
    if (!isfinite(loss) || !isfinite(r->state.grad_norm))
        return FAULT_NAN;
    return spike_guard_detects(&r->state.spike_guard, loss, r->state.grad_norm,
                               r->config.training.spike_z)
               ? FAULT_SPIKE
               : FAULT_NONE;
}

static enum run_fault take_gradients(struct run *r, double loss, float scale)
{
    const struct training_section *t = &r->config.training;
    merge_limit_clear(&r->merge_limit);
    if (!optimizer_step(r->optimizer, weights_block(&r->trainable), run_scatter_gradients(r), scale,
                        r->state.grad_norm, (float)r->state.rate))
        return FAULT_WEIGHTS;
    run_shares_spread_weights(r);
    if (r->sum.n_targets > 0) /* a step of prompts alone is no measure of others */
        spike_guard_add(&r->state.spike_guard, loss, r->state.grad_norm);
    if (t->auto_loss_scaling == 1)
        loss_scale_advance(&r->state.scale, t->loss_scaling_growth);
    return FAULT_NONE;
}

/* The counter starts again when the run is resumed. */
static void count_bad_step(struct run *r, enum run_fault fault, bool bad, double loss)
{
    struct trainer_state *p = &r->state;
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
    struct trainer_state *p = &r->state;
    run_shares_add(r);
    double targets = r->sum.n_targets > 0 ? (double)r->sum.n_targets : 1;
    double loss = r->sum.loss_sum / targets;
    float scale = (float)(1 / (targets * loss_factor(r)));
    p->grad_norm = optimizer_norm(r->optimizer, run_scatter_gradients(r), scale);
    p->rate = schedule_rate(&r->config.schedule, p->step, expected_steps(r));
    enum run_fault fault = find_fault(r, loss);
    bool bad = fault != FAULT_NONE && !blames_scale(r, loss);
    if (fault == FAULT_NONE)
        bad = (fault = take_gradients(r, loss, scale)) != FAULT_NONE;
    count_bad_step(r, fault, bad, loss);
    p->step++;
    p->windows += (uint64_t)r->config.training.global_batch_size;
    p->tokens += (uint64_t)step_tokens(r);
    r->micro = 0;
    if (r->collects_activation_stats)
        run_shares_gather_stats(r);
    if (r->ranks != NULL) /* others have the windows between */
        batches_seek(r->batches, p->windows + run_ranks_offset(r));
    tally_step(r, fault == FAULT_NONE);
    spend_time(r, begun);
}

/* Behind "weights NaN or infinite": in what, and whose. */
static void weights_at_fault(char *out, size_t n, const struct run *r)
{
    char name[64];
    const char *merged = r->adapter == NULL ? NULL : merge_limit_refused(name, &r->merge_limit);
    const bool half = merged != NULL ? r->model->params.dtype != DTYPE_F32
                                     : isfinite(optimizer_limit(r->optimizer));
    snprintf(out, n, "%s%s%s", half ? " in fp16 (beyond 65504)" : "",
             merged != NULL ? " with the adapter merged into " : "", merged != NULL ? merged : "");
}

/* printf's NaN has a sign. */
static const char *number_text(char out[32], double x)
{
    snprintf(out, 32, isnan(x) ? "NaN" : isinf(x) ? "infinite" : "%g", x);
    return out;
}

/* Of weights whose activations inference cannot hold. */
static int refuse_lost(const struct run *r)
{
    char path[256],
        left[400] = "there is no checkpoint before them; a lower learning_rate may help";
    if (r->saved_step >= 0)
        snprintf(left, sizeof left,
                 "the checkpoint of step %" PRId64
                 " remains; a lower learning_rate may help: `:train resume %s learning_rate=...`",
                 r->saved_step, file_word(path, sizeof path, r->folder.path));
    return err_set(ERR_NOT_FINITE,
                   "stopped at step %" PRId64 ": in %s inference makes NaN or infinite logits of "
                   "the step's weights, which are not kept; %s",
                   r->state.step, model_precision(r->model), left);
}

int run_check_stop(struct run *r)
{
    if (r->lost)
        return refuse_lost(r);
    static const struct {
        const char *what, *advice;
    } words[] = {
        [FAULT_NAN] = {"had a NaN or infinite loss or gradient",
                       "a lower learning_rate may help: `:train resume learning_rate=...`"},
        [FAULT_SPIKE] = {"were spikes by spike_z", "`:train resume spike_z=0` takes such steps"},
        [FAULT_WEIGHTS] = {"would have made weights NaN or infinite",
                           "a lower learning_rate or weight_decay may help: `:train "
                           "resume learning_rate=...`"}};
    const struct run_stop s = r->stop;
    r->stop = (struct run_stop){0};
    if (s.bad_steps == 0)
        return 0;
    char where[160] = "";
    if (s.fault == FAULT_WEIGHTS)
        weights_at_fault(where, sizeof where, r);
    char loss[32], norm[32];
    return err_set(
        ERR_RANGE,
        "stopped at step %" PRId64 ": %" PRId64 " steps in a row %s%s; the last had a loss "
        "of %s and a gradient norm of %s, the weights are those before them; %s",
        r->state.step, s.bad_steps, words[s.fault].what, where, number_text(loss, s.loss),
        number_text(norm, r->state.grad_norm), words[s.fault].advice);
}

static int take_micro_batches(struct run *r)
{
    const int n = run_ranks_micro(r);
    const double begun = clock_s();
    bool stopped = false;
    int rc = begin_work(r);
    spend_time(r, begun);
    while (rc == 0 && r->micro < n && !stopped) {
        if (r->events.tick != NULL)
            r->events.tick(r->events.user, &r->metrics, r->state.step, (double)r->micro / n);
        rc = take_micro_batch(r, &stopped);
    }
    return rc;
}

static int run_stages(struct run *r)
{
    const double begun = clock_s();
    int rc = begin_work(r);
    if (rc == 0)
        rc = run_pipeline_go(r, (float)loss_factor(r));
    spend_time(r, begun);
    return rc;
}

int run_take_step(struct run *r)
{
    int rc = r->pipeline != NULL ? run_stages(r)
             : r->phased.streams ? take_phased(r)
                                 : take_micro_batches(r);
    if ((rc = run_ranks_meet(r, rc)) != 0) {
        run_pipeline_settle(r);
        run_scatter_abandon(r);
        if (r->ranks != NULL) /* each has stopped somewhere else */
            run_begin_step_anew(r);
        return rc;
    }
    profile_begin(SPAN_OPTIMIZER, -1);
    finish_step(r);
    profile_end();
    return optimizer_error(r->optimizer);
}
