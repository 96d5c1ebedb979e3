#include "train/run/run_inside.h"

#include "model/base/err.h"

#include <float.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define P(field) offsetof(struct run, place.field)
#define MANY 1e15 /* no run gets so far, and counting on from it overflows nothing */

/* Every number of the place, and where it is. What is not known (no number,
 * or -1) is left out, and is then what a new run has. */
static const struct row {
    const char *name;
    enum { WHOLE, REAL } type;
    size_t at;
    double least, most;
} rows[] = {
    {"step", WHOLE, P(step), 0, MANY},
    {"skipped", WHOLE, P(skipped), 0, MANY},
    {"bad_in_a_row", WHOLE, P(bad_in_a_row), 0, MANY},
    {"windows", WHOLE, P(windows), 0, MANY},
    {"tokens", WHOLE, P(tokens), 0, MANY},
    {"hours", REAL, P(hours), 0, MANY},
    {"loss_scale", REAL, P(scale.scale), 1e-30, 1e9},
    {"loss_scale_steps", WHOLE, P(scale.steps), 0, MANY},
    {"overflows", WHOLE, P(scale.overflows), 0, MANY},
    {"validation_loss", REAL, P(validation_loss), 0, DBL_MAX},
    {"validation_accuracy", REAL, P(validation_accuracy), 0, 1},
    {"validation_step", WHOLE, P(validation_step), 0, MANY},
    {"best_loss", REAL, P(best_loss), 0, DBL_MAX},
    {"best_step", WHOLE, P(best_step), 0, MANY},
    {"due", WHOLE, P(due), 0, DUE_LATER},
    {"guard_steps", WHOLE, P(guard.n), 0, MANY},
    {"guard_loss_mean", REAL, P(guard.mean[GUARD_LOSS]), 0, DBL_MAX},
    {"guard_loss_variance", REAL, P(guard.variance[GUARD_LOSS]), 0, DBL_MAX},
    {"guard_norm_mean", REAL, P(guard.mean[GUARD_NORM]), 0, DBL_MAX},
    {"guard_norm_variance", REAL, P(guard.variance[GUARD_NORM]), 0, DBL_MAX},
    {"optimizer_steps", WHOLE, offsetof(struct run, optimizer.steps), 0, MANY},
    /* Since the last line. */
    {"line_loss_sum", REAL, offsetof(struct run, tally.sum.loss_sum), 0, DBL_MAX},
    {"line_targets", WHOLE, offsetof(struct run, tally.sum.n_targets), 0, MANY},
    {"line_correct", WHOLE, offsetof(struct run, tally.sum.n_correct), 0, MANY},
    {"line_tokens", WHOLE, offsetof(struct run, tally.tokens), 0, MANY},
    {"line_steps", WHOLE, offsetof(struct run, tally.steps), 0, MANY},
    {"line_windows", WHOLE, offsetof(struct run, tally.windows), 0, MANY},
    {"line_hours", REAL, offsetof(struct run, tally.hours), 0, MANY},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

static json_t *value_of(const struct run *r, const struct row *row)
{
    const char *at = (const char *)r + row->at;
    if (row->type == WHOLE)
        return *(const int64_t *)at < 0 ? NULL : json_integer(*(const int64_t *)at);
    return json_real(*(const double *)at); /* NULL where it is not finite */
}

json_t *run_place_write(const struct run *r)
{
    struct buf config = {0};
    char identity[2 * sizeof r->train.identity + 1];
    json_t *o = NULL;
    text_hex(identity, r->train.identity, sizeof r->train.identity);
    if (run_config_write(&r->config, &config) != 0) {
        buf_release(&config);
        return NULL;
    }
    o = json_pack("{s:s,s:s}", "config", buf_text(&config), "data", identity);
    int rc = o == NULL ? -1 : 0;
    if (rc == 0 && r->adapter != NULL) {
        char base[2 * sizeof r->base + 1];
        text_hex(base, r->base, sizeof r->base);
        rc = json_object_set_new(o, "base", json_string(base));
    }
    for (int i = 0; i < N_ROWS && rc == 0; i++) {
        json_t *v = value_of(r, &rows[i]);
        rc = v == NULL ? 0 : json_object_set_new(o, rows[i].name, v);
    }
    buf_release(&config);
    if (rc == 0)
        return o;
    json_decref(o);
    err_set(ERR_NOMEM, "no memory for the state of the run");
    return NULL;
}

int run_place_read(struct run *r, const json_t *state)
{
    const char *identity = "", *base = "";
    char own[2 * sizeof r->train.identity + 1], own_base[2 * sizeof r->base + 1];
    int rc = json_take_text(state, "data", &identity);
    if (rc == 0)
        rc = json_take_text(state, "base", &base);
    for (int i = 0; i < N_ROWS && rc == 0; i++) {
        char *at = (char *)r + rows[i].at;
        rc = rows[i].type == WHOLE
                 ? json_take_int(state, rows[i].name, (int64_t)rows[i].least, (int64_t)rows[i].most,
                                 (int64_t *)at)
                 : json_take_number(state, rows[i].name, rows[i].least, rows[i].most, (double *)at);
    }
    text_hex(own, r->train.identity, sizeof r->train.identity);
    text_hex(own_base, r->base, sizeof r->base);
    if (rc == 0 && r->adapter != NULL && strcmp(own_base, base) != 0)
        rc = err_set(ERR_MISMATCH,
                     "the weights of %s are not those that its adapter has learned beside",
                     r->model->source);
    if (rc == 0 && strcmp(own, identity) != 0)
        rc = err_set(ERR_MISMATCH,
                     "the data has changed since the checkpoint: %s is not what the run was "
                     "trained on; begin a new run in another folder with checkpoint.folder",
                     r->config.data.data);
    return rc;
}
