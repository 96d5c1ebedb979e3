#include "train/run/evaluate.h"

#include "model/base/err.h"
#include "model/base/profile.h"
#include "train/eval/evals.h"
#include "train/run/inside.h"
#include "train/run/publish.h"

#include <math.h>

bool run_has_eval(const struct run *r)
{
    return r->validation.n_tokens > 0 || *r->config.logging.eval != '\0';
}

/* Whole windows of training's length, each target once. */
static int measure_validation(struct run *r, struct engine *e, const struct progress *p)
{
    struct eval_result result = {.name = "text", .unit = "windows"};
    struct evaluation ev = {
        .engine = e, .path = r->validation.name, .result = &result, .progress = p};
    eval_config_init(&ev.config);
    ev.config.seq_length = ev.config.last_n = r->config.training.sequence_length;
    ev.config.limit = r->config.logging.eval_windows;
    int rc = eval_dataset(&ev, &r->validation);
    if (rc == 0 && !result.partial) {
        struct trainer_state *state = &r->state;
        /* Once more where what is measured besides was interrupted. */
        const bool again = state->validation_step == state->step && !isnan(state->validation_loss);
        state->validation_loss = eval_figure_find(&result, "loss")->value;
        state->validation_accuracy = eval_figure_find(&result, "top_1")->value / 100;
        state->validation_step = state->step;
        if (state->validation_loss < state->best_loss) {
            state->best_loss = state->validation_loss;
            state->best_step = state->step;
            state->validations_since_best = 0;
        } else if (!again) {
            state->validations_since_best++;
        }
    } else if (rc == 0) {
        rc = err_set(ERR_INTERRUPTED, "paused");
    }
    eval_result_release(&result);
    return rc;
}

static int measure_named(struct run *r, struct engine *e, const struct progress *p)
{
    const struct logging_section *l = &r->config.logging;
    struct eval_config c;
    struct eval_result result;
    eval_config_init(&c);
    c.limit = l->eval_windows;
    c.special = r->config.data.special;
    c.lines = r->config.data.lines;
    c.data_dir = r->config.data_dir;
    int rc = eval_run(eval_find(l->eval), e, NULL, &c, *l->eval_file == '\0' ? NULL : l->eval_file,
                      &result, p);
    if (rc != 0)
        return rc;
    if (result.partial) {
        eval_result_release(&result);
        return err_set(ERR_INTERRUPTED, "paused");
    }
    eval_result_release(&r->evaluation);
    r->evaluation = result;
    r->evaluated_step = r->state.step;
    return 0;
}

int run_eval(struct run *r)
{
    /* How long it takes is no news each time. */
    const struct progress *rise = r->events.progress;
    const struct progress p = {.step = rise == NULL ? NULL : rise->step,
                               .user = rise == NULL ? NULL : rise->user};
    struct engine e;
    const int side_by_side = FORWARD_MAX_ROWS / r->config.training.sequence_length + 1;
    int rc = run_publish(r);
    if (rc == 0)
        rc = engine_init(&e, r->model, side_by_side < 16 ? side_by_side : 16);
    if (rc != 0)
        return rc;
    if (r->validation.n_tokens > 0) {
        profile_begin(SPAN_EVALUATION, r->state.step);
        rc = measure_validation(r, &e, &p);
        profile_end();
    }
    if (rc == 0 && *r->config.logging.eval != '\0')
        rc = measure_named(r, &e, &p);
    engine_release(&e);
    return rc;
}
