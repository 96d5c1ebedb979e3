/*
 * Going on from a checkpoint, in three steps, of which only the last changes anything:
 *
 *   run_resume_open    verify the files, read the configuration that was stored
 *   run_resume_check   resolve the stored and the new configuration for the model's shape, compare
 *                      them row by row, look at the folder, data and evaluation
 *   run_resume         build the run, fill it from the checkpoint, take the folder
 *
 * Between the last two the model in memory may make room for the checkpoint's.
 */
#include "train/run/resume.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "train/data/source.h"
#include "train/run/adapter.h"
#include "train/run/change.h"
#include "train/run/check.h"
#include "train/run/folder.h"
#include "train/run/inside.h"
#include "train/run/open.h"
#include "train/parallel/world.h"
#include "train/run/ranks.h"
#include "train/run/report.h"
#include "train/run/take_step.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A run's folder may have been moved or copied since: it is where its checkpoint lies. */
static int point_at_folder(struct run_config *c, const struct checkpoint *cp)
{
    const char *slash = strrchr(cp->path, '/');
    char *folder =
        slash == NULL ? mem_strdup(".") : mem_sprintf("%.*s", (int)(slash - cp->path), cp->path);
    int rc = folder == NULL ? ERR_NOMEM
                            : run_config_set(c, ORIGIN_CHECKPOINT, "checkpoint.folder", folder);
    mem_free(folder);
    return rc;
}

static int read_configuration(struct resume *q)
{
    const struct checkpoint *cp = &q->checkpoint;
    const char *text = NULL;
    char shown[256];
    int rc = json_take_text(cp->state, "config", &text);
    if (rc == 0 && text == NULL)
        rc = err_set(ERR_FORMAT, "there is no configuration in it");
    if (rc == 0 && (rc = run_config_init(&q->stored)) == 0 &&
        (rc = run_config_read(&q->stored, ORIGIN_CHECKPOINT, "its configuration", text,
                              strlen(text))) == 0)
        rc = point_at_folder(&q->stored, cp);
    if (rc != 0)
        rc = err_wrap("checkpoint %s", file_show(shown, sizeof shown, cp->path));
    return rc;
}

/* ---- what is there, and whether it goes with what is asked for ---- */

int run_resume_open(struct resume *q, const char *path, const struct progress *p)
{
    *q = (struct resume){.progress = p};
    int rc = checkpoint_open(&q->checkpoint, path, p);
    if (rc == ERR_MISSING)
        rc = run_folder_explain(rc, path);
    if (rc == 0 && (rc = read_configuration(q)) != 0)
        run_resume_close(q);
    return rc;
}

void run_resume_close(struct resume *q)
{
    if (q == NULL)
        return;
    model_files_close(&q->model);
    run_config_release(&q->stored);
    run_config_release(&q->was);
    run_config_release(&q->config);
    checkpoint_close(&q->checkpoint);
}

/* A copy of c in place of the one there is, resolved. */
static int resolve_copy(struct run_config *out, const struct run_config *c,
                        int (*resolve)(struct run_config *c, const struct config *shape),
                        const struct config *shape)
{
    run_config_release(out);
    int rc = run_config_copy(out, c);
    return rc == 0 ? resolve(out, shape) : rc;
}

static bool stays_in_folder(const struct resume *q)
{
    return file_is_same(q->was.checkpoint.folder, q->config.checkpoint.folder);
}

/* A run names its data from the folder where it began. */
static int explain_data(int rc, const char *data)
{
    struct data_sources s = {0};
    const bool anywhere = *data == '/' || *data == '~' || strcmp(data, "generated") == 0;
    char *why = rc == ERR_MISSING && !anywhere ? mem_strdup(err_text()) : NULL;
    if (why == NULL)
        return rc;
    const bool missing = data_sources_find(&s, data) == ERR_MISSING;
    err_set(rc, "%s%s", why,
            missing ? "; if the run began in another folder, data=PATH says where its data is"
                    : "");
    data_sources_release(&s);
    mem_free(why);
    return rc;
}

