#include "train/run/change.h"

#include "model/base/err.h"
#include "model/base/file_show.h"
#include "train/run/check.h"
#include "train/run/inside.h"
#include "train/run/take_step.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { VALUE_BYTES = 128 };

/* Both values as text, and whether they are the same. */
static int compare_row(bool *same, const struct setting *row, const struct run_config *was,
                       const struct run_config *is, struct buf *a, struct buf *b)
{
    a->n = b->n = 0;
    int rc = setting_format(row, was, a);
    if (rc == 0)
        rc = setting_format(row, is, b);
    *same = rc == 0 && strcmp(buf_text(a), buf_text(b)) == 0;
    return rc;
}

/* A space at an end, or a new line, is seen. */
static const char *show_value(char out[VALUE_BYTES], const struct buf *value)
{
    const char *text = buf_text(value);
    if (value->n == 0)
        return "empty";
    if (*text != ' ' && text[value->n - 1] != ' ' && strchr(text, '\n') == NULL)
        return text;
    snprintf(out, VALUE_BYTES, "\"%s\"", file_quote(text));
    return out;
}

/* ERR_MISMATCH names the first row that differs and whose change waits for more than `from`. */
static int check_rows(const struct run_config *was, const struct run_config *is,
                      enum run_holds_from from, const char *advice)
{
    const struct setting *row;
    struct buf a = {0}, b = {0};
    char shown[2][VALUE_BYTES];
    int rc = 0;
    for (int i = 0; rc == 0 && (row = settings_table_at(&run_table, i)) != NULL; i++) {
        bool same;
        /* An adapter's base may lie elsewhere now; run_resume compares its weights. */
        const bool moves = row == RUN_ROW(model.init) && from == RUN_HOLDS_FROM_RESUME &&
                           was->lora.rank > 0 && is->lora.rank > 0;
        if (row->type == SETTING_SHORTHAND || row->holds_from >= (int)from || moves)
            continue;
        if ((rc = compare_row(&same, row, was, is, &a, &b)) == 0 && !same)
            rc = err_set(ERR_MISMATCH, "%s.%s was %s in this run and cannot become %s; %s",
                         row->group, row->name, show_value(shown[0], &a), show_value(shown[1], &b),
                         advice);
    }
    buf_release(&a);
    buf_release(&b);
    return rc;
}

/* Paths may change, as those of one stream. */
static int check_mixture(const struct data_config *was, const struct data_config *is)
{
    struct mixture a, b;
    int rc = mixture_parse(&a, was->data);
    if (rc != 0)
        return rc;
    if ((rc = mixture_parse(&b, is->data)) == 0 && !mixture_same_weights(&a, &b))
        rc = err_set(ERR_MISMATCH,
                     "data.data was %s in this run and cannot become %s: paths may change, but not "
                     "the order, weights or steps of the sources; begin another run with "
                     "folder=DIR",
                     file_quote(was->data), file_quote(is->data));
    mixture_release(&a);
    mixture_release(&b);
    return rc;
}

int run_check_change(const struct run_config *was, const struct run_config *is)
{
    int rc = check_mixture(&was->data, &is->data);
    return rc != 0
               ? rc
               : check_rows(was, is, RUN_HOLDS_FROM_RESUME, "begin another run with folder=DIR");
}

void run_change_scale(struct run *r, const struct run_config *was)
{
    if (r->config.training.loss_scaling != was->training.loss_scaling) {
        r->state.scale = (struct loss_scale){.scale = r->config.training.loss_scaling,
                                             .overflows = r->state.scale.overflows};
        run_begin_step_anew(r); /* its gradients so far have the old scale */
    }
}

/* How many windows validation measures of the data of now. */
static uint64_t count_windows(const struct run *r, const struct run_config *c)
{
    const uint64_t length = (uint64_t)c->training.sequence_length,
                   most = (uint64_t)c->logging.eval_windows,
                   all = (r->validation.n_tokens + length - 2) / length;
    return most == 0 || most > all ? all : most;
}

