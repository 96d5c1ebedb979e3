#include "train/run/publish.h"

#include "model/adapter_switch.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "kvcache/engine.h"
#include "model/base/profile.h"
#include "model/base/progress.h"
#include "sampling/chain/logits.h"
#include "train/run/adapter.h"
#include "train/run/gather.h"
#include "train/run/inside.h"
#include "train/run/shares.h"
#include "train/run/tensor_step.h"
#include "train/step/step.h"
#include "weights/model_source.h"
#include "weights/panel_stream.h"

#include <stdio.h>
#include <string.h>

/* The model has the weights of the last step. */
static bool is_published(const struct run *r)
{
    return r->published == r->model->version && r->published_at == r->state.step;
}

void run_point_model(struct run *r, char *path)
{
    source_moved(r->model, path);
    snprintf(r->model->file_types, sizeof r->model->file_types, "%s", dtype_name(r->weights.dtype));
}

static void point_at_checkpoint(struct run *r)
{
    run_point_model(r, run_folder_checkpoint(r->folder.path, r->saved_step));
}

/* ---- what the model had ---- */

int run_publish_open(struct run *r)
{
    struct model_before *b = &r->before;
    const int length = r->config.training.sequence_length;
    r->n_probe = length < RUN_PROBE ? length : RUN_PROBE;
    r->probed_at = -1;
    int rc = 0;
    if (r->adapter != NULL && (b->adapter = mem_array(r->adapter->n, sizeof *b->adapter)) == NULL)
        rc = ERR_NOMEM;
    else if (r->adapter == NULL && r->weights.disk != NULL && r->model->params.stream == NULL)
        rc = disk_file_make(&b->spare, r->folder.path, r->model->params.block_bytes);
    return rc != 0 ? rc : dataset_read(&r->train, r->probe, 0, (size_t)r->n_probe);
}

void run_publish_close(struct run *r)
{
    run_publish_forget(r);
    disk_file_close(&r->before.spare);
    r->before.spare = (struct disk_file){0};
    mem_free(r->before.adapter);
    r->before.adapter = NULL;
}

void run_publish_forget(struct run *r)
{
    struct model_before *b = &r->before;
    if (b->file.release != NULL)
        layer_stream_close(&b->file);
    mem_unmap(b->own, b->own_bytes);
    b->own = NULL;
    b->own_bytes = 0;
    b->held = false;
}

static bool is_within_step(const struct run *r)
{
    return r->micro > 0 || r->ids != NULL;
}

/* A block of so many bytes: of the step's gradients as much as there is, while they are not in use.
 */
static int make_room(struct run *r, size_t bytes)
{
    struct model_before *b = &r->before;
    const size_t idle = r->step == NULL || is_within_step(r) || r->weights.disk != NULL ? 0
                        : r->tensor != NULL
                            ? run_tensor_weights(r)->n * dtype_bytes(r->weights.dtype)
                            : r->trainable.n * dtype_bytes(r->trainable.dtype);
    run_publish_forget(r);
    if (b->spare.name != NULL)
        return 0;
    b->idle = idle == 0 ? NULL : step_gradients(r->step);
    b->idle_bytes = idle < bytes ? idle : bytes;
    if (bytes == b->idle_bytes)
        return 0;
    b->own = mem_map("weights before training's", bytes - b->idle_bytes);
    b->own_bytes = b->own == NULL ? 0 : bytes - b->idle_bytes;
    return b->own == NULL ? ERR_NOMEM : 0;
}

static void copy_part(char *kept, char *block, size_t bytes, bool back)
{
    if (bytes > 0)
        memcpy(back ? block : kept, back ? kept : block, bytes);
}

/* The model's parameters to where they are kept, or back. */
static int copy_block(const struct run *r, bool back)
{
    const struct model_before *b = &r->before;
    char *block = r->model->params.block;
    const size_t bytes = r->model->params.block_bytes;
    if (b->spare.name != NULL)
        return back ? disk_file_read(&b->spare, block, 0, disk_round(bytes))
                    : disk_file_write(&b->spare, block, 0, disk_round(bytes));
    copy_part(b->idle, block, b->idle_bytes, back);
    copy_part(b->own, block + b->idle_bytes, b->own_bytes, back);
    return 0;
}

static int keep_before(struct run *r)
{
    struct model_before *b = &r->before;
    const struct model *m = r->model;
    if (m->params.stream != NULL) { /* its file is kept as a whole */
        run_publish_forget(r);
        b->changed = m->changed;
        return 0;
    }
    if (r->adapter == NULL) {
        int rc = make_room(r, m->params.block_bytes);
        if (rc == 0)
            rc = copy_block(r, false);
        b->changed = m->changed;
        b->held = rc == 0;
        return rc;
    }
    b->held = true;
    memcpy(b->adapter, r->shown->data, r->shown->n * sizeof *b->adapter);
    b->attached = m->adapter == r->shown;
    b->on = b->attached && r->shown->on;
    b->changed = r->shown->changed;
    return 0;
}

/* The adapter is the run's alone again, or what it was, on or off. */
static void give_adapter_back(struct run *r)
{
    const struct model_before *b = &r->before;
    struct model *m = r->model;
    memcpy(r->shown->data, b->adapter, r->shown->n * sizeof *b->adapter);
    r->shown->changed = b->changed;
    if (b->attached)
        weights_show_adapter(&r->weights, r->shown, m);
    adapter_switch(m, b->on);
    if (!b->attached)
        m->adapter = NULL;
}

