/*
 * Between two steps a run owes what r->due says, in the order of do_due_tasks, and the bit of
 * each thing goes only when that is done: interrupted, it is done first when the run goes on.
 */
#include "train/run/run.h"

#include "model/base/err.h"
#include "model/base/file_show.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "model/base/progress.h"
#include "train/run/evaluate.h"
#include "train/run/inside.h"
#include "train/parallel/world.h"
#include "train/run/parts.h"
#include "train/run/publish.h"
#include "train/run/ranks.h"
#include "train/run/spread.h"
#include "train/run/take_step.h"

/* ---- what is due between steps ---- */

static bool is_multiple(int64_t step, int n)
{
    return n > 0 && step % n == 0;
}

static unsigned due_after_step(const struct run *r)
{
    const struct logging_section *l = &r->config.logging;
    int64_t step = r->state.step;
    bool over = run_end(r) != END_NONE, first = step == 1;
    unsigned due = 0;
    if (run_has_eval(r) && l->eval_every > 0 && (over || is_multiple(step, l->eval_every)))
        due |= DUE_EVAL;
    if (over || first || is_multiple(step, l->log_every) || (due & DUE_EVAL))
        due |= DUE_LINE;
    if (is_multiple(step, l->log_grads_every))
        due |= DUE_TENSORS;
    if (is_multiple(step, l->log_activations_every))
        due |= DUE_ACTIVATIONS;
    if (is_multiple(step, l->sample_every))
        due |= DUE_SAMPLE;
    if (is_multiple(step, r->config.checkpoint.save_every))
        due |= DUE_SAVE;
    return due;
}

static int do_eval(struct run *r)
{
    int rc = run_eval(r);
    const int64_t step = r->state.step;
    if (rc == 0 && step > 0 && r->state.best_step == step && r->config.checkpoint.keep_best)
        r->due |= DUE_SAVE;
    return rc;
}

static int do_line(struct run *r)
{
    run_fill_metrics(r);
    int rc = metrics_line(r->log, &r->metrics);
    if (rc != 0) /* due still, with what it counts */
        return rc;
    r->state.tally = (struct run_tally){0};
    if (r->events.line != NULL)
        r->events.line(r->events.user, &r->metrics);
    return 0;
}

/* Which step it is, for what comes between lines. */
static struct metrics metrics_of_step(const struct run *r)
{
    return (struct metrics){.step = r->state.step, .tokens = r->state.tokens};
}

static int do_tensors(struct run *r)
{
    const struct metrics now = metrics_of_step(r);
    return metrics_tensors(r->log, &now, &r->trainable.view, optimizer_changes(r->optimizer));
}

static int do_activations(struct run *r)
{
    const struct metrics now = metrics_of_step(r);
    if (!r->collects_activation_stats) /* asked for after the step had begun */
        return 0;
    if (r->events.activations != NULL)
        r->events.activations(r->events.user, &now, &r->activation_stats);
    return metrics_activations(r->log, &now, &r->activation_stats);
}

static int do_sample(struct run *r)
{
    const struct metrics now = metrics_of_step(r);
    struct buf text = {0};
    int rc = 0;
    if (r->events.sample != NULL && (rc = run_publish(r)) == 0) {
        if ((rc = r->events.sample(r->events.user, &text)) == 0 && text.n > 0)
            rc = metrics_sample(r->log, &now, &text);
    }
    buf_release(&text);
    return rc;
}

/* Of weights that inference cannot hold no use is made: what comes of the step's training is still
 * written, and then the run stops. */
static int lose_if_not_finite(struct run *r, int rc)
{
    if (rc != ERR_NOT_FINITE)
        return rc;
    run_withdraw(r);
    r->lost = true;
    return 0;
}

/* Once all steps are done, nothing is left that Ctrl-C could stop but this, which is done in any
 * case: one that came late would only make a pause of the end. While it is being done, it stops. */
static int do_save(struct run *r)
{
    if (run_end(r) != END_NONE)
        interrupt_clear();
    return run_save(r);
}

/* One that is interrupted is still due when the run goes on; first what no checkpoint brings back,
 * since it is of the step's gradients and activations. */
