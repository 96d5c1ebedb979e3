#include "train/run/open.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "train/data/overlap.h"
#include "train/run/adapter.h"
#include "train/run/check.h"
#include "train/run/evaluate.h"
#include "train/run/inside.h"
#include "train/parallel/world.h"
#include "train/run/pipeline_step.h"
#include "train/run/publish.h"
#include "train/run/ranks.h"
#include "train/run/ranks_check.h"
#include "train/run/report.h"
#include "train/run/take_step.h"
#include "train/run/tensor_step.h"
#include "weights/load.h"
#include "train/step/weights_init.h"

#include <inttypes.h>
#include <string.h>

/* Settings of which one leaves another nothing to do, and data of which not all counts. */
static void note_idle(const struct run *r)
{
    const struct run_config *c = &r->config;
    const int stride = c->data.stride, length = c->training.sequence_length;
    const struct schedule_config *s = &c->schedule;
    const int64_t start = schedule_decay_start(s, r->n_steps);
    if (stride > length)
        progress_note(r->events.progress,
                      "stride %d is more than sequence_length %d: %d of %d tokens are in no window",
                      stride, length, stride - length, stride);
    if (s->decay_start > 0 && s->decay_steps > 0 && start >= s->decay_steps &&
        s->kind != SCHEDULE_CONSTANT && s->kind != SCHEDULE_COSINE_RAMP)
        progress_note(r->events.progress,
                      "the decay starts at step %" PRId64 " (decay_start) and ends at step %" PRId64
                      " (decay_steps): the rate falls there at once",
                      start, s->decay_steps);
    if (r->train.n_prompt > 0)
        progress_note(r->events.progress,
                      "the loss counts completions alone: %" PRIu64 " of %" PRIu64
                      " tokens are of prompts (completion_only_loss=off counts these too)",
                      r->train.n_prompt, r->train.n_tokens);
}

static int find_data(struct run *r)
{
    const struct run_config *c = &r->config;
    struct data_config data = c->data;
    if (data.seed == 0)
        data.seed = c->training.seed;
    int rc = dataset_open(&r->train, &r->validation, &data, r->model->tokenizer,
                          r->model->config.n_vocab, r->events.progress);
    if (rc == 0)
        rc = data_note_overlap(data.data, data.validation, r->events.progress);
    if (rc == 0)
        rc = batches_new(&r->batches, &r->train, &data, c->training.micro_batch_size,
                         c->training.sequence_length);
    if (rc == 0 && r->validation.n_tokens == 1)
        rc = err_set(ERR_RANGE, "%s has 1 token for validation, expected at least 2",
                     r->validation.name);
    if (rc == 0) {
        r->n_steps = run_config_steps(c, batches_per_epoch(r->batches));
        if (batches_plan(r->batches, r->n_steps, c->training.global_batch_size) != 0)
            rc = RUN_BLAME(c, RUN_ROW(data.data));
    }
    if (rc == 0)
        note_idle(r);
    return rc;
}

static int open_data(struct run *r)
{
    profile_begin(SPAN_DATA, -1);
    int rc = find_data(r);
    profile_end();
    return rc;
}

/* One process does all, whatever the settings have for several. */
static int open_layout(struct run *r)
{
    const int n_layer = r->model->config.n_layer;
    layout_init(&r->layout, n_layer, 1);
    if (world_size() == 1)
        return 0;
    int rc = layout_read(&r->layout, r->config.execution.layers_per_device, n_layer);
    if (rc == 0)
        rc = layout_divide(&r->layout, r->config.execution.virtual_stages);
    r->layout.tensor = r->config.execution.tensor_parallel;
    r->layout.replicas = world_size() / (r->layout.stages * r->layout.tensor);
    return rc;
}

/* What the model in use takes while its layers are on disk. */
static double stream_bytes(const struct params *p)
{
    const struct layer_stream_plan *plan = layer_stream_planned(p->stream);
    return (double)(plan->kept_bytes + plan->slot_bytes);
}

/* From the files that the model was read from, while these are open. */
static int open_weights(struct run *r, const struct model_files *open)
{
    const bool is_open = open != NULL && open->source.table.n_tensors > 0;
    const struct model_stage stage =
        layout_stage(&r->layout, layout_stage_of(&r->layout, world_rank()));
    const enum dtype precision = (enum dtype)r->config.training.precision;
    const struct source *from = is_open ? &open->source : NULL;
    const struct params *p = &r->model->params;
    struct step_config s;
    run_config_step(&r->config, &r->model->config, &s);
    int rc = phased_plan(&r->phased, &r->config, &r->model->config, &s,
                         p->stream == NULL ? (double)params_bytes(&p->config, p->dtype)
                                           : stream_bytes(p));
    if (rc == 0 && !r->phased.streams)
        rc = params_need_memory(p, "training the model in use");
    if (rc != 0)
        return rc;
    if (run_tensor_is_on(r))
        return run_tensor_open(r, from, precision);
    if (!r->phased.streams)
        return weights_init_stage(&r->weights, r->model, from, precision, &stage,
                                  r->events.progress);
    struct weights_place place = r->phased.weights;
    place.folder = r->folder.path;
    return weights_init_on_disk(&r->weights, r->model, from, precision, r->events.progress, &place);
}

