/* How a run comes about, is kept, and goes. */
#include "train/run/run_inside.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "weights/model_source.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static int open_data(struct run *r)
{
    const struct run_config *c = &r->config;
    struct data_config data = c->data;
    if (data.seed == 0)
        data.seed = c->training.seed;
    int rc = dataset_open(&r->train, &r->validation, &data, r->model->tokenizer,
                          r->model->config.n_vocab, r->events.progress);
    if (rc == 0)
        rc = batches_new(&r->batches, &r->train, &data, c->training.micro_batch_size,
                         c->training.sequence_length);
    if (rc == 0 && r->validation.n_tokens == 1)
        rc = err_set(ERR_RANGE, "%s has 1 token for validation, expected at least 2",
                     r->validation.name);
    if (rc == 0)
        r->n_steps = run_config_steps(c, batches_per_epoch(r->batches));
    return rc;
}

void run_begin_step_anew(struct run *r)
{
    r->micro = 0;
    r->ids = NULL;
    batches_seek(r->batches, r->place.windows);
}

int run_fit_team(struct run *r)
{
    struct step_config s;
    if (r->step != NULL && r->threads == par_threads())
        return 0;
    step_free(r->step);
    r->step = NULL;
    run_begin_step_anew(r);
    run_config_step(&r->config, &r->model->config, &s);
    r->threads = par_threads();
    return step_new(&r->step, &r->masters, &s);
}

static int build(struct run *r, const struct run_config *c, struct model *m,
                 const struct run_events *e)
{
    r->events = *e;
    r->model = m;
    r->folder.lock = -1;
    r->saved_step = r->evaluated_step = -1;
    r->place = (struct run_place){.scale.scale = c->training.loss_scaling,
                                  .validation_loss = NAN,
                                  .validation_accuracy = NAN,
                                  .best_loss = INFINITY,
                                  .best_step = -1};
    int rc = run_config_copy(&r->config, c);
    if (rc == 0 && (rc = run_folder_open(&r->folder, c->checkpoint.folder)) == 0 &&
        (rc = open_data(r)) == 0 &&
        (rc = masters_init(&r->masters, m, (enum dtype)c->training.precision, e->progress)) == 0 &&
        (rc = run_adapter_open(r)) == 0 &&
        (rc = optimizer_init(&r->optimizer, &c->optimizer, &r->learning)) == 0)
        rc = run_fit_team(r);
    /* What an adapter learns is fp32 wherever it is; other weights are as the model has them. */
    if (r->adapter == NULL && m->params.dtype == DTYPE_F16)
        r->optimizer.limit = OPTIMIZER_HALF_LIMIT;
    return rc;
}

int run_new(struct run **out, const struct run_config *c, struct model *m,
            const struct run_events *e)
{
    int rc = run_refuse_old(c->checkpoint.folder);
    if (rc == 0)
        rc = run_check_model(c, m);
    if (rc != 0)
        return rc;
    struct run *r = mem_alloc(sizeof *r);
    rc = r == NULL ? ERR_NOMEM : build(r, c, m, e);
    if (rc == 0)
        rc = run_adapter_begin(r);
    /* Until its first step the model has the run's weights, and no others than before. */
    if (rc == 0 && r->adapter == NULL && r->masters.dtype == DTYPE_F32)
        r->published = m->version;
    if (rc == 0)
        rc = metrics_open(&r->log, c->checkpoint.folder, 0, c->logging.label);
    if (rc == 0)
        rc = metrics_start(r->log, c->logging.tensorboard);
    if (rc == 0) {
        run_fill_metrics(r);
        *out = r;
    } else {
        if (r != NULL)
            run_folder_undo(&r->folder);
        run_free(r);
    }
    return rc;
}

/* ---- checkpoints ---- */

enum { MAX_BLOCKS = 3 };

/* How many. */
static int list_blocks(const struct run *r, struct checkpoint_block b[MAX_BLOCKS])
{
    const struct optimizer *o = &r->optimizer;
    b[0] = (struct checkpoint_block){"exp_avg_sq", DTYPE_F32, o->v, o->n};
    b[1] = (struct checkpoint_block){"exp_avg", DTYPE_F32, o->m, o->n};
    if (o->half_m == NULL)
        return 2;
    b[1] = (struct checkpoint_block){"exp_avg", DTYPE_F16, o->half_m, o->n};
    b[2] = (struct checkpoint_block){"exp_avg_unit", DTYPE_F32, o->m_unit, o->n_units};
    return 3;
}

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