static int do_due_tasks(struct run *r)
{
    static const struct {
        unsigned bit;
        int (*act)(struct run *r);
    } acts[] = {{DUE_TENSORS, do_tensors}, {DUE_ACTIVATIONS, do_activations}, {DUE_EVAL, do_eval},
                {DUE_LINE, do_line},       {DUE_SAMPLE, do_sample},           {DUE_SAVE, do_save}};
    const unsigned of_weights = DUE_EVAL | DUE_SAMPLE | DUE_SAVE;
    if (r->due & (of_weights | DUE_TENSORS))
        run_spread_finish(r);
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        if (!(r->due & acts[i].bit) || (r->lost && (acts[i].bit & of_weights)))
            continue;
        int rc = lose_if_not_finite(r, acts[i].act(r));
        if (rc != 0)
            return rc;
        r->due &= ~acts[i].bit;
    }
    return 0;
}

/* ---- the run ---- */

/* However the run stopped, for rc, the model has its weights; or they are lost. */
static int publish_at_end(struct run *r, int rc)
{
    /* Publishing looks at files, which forgets why the run stopped. */
    struct err_kept why;
    err_keep(&why);
    int published = r->lost ? 0 : lose_if_not_finite(r, run_publish(r));
    if (published == 0 && r->lost)
        rc = run_check_stop(r);
    else if (published != 0 && (rc == 0 || rc == ERR_INTERRUPTED))
        rc = published;
    else if (rc != 0)
        err_restore(&why);
    return rc;
}

static int take_profiled_step(struct run *r)
{
    if (run_ranks_divide(r)) {
        const int failed = run_refit_step(r);
        if (failed != 0)
            return failed;
    }
    run_ranks_begin_step(r);
    profile_begin(SPAN_STEP, r->state.step + 1);
    int rc = run_take_step(r);
    profile_end();
    return rc;
}

/* As rank 0 says, which also says why a step did not go on. Where a new division failed it takes no
 * more steps, and still wants the parts of a checkpoint. */
static int follow_first(struct run *r)
{
    int rc = 0;
    for (enum run_order o; (o = run_ranks_follow(r)) != ORDER_END;)
        if (o == ORDER_DIVIDE)
            rc = run_refit_step(r);
        else if (o == ORDER_PARTS)
            run_parts_follow(r);
        else if (run_take_step(r) != 0)
            interrupt_clear();
    run_spread_finish(r);
    return rc;
}

/* What was in it is lost, and the run is not. */
static int restore_folder(struct run *r)
{
    char shown[256];
    bool gone;
    int rc = run_folder_restore(&r->folder, &gone);
    if (rc == ERR_IO || rc == ERR_MISSING) { /* as where a link leads nowhere: saving will fail */
        progress_note(r->events.progress, "%s", err_text());
        rc = 0;
    } else if (rc == 0 && gone) {
        r->saved_step = -1;
        progress_note(r->events.progress,
                      "the run's folder %s was deleted with what was in it, and is made again",
                      file_show(shown, sizeof shown, r->folder.path));
    }
    return rc;
}

/* A change of settings has made an end of a step whose line does not say so. */
static int log_end(struct run *r)
{
    struct metrics last;
    char *label = NULL;
    const int rc = metrics_read_last(&last, &label, r->folder.path);
    mem_free(label);
    if (rc != 0)
        err_clear();
    struct metrics now = metrics_of_step(r);
    now.n_steps = r->n_steps;
    return rc != 0 || last.finished || r->lost ? 0 : metrics_finished(r->log, &now);
}

int run_go(struct run *r)
{
    int rc = world_rank() == 0 ? restore_folder(r) : 0;
    if (rc == 0)
        rc = run_fit_team(r);
    if (world_rank() > 0)
        return rc == 0 ? follow_first(r) : rc;
    r->status = RUN_GOING;
    r->metrics.finished = run_end(r) != END_NONE;
    while (rc == 0 && (rc = do_due_tasks(r)) == 0 && (rc = run_check_stop(r)) == 0 &&
           run_end(r) == END_NONE)
        if ((rc = take_profiled_step(r)) == 0)
            r->due = due_after_step(r);
    run_spread_finish(r);
    /* The end has a checkpoint, also where it came by a change of steps. */
    if (rc == 0)
        rc = lose_if_not_finite(r, do_save(r));
    if (rc == 0)
        rc = log_end(r);
    rc = publish_at_end(r, rc);
    r->status = r->lost ? RUN_LOST : rc == 0 ? RUN_FINISHED : RUN_PAUSED;
    return rc;
}