/* Where words say that the base of an adapter is now; NULL: they do not. */
static const char *given_base(const struct run_config *c)
{
    return c->lora.rank > 0 && *c->model.init != '\0' &&
                   settings_store_origin(&c->store, RUN_ROW(model.init)) == ORIGIN_COMMAND_LINE
               ? c->model.init
               : NULL;
}

int run_resume_check(struct resume *q, const struct run_config *c)
{
    const char *path = q->checkpoint.path;
    char shown[256];
    int rc = q->model.path != NULL ? 0
                                   : model_files_open_folder(&q->model, path, &q->checkpoint.files,
                                                             given_base(c), q->progress);
    const struct config *shape = &q->model.source.config;
    if (rc == 0 &&
        (rc = resolve_copy(&q->was, &q->stored, run_config_resolve_stored, shape)) == 0 &&
        (rc = resolve_copy(&q->config, c, run_config_resolve, shape)) == 0 &&
        (rc = run_check_change(&q->was, &q->config)) == 0 && !stays_in_folder(q))
        rc = run_refuse_old(q->config.checkpoint.folder);
    if (rc == 0 && (rc = run_check_inputs(&q->config)) != 0)
        rc = explain_data(rc, q->config.data.data);
    if (rc == 0)
        rc = file_check_folder(q->config.checkpoint.folder);
    return rc == 0 || rc == ERR_INTERRUPTED
               ? rc
               : err_wrap("cannot resume from %s", file_show(shown, sizeof shown, path));
}

/* ---- going on ---- */

/* Which files of the data were written after the checkpoint: "a.txt is newer than it; ". Empty
 * where none was: one may have gone. */
static void name_newer(char *out, size_t size, const char *data, const char *checkpoint)
{
    struct data_sources s = {0};
    struct stat then, now;
    char shown[256] = "";
    size_t n = 0;
    const bool found = data_sources_find(&s, data) == 0 && stat(checkpoint, &then) == 0;
    for (size_t i = 0; found && i < s.n; i++)
        if (stat(s.list[i].path, &now) == 0 &&
            (now.st_mtim.tv_sec > then.st_mtim.tv_sec ||
             (now.st_mtim.tv_sec == then.st_mtim.tv_sec &&
              now.st_mtim.tv_nsec > then.st_mtim.tv_nsec)) &&
            n++ == 0)
            file_show(shown, sizeof shown, s.list[i].path);
    *out = '\0';
    if (n > 1)
        snprintf(out, size, "%s and %zu more are newer than it; ", shown, n - 1);
    else if (n == 1)
        snprintf(out, size, "%s is newer than it; ", shown);
    data_sources_release(&s);
    err_clear();
}

/* Documents of the data are validation's. */
static bool holds_out(const struct data_config *d)
{
    return *d->validation == '\0' && d->validation_fraction > 0;
}

static const char *shown_validation(const struct data_config *d)
{
    return *d->validation == '\0' ? "empty" : file_quote(d->validation);
}

static int refuse_data(const struct run *r, const struct data_config *was, const char *checkpoint)
{
    char newer[320];
    const char *data = r->config.data.data;
    if (holds_out(was) != holds_out(&r->config.data))
        return err_set(ERR_MISMATCH,
                       "data.validation was %s in this run and cannot become %s: where it is "
                       "empty, documents of the data are held out for it; begin another run with "
                       "folder=DIR",
                       shown_validation(was), shown_validation(&r->config.data));
    name_newer(newer, sizeof newer, data, checkpoint);
    return err_set(
        ERR_MISMATCH,
        "the data has changed since the checkpoint: %s%s is not what the run was trained "
        "on; begin another run with folder=DIR",
        newer, data);
}

static int check_identities(const struct run *r, const struct data_config *was,
                            const struct checkpoint *cp)
{
    const json_t *state = cp->state;
    const char *data = "", *base = "";
    char own_data[2 * sizeof r->train.identity + 1], own_base[2 * sizeof r->base + 1];
    int rc = json_take_text(state, "data", &data);
    if (rc == 0)
        rc = json_take_text(state, "base", &base);
    text_hex(own_data, r->train.identity, sizeof r->train.identity);
    text_hex(own_base, r->base, sizeof r->base);
    if (rc == 0 && r->adapter != NULL && strcmp(own_base, base) != 0)
        rc = err_set(ERR_MISMATCH,
                     "the weights of %s are not those that the adapter was trained with; "
                     "init=PATH says where those are",
                     r->model->source);
    if (rc == 0 && strcmp(own_data, data) != 0)
        rc = refuse_data(r, was, cp->path);
    return rc;
}