void run_change_validation(struct run *r, const struct run_config *was)
{
    if (r->validation.n_tokens == 0 || count_windows(r, was) == count_windows(r, &r->config))
        return;
    trainer_state_forget_validation(&r->state);
    r->metrics.validation_loss = r->state.validation_loss;
    r->metrics.validation_accuracy = r->state.validation_accuracy;
    r->metrics.validation_step = r->state.validation_step;
    r->metrics.best_loss = r->state.best_loss;
    r->metrics.best_step = r->state.best_step;
}

/* Phases have moved: what was counted by them is counted again. */
static int plan_batches(struct run *r, int64_t n_steps)
{
    r->drawn = (struct draw_cursor){0};
    return batches_plan(r->batches, n_steps, r->config.training.global_batch_size);
}

/* A run that is there already cannot end before. */
static int check_end(const struct run *r, int64_t n_steps)
{
    const int64_t step = r->state.step;
    if (n_steps == 0 || n_steps >= step)
        return 0;
    return err_set(ERR_RANGE,
                   "the run is at step %" PRId64 " already, past the %" PRId64
                   " asked for; steps=%" PRId64 " trains %" PRId64 " more",
                   step, n_steps, step + n_steps, n_steps);
}

int run_change_length(struct run *r, const struct run_config *was)
{
    const int64_t before = run_config_steps(was, batches_per_epoch(r->batches));
    if (before == r->n_steps)
        return plan_batches(r, r->n_steps);
    int rc = plan_batches(r, before);
    if (rc == 0)
        rc = plan_batches(r, r->n_steps);
    return rc == 0 ? check_end(r, r->n_steps) : rc;
}

int run_look_in(struct run *r, const char *data_dir)
{
    return run_config_look_in(&r->config, data_dir);
}

/* What is built into a run in memory. */
static int check_built(const struct run_config *was, const struct run_config *is)
{
    return check_rows(was, is, RUN_HOLDS_FROM_STEP,
                      "to change it, open the run again: `:train resume FOLDER`");
}

/* A checkpoint that is due, as after one that could not be written, is of the cadence before, or of
 * the lowest loss. It goes where there are to be none of its kind. */
static void change_saving(struct run *r, const struct run_config *was)
{
    const struct checkpoint_section *is = &r->config.checkpoint, *before = &was->checkpoint;
    const bool best = is->keep_best && r->state.best_step == r->state.step;
    if (is->save_every == 0 ? before->save_every > 0 || (before->keep_best && !is->keep_best)
                            : r->state.step % is->save_every != 0 && !best)
        r->due &= ~DUE_SAVE;
}

bool run_change_opens(const struct run *r, char *const *words, int n)
{
    struct run_config fresh;
    if (r->state.step == 0 || run_config_copy(&fresh, &r->config) != 0)
        return false;
    const bool opens = run_config_words(&fresh, words, n) == 0 &&
                       run_check_change(&r->config, &fresh) == 0 &&
                       check_built(&r->config, &fresh) == ERR_MISMATCH;
    run_config_release(&fresh);
    err_clear();
    return opens;
}

int run_change(struct run *r, char *const *words, int n)
{
    struct run_config fresh;
    int rc = run_config_copy(&fresh, &r->config);
    if (rc != 0)
        return rc;
    if ((rc = run_config_words(&fresh, words, n)) == 0 &&
        (rc = run_check_change(&r->config, &fresh)) == 0 &&
        (rc = check_built(&r->config, &fresh)) == 0)
        rc = run_config_resolve(&fresh, &r->model->config);
    if (rc == 0)
        rc = run_check_reports(&fresh);
    const int64_t n_steps = rc == 0 ? run_config_steps(&fresh, batches_per_epoch(r->batches)) : 0;
    if (rc == 0 && n_steps != r->n_steps)
        rc = check_end(r, n_steps);
    if (rc == 0)
        rc = plan_batches(r, n_steps);
    if (rc == 0) {
        struct run_config old = r->config;
        r->config = fresh;
        fresh = old;
        run_change_scale(r, &old);
        run_change_validation(r, &old);
        change_saving(r, &old);
        r->n_steps = n_steps;
        r->changed |= n > 0 && r->saved_step == r->state.step;
        optimizer_configure(r->optimizer, &r->config.optimizer);
        r->metrics.n_steps = r->n_steps;
        r->metrics.end_hours = run_config_end_hours(&r->config);
    }
    run_config_release(&fresh);
    return rc;
}
