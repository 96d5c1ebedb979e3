#include "train/run/trainer_state.h"

#include "model/base/err.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#define S(field) offsetof(struct trainer_state, field)
#define MANY 1e15 /* no run gets so far, and counting on from it overflows nothing */

/* Every number of the state, and where it is. What is not known (no number,
 * or -1) is left out, and is then what a new run has. */
static const struct row {
    const char *name;
    enum { WHOLE, REAL } type;
    size_t at;
    double least, most;
} rows[] = {
    {"step", WHOLE, S(step), 0, MANY},
    {"skipped", WHOLE, S(skipped), 0, MANY},
    {"bad_in_a_row", WHOLE, S(bad_in_a_row), 0, MANY},
    {"windows", WHOLE, S(windows), 0, MANY},
    {"tokens", WHOLE, S(tokens), 0, MANY},
    {"hours", REAL, S(hours), 0, MANY},
    {"learning_rate", REAL, S(rate), 0, DBL_MAX},
    {"grad_norm", REAL, S(grad_norm), 0, DBL_MAX},
    {"loss_scale", REAL, S(scale.scale), 1e-30, 1e9},
    {"loss_scale_steps", WHOLE, S(scale.steps), 0, MANY},
    {"overflows", WHOLE, S(scale.overflows), 0, MANY},
    {"validation_loss", REAL, S(validation_loss), 0, DBL_MAX},
    {"validation_accuracy", REAL, S(validation_accuracy), 0, 1},
    {"validation_step", WHOLE, S(validation_step), 0, MANY},
    {"best_loss", REAL, S(best_loss), 0, DBL_MAX},
    {"best_step", WHOLE, S(best_step), 0, MANY},
    {"validations_since_best", WHOLE, S(validations_since_best), 0, MANY},
    {"due", WHOLE, S(due), 0, DUE_LATER},
    {"guard_steps", WHOLE, S(spike_guard.n), 0, MANY},
    {"guard_loss_mean", REAL, S(spike_guard.mean[SPIKE_LOSS]), 0, DBL_MAX},
    {"guard_loss_variance", REAL, S(spike_guard.variance[SPIKE_LOSS]), 0, DBL_MAX},
    {"guard_norm_mean", REAL, S(spike_guard.mean[SPIKE_NORM]), 0, DBL_MAX},
    {"guard_norm_variance", REAL, S(spike_guard.variance[SPIKE_NORM]), 0, DBL_MAX},
    {"optimizer_steps", WHOLE, S(optimizer_steps), 0, MANY},
    /* Since the last line. */
    {"line_loss_sum", REAL, S(tally.sum.loss_sum), 0, DBL_MAX},
    {"line_targets", WHOLE, S(tally.sum.n_targets), 0, MANY},
    {"line_correct", WHOLE, S(tally.sum.n_correct), 0, MANY},
    {"line_tokens", WHOLE, S(tally.tokens), 0, MANY},
    {"line_steps", WHOLE, S(tally.steps), 0, MANY},
    {"line_windows", WHOLE, S(tally.windows), 0, MANY},
    {"line_hours", REAL, S(tally.hours), 0, MANY},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

void trainer_state_init(struct trainer_state *s, double loss_scaling)
{
    *s = (struct trainer_state){.scale.scale = loss_scaling, .rate = NAN, .grad_norm = NAN};
    trainer_state_forget_validation(s);
}

void trainer_state_forget_validation(struct trainer_state *s)
{
    s->validation_loss = s->validation_accuracy = NAN;
    s->best_loss = INFINITY;
    s->validation_step = 0;
    s->best_step = -1;
    s->validations_since_best = 0;
}

static json_t *row_value(const struct trainer_state *s, const struct row *row)
{
    const char *at = (const char *)s + row->at;
    if (row->type == WHOLE)
        return *(const int64_t *)at < 0 ? NULL : json_integer(*(const int64_t *)at);
    return json_real(*(const double *)at); /* NULL where it is not finite */
}

int trainer_state_write(json_t *o, const struct trainer_state *s)
{
    for (int i = 0; i < N_ROWS; i++) {
        json_t *v = row_value(s, &rows[i]);
        if (v != NULL && json_object_set_new(o, rows[i].name, v) != 0)
            return err_set(ERR_NOMEM, "no memory for the state of the run");
    }
    return 0;
}

static bool counts_too_much(const struct trainer_state *s)
{
    const struct run_tally *t = &s->tally;
    return s->best_step > s->step || s->validation_step > s->step ||
           s->validations_since_best > s->step + 1 || s->skipped > s->step ||
           s->bad_in_a_row > s->skipped || t->steps > s->step || (uint64_t)t->tokens > s->tokens ||
           (uint64_t)t->sum.n_targets > s->tokens || t->sum.n_correct > t->sum.n_targets;
}

int trainer_state_read(struct trainer_state *s, const json_t *o, int64_t step)
{
    int rc = 0;
    for (int i = 0; i < N_ROWS && rc == 0; i++) {
        const struct row *row = &rows[i];
        char *at = (char *)s + row->at;
        rc = row->type == WHOLE
                 ? json_take_int(o, row->name, (int64_t)row->least, (int64_t)row->most,
                                 (int64_t *)at)
                 : json_take_number(o, row->name, row->least, row->most, (double *)at);
    }
    if (rc == 0 && s->step != step)
        rc = err_set(ERR_FORMAT, "its state is of step %" PRId64, s->step);
    if (rc == 0 && counts_too_much(s))
        rc = err_set(ERR_FORMAT, "its state counts more than there was by step %" PRId64, s->step);
    return rc;
}