/* A best loss on other data would be compared with those to come. */
static int compare_validation(struct run *r, const json_t *state)
{
    const char *was = "";
    char own[2 * sizeof r->validation.identity + 1];
    int rc = json_take_text(state, "validation", &was);
    text_hex(own, r->validation.identity, sizeof r->validation.identity);
    if (rc == 0 && r->validation.n_tokens > 0 && *was != '\0' && strcmp(own, was) != 0)
        trainer_state_forget_validation(&r->state);
    return rc;
}

static int restore_run(struct run *r, const struct data_config *was, const struct checkpoint *cp)
{
    struct optimizer_block blocks[OPTIMIZER_MAX_BLOCKS];
    int n_blocks = optimizer_blocks(r->optimizer, blocks), rc = check_identities(r, was, cp);
    if (rc == 0)
        rc = trainer_state_read(&r->state, cp->state, cp->step);
    if (rc == 0)
        rc = compare_validation(r, cp->state);
    for (int i = 0; i < n_blocks && rc == 0; i++) {
        const struct spans own = run_shares_own(r, &blocks[i]);
        rc = checkpoint_read(cp, &blocks[i], &own);
    }
    if (rc == 0)
        rc = run_adapter_restore(r, cp);
    if (rc != 0)
        return rc;
    optimizer_set_steps(r->optimizer, r->state.optimizer_steps);
    r->due = (unsigned)r->state.due & DUE_LATER;
    run_begin_step_anew(r);
    return 0;
}

/* Whether the checkpoint has other settings than the run now. */
static int find_changes(struct run *r, const struct run_config *was)
{
    struct buf before = {0}, now = {0};
    int rc = run_config_write(was, &before);
    if (rc == 0)
        rc = run_config_write(&r->config, &now);
    r->changed = rc == 0 && strcmp(buf_text(&before), buf_text(&now)) != 0;
    buf_release(&before);
    buf_release(&now);
    return rc;
}

/* In the folder of its checkpoint a run takes the place of what came after that; in another, which
 * has no run, nothing is saved yet. Lines go last: no checkpoint that counts is without its own. */
static int take_folder(struct run *r, const struct resume *q)
{
    const struct checkpoint *cp = &q->checkpoint;
    const struct run_config *c = &r->config;
    const bool same_folder = stays_in_folder(q);
    int n_aside = 0;
    if (world_rank() > 0)
        return 0;
    int rc =
        metrics_open(&r->log, c->checkpoint.folder, same_folder ? NULL : q->was.checkpoint.folder,
                     cp->step, c->logging.label);
    if (rc == 0 && same_folder &&
        (rc = run_folder_set_aside(&r->folder, cp->step, &n_aside)) == 0) {
        r->saved_step = cp->step;
        r->saved_due = r->due;
        rc = find_changes(r, &q->was);
    }
    if (n_aside > 0)
        progress_note(r->events.progress,
                      "checkpoints newer than step %" PRId64 " are set aside: %d", cp->step,
                      n_aside);
    return rc == 0 ? metrics_start(r->log, c->logging.tensorboard) : rc;
}

int run_resume(struct run **out, struct resume *q, struct model *m, const struct run_events *e)
{
    char shown[256];
    struct run *r = mem_alloc(sizeof *r);
    int rc = r == NULL ? ERR_NOMEM : run_build(r, &q->config, m, &q->model, e);
    if (rc == 0 && (rc = restore_run(r, &q->was.data, &q->checkpoint)) == 0 &&
        (rc = run_change_length(r, &q->was)) == 0)
        rc = take_folder(r, q);
    if (rc == 0) {
        run_change_scale(r, &q->was);
        run_change_validation(r, &q->was);
        run_fill_metrics(r);
        *out = r;
        return 0;
    }
    run_drop(r);
    return rc == ERR_INTERRUPTED ? rc
                                 : err_wrap("cannot resume from %s",
                                            file_show(shown, sizeof shown, q->checkpoint.path));
}
