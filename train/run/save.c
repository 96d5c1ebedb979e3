#include "train/run/save.h"

#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "model/base/progress.h"
#include "model/base/sha256.h"
#include "train/run/ask.h"
#include "train/run/checkpoint.h"
#include "train/run/gather.h"
#include "train/run/inside.h"
#include "train/run/parts.h"
#include "train/run/publish.h"
#include "train/run/ranks.h"
#include "train/step/weights_disk.h"
#include "weights/model_source.h"

static int put_digest(json_t *o, const char *key, const unsigned char digest[SHA256_BYTES])
{
    char hex[SHA256_HEX];
    text_hex(hex, digest, SHA256_BYTES);
    return json_object_set_new(o, key, json_string(hex)) == 0
               ? 0
               : err_set(ERR_NOMEM, "no memory for the state of the run");
}

/* Configuration, data and numbers, as JSON; NULL: no memory. */
static json_t *describe_run(const struct run *r)
{
    struct buf config = {0};
    int rc = run_config_write(&r->config, &config);
    json_t *o = rc == 0 ? json_pack("{s:s}", "config", buf_text(&config)) : NULL;
    if (rc == 0 && o == NULL)
        rc = err_set(ERR_NOMEM, "no memory for the state of the run");
    buf_release(&config);
    if (rc == 0)
        rc = put_digest(o, "data", r->train.identity);
    if (rc == 0 && r->validation.n_tokens > 0)
        rc = put_digest(o, "validation", r->validation.identity);
    if (rc == 0 && r->adapter != NULL)
        rc = put_digest(o, "base", r->base);
    if (rc == 0 && trainer_state_write(o, &r->state) == 0)
        return o;
    json_decref(o);
    return NULL;
}

/* Of now, for the caller to release; NULL: no memory. */
static json_t *take_state(struct run *r)
{
    r->state.due = r->due & DUE_LATER;
    r->state.optimizer_steps = optimizer_steps(r->optimizer);
    return describe_run(r);
}

static void note_saved(struct run *r)
{
    r->saved_step = r->state.step;
    r->saved_due = (unsigned)r->state.due;
    r->changed = false;
}

static void prune_older(struct run *r)
{
    const struct checkpoint_section *k = &r->config.checkpoint;
    if (run_folder_prune(&r->folder, r->saved_step, k->keep_last,
                         k->keep_best ? r->state.best_step : -1) != 0)
        progress_note(r->events.progress, "an older checkpoint was not removed completely: %s",
                      err_text());
}

static int read_state(void *user, int block, void *to, size_t first, size_t n)
{
    run_ranks_read(user, SHARE_STATE, block, to, first, n);
    return 0;
}

/* What is asked of the weights, or of the adapter, as it was trained; *settings: the adapter's, or
 * NULL, in fresh memory. */
static int take_settings(struct run *r, struct source *weights, char **settings)
{
    const char *file;
    bool said, changed;
    *settings = NULL;
    if (r->adapter == NULL)
        return run_ask(r, &weights->defaults, &weights->defaults_file, &said, &changed);
    if (r->model->defaults != NULL && (*settings = mem_strdup(r->model->defaults)) == NULL)
        return ERR_NOMEM;
    int rc = run_ask(r, settings, &file, &said, &changed);
    if (!said) {
        mem_free(*settings);
        *settings = NULL;
    }
    return rc;
}

static int save_step(struct run *r)
{
    char *settings = NULL;
    struct optimizer_block blocks[OPTIMIZER_MAX_BLOCKS];
    struct source weights = {0};
    struct run_gather gather;
    int rc = run_probe(r);
    if (rc != 0)
        return rc;
    json_t *state = take_state(r);
    rc = state == NULL        ? err_last()
         : r->adapter != NULL ? 0
                              : source_open_params(&weights, &r->weights.view, r->model);
    if (rc == 0 && r->adapter == NULL)
        weights_disk_read(r->weights.disk, &weights);
    if (rc == 0)
        rc = take_settings(r, &weights, &settings);
    run_gather_begin(&gather, r);
    if (rc == 0 && r->adapter == NULL)
        rc = run_gather_source(&gather, &weights);
    int n_blocks = optimizer_blocks(r->optimizer, blocks);
    const bool divided = run_shares_is_divided(r, SHARE_STATE);
    const struct checkpoint_content c = {.step = r->state.step,
                                         .weights = r->adapter == NULL ? &weights : NULL,
                                         .adapter = r->adapter,
                                         .base = r->model->source,
                                         .settings = settings,
                                         .blocks = {.blocks = blocks,
                                                    .n_blocks = n_blocks,
                                                    .read = divided ? read_state : NULL,
                                                    .user = r},
                                         .write_parts = divided ? run_parts_write : NULL,
                                         .user = r,
                                         .state = state};
    if (rc == 0)
        rc = checkpoint_write(&r->folder, &c, r->events.progress);
    run_gather_end(&gather);
    source_close(&weights);
    mem_free(settings);
    json_decref(state);
    if (rc != 0)
        return rc;
    note_saved(r);
    run_publish_saved(r);
    prune_older(r);
    return 0;
}

bool run_owes_state(const struct run *r)
{
    return r->saved_step == r->state.step && (r->changed || r->saved_due != (r->due & DUE_LATER));
}

/* The checkpoint of this step has the weights; settings and what was due have changed since. */
static int save_state(struct run *r)
{
    json_t *state = take_state(r);
    int rc = state == NULL
                 ? err_last()
                 : checkpoint_restate(&r->folder, r->state.step, state, r->events.progress);
    json_decref(state);
    if (rc == 0) {
        note_saved(r);
        prune_older(r);
    }
    if (rc != ERR_UNSUPPORTED)
        return rc;
    progress_note(r->events.progress, "%s", err_text());
    return 0;
}

int run_save(struct run *r)
{
    const bool has_weights = r->saved_step == r->state.step;
    if (has_weights && !run_owes_state(r))
        return 0;
    profile_begin(SPAN_CHECKPOINT, r->state.step);
    profile_set(PART_FILES);
    int rc = has_weights ? save_state(r) : save_step(r);
    profile_end();
    return rc;
}

/* Until the optimizer has the sums of all, weights and state are those of the step before. */
int run_save_alone(struct run *r)
{
    return run_ranks_has_state(r)
               ? run_save(r)
               : err_set(ERR_UNSUPPORTED, "other processes have parts of the optimizer's state");
}

int run_export(struct run *r, const char *path, const struct save_config *c)
{
    struct source s;
    struct run_gather gather;
    bool said, changed;
    int rc = source_open_params(&s, &r->weights.view, r->model);
    if (rc != 0)
        return rc;
    weights_disk_read(r->weights.disk, &s);
    rc = run_ask(r, &s.defaults, &s.defaults_file, &said, &changed);
    run_gather_begin(&gather, r);
    if (rc == 0 && (rc = run_gather_source(&gather, &s)) == 0)
        rc = source_save(&s, path, c, r->events.progress);
    run_gather_end(&gather);
    source_close(&s);
    if (rc == 0 && !c->convert)
        run_point_model(r, mem_strdup(path));
    return rc;
}