static int restore(struct run *r, const struct checkpoint *cp)
{
    struct checkpoint_block blocks[MAX_BLOCKS];
    int n_blocks = list_blocks(r, blocks), rc = run_place_read(r, cp->state);
    if (rc == 0 && r->place.step != cp->step)
        rc = err_set(ERR_FORMAT, "its state is of step %" PRId64, r->place.step);
    const struct run_place *p = &r->place;
    if (rc == 0 &&
        (p->best_step > p->step || p->validation_step > p->step || p->skipped > p->step ||
         p->bad_in_a_row > p->skipped || r->tally.steps > p->step ||
         (uint64_t)r->tally.tokens > p->tokens || (uint64_t)r->tally.sum.n_targets > p->tokens ||
         r->tally.sum.n_correct > r->tally.sum.n_targets))
        rc = err_set(ERR_FORMAT, "its state counts more than there was by step %" PRId64, p->step);
    for (int i = 0; i < n_blocks && rc == 0; i++)
        rc = checkpoint_read(cp, &blocks[i]);
    if (rc == 0)
        rc = run_adapter_restore(r, cp);
    if (rc != 0)
        return rc;
    r->due = (unsigned)r->place.due & DUE_LATER;
    r->rate = r->grad_norm = NAN; /* of a step taken then */
    batches_seek(r->batches, r->place.windows);
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
        rc = r == NULL ? ERR_NOMEM : build(r, c, m, e);
    if (rc == 0 && (rc = restore(r, cp)) == 0)
        rc = settle_in(r, cp, same);
    if (rc == 0)
        run_change_scale(r, &was);
    run_config_release(&was);
    if (rc == 0) {
        run_fill_metrics(r);
        *out = r;
        return 0;
    }
    if (r != NULL)
        run_folder_undo(&r->folder);
    run_free(r);
    return rc == ERR_INTERRUPTED
               ? rc
               : err_wrap("cannot go on from %s", file_show(shown, sizeof shown, cp->path));
}

/* The model has the weights of the last step. */
static bool is_published(const struct run *r)
{
    return r->published == r->model->version && r->published_at == r->place.step;
}

/* The weights are in files: they are not unsaved, and that is where :save reads them. */
static void point_model(struct run *r, char *path)
{
    source_moved(r->model, path);
    r->model->file_dtype = r->masters.dtype;
}

static void point_at_checkpoint(struct run *r)
{
    point_model(r, run_folder_checkpoint(r->folder.path, r->saved_step));
}

int run_save(struct run *r)
{
    struct checkpoint_block blocks[MAX_BLOCKS];
    struct source weights = {0};
    if (r->saved_step == r->place.step)
        return 0;
    r->place.due = r->due & DUE_LATER;
    json_t *state = run_place_write(r);
    int rc = state == NULL        ? err_last()
             : r->adapter != NULL ? 0
                                  : masters_source(&weights, &r->masters, r->model);
    int n_blocks = list_blocks(r, blocks);
    const struct checkpoint_content c = {.step = r->place.step,
                                         .weights = r->adapter == NULL ? &weights : NULL,
                                         .adapter = r->adapter,
                                         .base = r->model->source,
                                         .blocks = blocks,
                                         .n_blocks = n_blocks,
                                         .state = state};
    if (rc == 0)
        rc = checkpoint_write(&r->folder, &c, r->events.progress);
    source_close(&weights);
    json_decref(state);
    if (rc != 0)
        return rc;
    r->saved_step = r->place.step;
    if (r->adapter != NULL)
        run_adapter_saved(r);
    else if (is_published(r))
        point_at_checkpoint(r);
    const struct checkpoint_section *k = &r->config.checkpoint;
    if (run_folder_prune(&r->folder, r->saved_step, k->keep_last,
                         k->keep_best ? r->place.best_step : -1) != 0)
        progress_note(r->events.progress, "of an older checkpoint something stays: %s", err_text());
    return 0;
}

/* ---- the model in memory ---- */

void run_publish(struct run *r)
{
    struct model *m = r->model;
    if (!is_published(r)) {
        if (r->adapter != NULL)
            run_adapter_publish(r);
        else
            masters_publish(&r->masters, m);
        r->published = m->version;
        r->published_at = r->place.step;
    }
    if (r->saved_step == r->place.step && r->adapter != NULL)
        run_adapter_saved(r);
    else if (r->saved_step == r->place.step && m->changed)
        point_at_checkpoint(r);
}

int run_export(struct run *r, const char *path, const struct save_config *c)
{
    struct source s;
    int rc = masters_source(&s, &r->masters, r->model);
    if (rc != 0)
        return rc;
    rc = source_save(&s, path, c, r->events.progress);
    source_close(&s);
    if (rc == 0 && !c->convert)
        point_model(r, mem_strdup(path));
    return rc;
}

void run_free(struct run *r)
{
    if (r == NULL)
        return;
    metrics_close(r->log);
    step_free(r->step);
    watch_release(&r->watch);
    optimizer_release(&r->optimizer);
    masters_release(&r->masters);
    run_adapter_close(r);
    batches_free(r->batches);
    eval_result_release(&r->evaluation);
    dataset_close(&r->train);
    dataset_close(&r->validation);
    run_folder_close(&r->folder);
    run_config_release(&r->config);
    mem_free(r);
}

enum run_state run_state(const struct run *r)
{
    return r->state;
}
const struct run_config *run_settings(const struct run *r)
{
    return &r->config;
}
const struct metrics *run_metrics(const struct run *r)
{
    return &r->metrics;
}
struct metrics run_now(const struct run *r)
{
    const struct run_place *p = &r->place;
    struct metrics m = r->metrics;
    m.tokens = p->tokens;
    m.hours = p->hours;
    m.skipped = p->skipped;
    m.overflows = p->scale.overflows;
    m.loss_scale = p->scale.scale;
    return m;
}
int64_t run_step(const struct run *r)
{
    return r->place.step;
}
const char *run_path(const struct run *r)
{
    return r->folder.path;
}
int64_t run_saved_step(const struct run *r)
{
    return r->saved_step;
}
