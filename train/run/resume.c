#include "train/run/resume.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "train/run/adapter.h"
#include "train/run/change.h"
#include "train/run/check.h"
#include "train/run/inside.h"
#include "train/run/open.h"
#include "train/run/report.h"
#include "weights/tensors/source.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A run's folder may have been moved or copied since: it is where its checkpoint lies. */
static int place_here(struct run_config *c, const struct checkpoint *cp)
{
    const char *slash = strrchr(cp->path, '/');
    char *folder =
        slash == NULL ? mem_strdup(".") : mem_sprintf("%.*s", (int)(slash - cp->path), cp->path);
    int rc =
        folder == NULL ? ERR_NOMEM : run_config_set(c, RUN_CHECKPOINT, "checkpoint.folder", folder);
    mem_free(folder);
    return rc;
}

int run_stored_config(struct run_config *c, const struct checkpoint *cp)
{
    const char *text = NULL;
    char shown[256];
    int rc = json_take_text(cp->state, "config", &text);
    if (rc == 0 && text == NULL)
        rc = err_set(ERR_FORMAT, "it has no configuration");
    if (rc == 0 && (rc = run_config_init(c)) == 0 &&
        ((rc = run_config_read(c, RUN_CHECKPOINT, "its configuration", text, strlen(text))) != 0 ||
         (rc = place_here(c, cp)) != 0))
        run_config_release(c);
    if (rc != 0)
        rc = err_wrap("checkpoint %s", file_show(shown, sizeof shown, cp->path));
    return rc;
}

static int check_identities(const struct run *r, const json_t *state)
{
    const char *data = "", *base = "";
    char own_data[2 * sizeof r->train.identity + 1], own_base[2 * sizeof r->base + 1];
    int rc = json_take_text(state, "data", &data);
    if (rc == 0)
        rc = json_take_text(state, "base", &base);
    text_hex(own_data, r->train.identity, sizeof r->train.identity);
    text_hex(own_base, r->base, sizeof r->base);
    if (rc == 0 && r->adapter != NULL && strcmp(own_base, base) != 0)
        rc = err_set(ERR_MISMATCH,
                     "the weights of %s are not those that its adapter has learned beside",
                     r->model->source);
    if (rc == 0 && strcmp(own_data, data) != 0)
        rc = err_set(ERR_MISMATCH,
                     "the data has changed since the checkpoint: %s is not what the run was "
                     "trained on; begin a new run in another folder with checkpoint.folder",
                     r->config.data.data);
    return rc;
}

static int restore_run(struct run *r, const struct checkpoint *cp)
{
    struct optimizer_block blocks[OPTIMIZER_MAX_BLOCKS];
    int n_blocks = optimizer_blocks(&r->optimizer, blocks), rc = check_identities(r, cp->state);
    if (rc == 0)
        rc = trainer_state_read(&r->state, cp->state, cp->step);
    for (int i = 0; i < n_blocks && rc == 0; i++)
        rc = checkpoint_read(cp, &blocks[i]);
    if (rc == 0)
        rc = run_adapter_restore(r, cp);
    if (rc != 0)
        return rc;
    r->optimizer.steps = r->state.optimizer_steps;
    r->due = (unsigned)r->state.due & DUE_LATER;
    r->rate = r->grad_norm = NAN; /* of a step taken then */
    batches_seek(r->batches, r->state.windows);
    return 0;
}

/* In the folder of its checkpoint a run takes the place of what came after that; in another, which
 * has no run, nothing is saved yet. Lines go last: no checkpoint that counts is without its own. */
static int settle_in(struct run *r, const struct checkpoint *cp, bool same_folder)
{
    const struct run_config *c = &r->config;
    int n_aside = 0;
    int rc =
        metrics_open(&r->log, c->checkpoint.folder, same_folder ? cp->step : 0, c->logging.label);
    if (rc == 0 && same_folder && (rc = run_folder_set_aside(&r->folder, cp->step, &n_aside)) == 0)
        r->saved_step = cp->step;
    if (n_aside > 0)
        progress_note(r->events.progress,
                      "checkpoints newer than step %" PRId64 " are set aside: %d", cp->step,
                      n_aside);
    return rc == 0 ? metrics_start(r->log, c->logging.tensorboard) : rc;
}

int run_resume(struct run **out, const struct checkpoint *cp, const struct run_config *c,
               struct model *m, const struct run_events *e)
{
    struct run_config was;
    char shown[256];
    int rc = run_stored_config(&was, cp);
    if (rc != 0)
        return rc;
    if ((rc = run_config_settle(&was, &m->config)) == 0)
        rc = run_check_change(&was, c);
    bool same = file_is_same(was.checkpoint.folder, c->checkpoint.folder);
    if (rc == 0 && !same)
        rc = run_refuse_old(c->checkpoint.folder);
    struct run *r = rc == 0 ? mem_alloc(sizeof *r) : NULL;
    if (rc == 0)
        rc = r == NULL ? ERR_NOMEM : run_build(r, c, m, e);
    if (rc == 0 && (rc = restore_run(r, cp)) == 0)
        rc = settle_in(r, cp, same);
    if (rc == 0)
        run_change_scale(r, &was);
    run_config_release(&was);
    if (rc == 0) {
        run_fill_metrics(r);
        *out = r;
        return 0;
    }
    run_drop(r);
    return rc == ERR_INTERRUPTED
               ? rc
               : err_wrap("cannot go on from %s", file_show(shown, sizeof shown, cp->path));
}

/* c as its checkpoint has it, both settled for the shape it has. */
static int check_resumed(const struct checkpoint *cp, struct run_config *c,
                         const struct config *shape)
{
    struct run_config was;
    int rc = run_stored_config(&was, cp);
    if (rc != 0)
        return rc;
    if ((rc = run_config_settle(&was, shape)) == 0 && (rc = run_config_settle(c, shape)) == 0 &&
        (rc = run_check_change(&was, c)) == 0 &&
        !file_is_same(was.checkpoint.folder, c->checkpoint.folder))
        rc = run_refuse_old(c->checkpoint.folder);
    run_config_release(&was);
    return rc;
}

int run_check_resume(const struct checkpoint *cp, const struct run_config *c)
{
    struct run_config trial;
    struct source s = {0};
    char shown[256];
    int rc = run_config_copy(&trial, c);
    if (rc != 0)
        return rc;
    if ((rc = source_open(&s, cp->path, 0, true, NULL)) == 0)
        rc = check_resumed(cp, &trial, &s.table.config);
    if (rc == 0 && (rc = run_check_inputs(&trial)) == 0)
        rc = file_look_folder(trial.checkpoint.folder);
    source_close(&s);
    run_config_release(&trial);
    return rc == 0 || rc == ERR_INTERRUPTED
               ? rc
               : err_wrap("cannot go on from %s", file_show(shown, sizeof shown, cp->path));
}