/* Rank 0 writes there, and others only know where. */
static int open_folder(struct run *r)
{
    const char *path = r->config.checkpoint.folder;
    if (world_rank() == 0)
        return run_folder_open(&r->folder, path);
    r->folder.there = strlen(path); /* nothing of it is this rank's to undo */
    return (r->folder.path = mem_strdup(path)) == NULL ? ERR_NOMEM : 0;
}

/* The working file lies in the run's folder, without a name. */
static int open_optimizer(struct run *r)
{
    const struct run_config *c = &r->config;
    const struct optimizer_layout layout = weights_layout(&r->trainable);
    return optimizer_new_on_disk(&r->optimizer, &c->optimizer, layout,
                                 c->execution.phased ? r->folder.path : NULL,
                                 r->phased.n_moments_kept);
}

int run_build(struct run *r, const struct run_config *c, struct model *m,
              const struct model_files *open, const struct run_events *e)
{
    r->events = *e;
    r->model = m;
    r->folder.lock = -1;
    r->saved_step = r->evaluated_step = -1;
    trainer_state_init(&r->state, c->training.loss_scaling);
    int rc = run_config_copy(&r->config, c);
    if (rc == 0 && (rc = open_layout(r)) == 0 && (rc = open_folder(r)) == 0 &&
        (rc = open_data(r)) == 0 && (rc = open_weights(r, open)) == 0 &&
        (rc = run_adapter_open(r)) == 0 && (rc = open_optimizer(r)) == 0 &&
        (rc = run_adapter_guard(r)) == 0 && (rc = run_publish_open(r)) == 0 &&
        (rc = run_shares_open(r, run_ranks_stopped)) == 0 && (rc = run_ranks_open(r)) == 0 &&
        (rc = run_pipeline_open(r)) == 0)
        rc = run_fit_team(r);
    /* An adapter has a guard of its own; other weights are as the model has them. */
    if (rc == 0 && r->adapter == NULL && m->params.dtype != DTYPE_F32)
        optimizer_set_limit(r->optimizer, OPTIMIZER_HALF_LIMIT);
    return rc;
}

int run_new(struct run **out, const struct run_config *c, struct model *m,
            const struct model_files *open, const struct run_events *e)
{
    int rc = run_refuse_old(c->checkpoint.folder);
    if (rc == 0)
        rc = run_check_model(c, m);
    if (rc != 0)
        return rc;
    struct run *r = mem_alloc(sizeof *r);
    rc = r == NULL ? ERR_NOMEM : run_build(r, c, m, open, e);
    if (rc == 0)
        rc = run_adapter_begin(r);
    /* Until its first step the model has the run's weights, and no others than before. */
    if (rc == 0 && r->adapter == NULL && r->weights.dtype == DTYPE_F32)
        r->published = m->version;
    if (rc == 0 && world_rank() == 0)
        rc = metrics_open(&r->log, c->checkpoint.folder, NULL, -1, c->logging.label);
    if (rc == 0 && world_rank() == 0)
        rc = metrics_start(r->log, c->logging.tensorboard);
    if (rc == 0) {
        if (c->logging.eval_first && c->logging.eval_every > 0 && run_has_eval(r))
            r->due = DUE_EVAL | DUE_LINE;
        run_fill_metrics(r);
        *out = r;
    } else {
        run_drop(r);
    }
    return rc;
}

int run_join(struct run *r, int rc)
{
    if (world_size() == 1)
        return rc;
    if ((rc = world_agree(rc)) == 0 && (rc = run_ranks_check(r)) == 0)
        r->joined = true;
    return rc;
}

void run_free(struct run *r)
{
    if (r == NULL)
        return;
    run_ranks_close(r);
    run_shares_close(r);
    run_pipeline_close(r);
    metrics_close(r->log);
    if (r->phased_step == NULL)
        step_free(r->step);
    phased_free(r->phased_step);
    activation_stats_release(&r->activation_stats);
    optimizer_free(r->optimizer);
    weights_release(&r->weights);
    run_tensor_close(r);
    run_publish_close(r);
    run_adapter_close(r);
    batches_free(r->batches);
    mem_free(r->reads);
    eval_result_release(&r->evaluation);
    dataset_close(&r->train);
    dataset_close(&r->validation);
    run_folder_close(&r->folder);
    run_config_release(&r->config);
    mem_free(r);
}

void run_drop(struct run *r)
{
    if (r != NULL)
        run_folder_undo(&r->folder);
    run_free(r);
}