/* Where that fails, what is in memory is of neither: passes refuse it (params_lost). */
static void restore_file(struct run *r)
{
    struct model *m = r->model;
    const bool pending = interrupt_pending();
    interrupt_clear();
    if (panel_stream_restore(&m->params, &r->before.file) != 0)
        progress_note(r->events.progress, "%s; load the model again", err_text());
    m->changed = r->before.changed;
    if (pending)
        interrupt_raise();
}

void run_withdraw(struct run *r)
{
    struct model *m = r->model;
    if (!r->before.held || !is_published(r))
        return;
    if (r->adapter != NULL) {
        give_adapter_back(r);
    } else if (m->params.stream != NULL) {
        restore_file(r);
    } else {
        m->params.lost = copy_block(r, true) != 0;
        if (m->params.lost)
            progress_note(r->events.progress, "%s; load the model again", err_text());
        m->changed = r->before.changed;
    }
    run_publish_forget(r);
    r->published = 0;
    m->version++; /* what was read meanwhile is of neither */
}

/* ---- the probe ---- */

static int look_at_logits(const struct run *r, const float *logits)
{
    const size_t V = (size_t)r->model->config.n_vocab;
    for (int i = 0; i < r->n_probe; i++)
        if (!logits_are_finite(logits + (size_t)i * V, V))
            return logits_refuse(r->model, (size_t)i + 1);
    return 0;
}

/* Not to be interrupted: a pause publishes too. */
static int probe_model(const struct run *r)
{
    const size_t bytes = (size_t)r->n_probe * (size_t)r->model->config.n_vocab * sizeof(float);
    float *logits = mem_map("logits", bytes);
    struct engine e = {0};
    struct kv_seq text = {0};
    int rc = logits == NULL ? ERR_NOMEM : engine_init(&e, r->model, 1);
    if (rc == 0)
        rc = kv_seq_init(&text, &e.cache);
    if (rc == 0) {
        engine_begin(&e);
        rc = engine_add(&e, &text, r->probe, r->n_probe, 0);
    }
    if (rc == 0) {
        rc = engine_run(&e, logits);
    }
    if (rc == 0)
        rc = look_at_logits(r, logits);
    if (e.model != NULL)
        kv_seq_release(&text, &e.cache);
    engine_release(&e);
    mem_unmap(logits, bytes);
    return rc;
}

/* Of all stages. */
static int publish_weights(struct run *r)
{
    struct run_gather g;
    if (!run_shares_is_divided(r, SHARE_WEIGHTS))
        return weights_publish(&r->weights, r->model);
    run_gather_begin(&g, r);
    weights_publish_each(&r->weights, r->model, run_gather_tensor, &g);
    run_gather_end(&g);
    return 0;
}

/* A working file of the model's own form, made from the run's weights a layer at a time. Not to be
 * interrupted: a pause publishes too. */
static int publish_file(struct run *r)
{
    struct model *m = r->model;
    struct source s;
    const bool pending = interrupt_pending();
    int rc = disk_array_flush(r->weights.disk->block);
    if (rc == 0)
        rc = source_open_params(&s, &r->weights.view, m);
    if (rc != 0)
        return rc;
    interrupt_clear();
    weights_disk_read(r->weights.disk, &s);
    rc = panel_stream_replace(&m->params, &s, &r->before.file);
    source_close(&s);
    r->before.held = rc == 0;
    m->version++;
    m->changed = rc == 0 || r->before.changed;
    if (pending)
        interrupt_raise();
    return rc;
}

static int publish_probed(struct run *r)
{
    struct model *m = r->model;
    int rc = keep_before(r);
    if (rc != 0)
        return rc;
    if (r->adapter != NULL)
        run_adapter_publish(r);
    else
        rc = m->params.stream != NULL ? publish_file(r) : publish_weights(r);
    r->published = m->version;
    r->published_at = r->state.step;
    if (rc == 0 && r->probed_at != r->state.step)
        rc = probe_model(r);
    if (rc == 0)
        r->probed_at = r->state.step;
    else if (r->before.held)
        run_withdraw(r);
    else /* nothing has come of it */
        r->published = 0;
    if (is_within_step(r)) /* a pause: nothing is left to find out */
        run_publish_forget(r);
    return rc;
}

static int publish_profiled(struct run *r)
{
    profile_begin(SPAN_PUBLISH, r->state.step);
    int rc = publish_probed(r);
    profile_end();
    return rc;
}

int run_publish(struct run *r)
{
    const struct model *m = r->model;
    int rc = params_lost(&m->params);
    if (rc == 0 && !is_published(r))
        rc = publish_profiled(r);
    if (rc != 0)
        return rc;
    if (r->saved_step == r->state.step && r->adapter != NULL)
        run_adapter_saved(r);
    else if (r->saved_step == r->state.step && m->changed)
        point_at_checkpoint(r);
    return 0;
}

int run_probe(struct run *r)
{
    return r->probed_at == r->state.step ? 0 : run_publish(r);
}

void run_publish_saved(struct run *r)
{
    if (r->adapter != NULL)
        run_adapter_saved(r);
    else if (is_published(r) && r->model->changed) /* in no file that the user has chosen */
        point_at_checkpoint(r);
}
