#include "train/run/adapter.h"

#include "model/adapter_switch.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "train/run/inside.h"
#include "weights/find.h"
#include "weights/hf/adapter_file.h"
#include "weights/model_source.h"
#include "weights/tensors/weights_sample.h"

#include <string.h>

/* By which whoever loads the adapter sees whether the base is the one it was trained with. */
static int sample_base(struct run *r)
{
    struct weights_sample *to = &r->adapter->base;
    struct source s;
    int rc = source_open_params(&s, &r->weights.view, r->model);
    if (rc != 0)
        return rc;
    rc = weights_sample_take(to, &s);
    source_close(&s);
    /* What was widened from Q8_0 for training is no closer to the file for it. */
    if (r->model->params.dtype == DTYPE_Q8)
        to->dtype = DTYPE_Q8;
    r->shown->base = *to;
    return rc;
}

int run_adapter_open(struct run *r)
{
    const struct adapter_config *c = &r->config.lora;
    struct model *m = r->model;
    int rc = 0;
    if (c->rank > 0 && (rc = adapter_new(&r->adapter, c, &m->config)) == 0 &&
        (rc = adapter_new(&r->shown, c, &m->config)) == 0 &&
        (rc = adapter_reserve(r->shown, m)) == 0 && (rc = sample_base(r)) == 0) {
        adapter_randomize(r->adapter, r->config.training.seed);
        params_hash(&r->weights.view, r->base);
        weights_freeze(&r->weights, r->adapter);
    }
    r->trainable = weights_trainable(&r->weights);
    return rc;
}

static bool allows_merged(void *user, const float *weights)
{
    return merge_limit_allows(user, weights);
}

int run_adapter_guard(struct run *r)
{
    if (r->adapter == NULL)
        return 0;
    int rc = merge_limit_init(&r->merge_limit, &r->weights, r->model->params.dtype);
    const struct optimizer_guard guard = {
        .reach = r->merge_limit.reach, .allows = allows_merged, .user = &r->merge_limit};
    return rc == 0 ? optimizer_set_guard(r->optimizer, &guard) : rc;
}

/* Of the same matrices, each multiplied by the same. */
static bool adapters_match(const struct adapter *a, const struct adapter *b)
{
    bool yes = a->n_branches == b->n_branches;
    for (int i = 0; i < a->n_branches && yes; i++) {
        const struct low_rank *s = &a->branches[i], *t = &b->branches[i];
        yes = s->layer == t->layer && s->site == t->site && s->rank == t->rank &&
              s->scale == t->scale;
    }
    return yes;
}

int run_adapter_first(struct adapter **out, const struct run_config *c, const struct config *shape)
{
    const char *path = c->model.adapter;
    struct adapter *a = NULL, *like = NULL;
    char shown[160], targets[160];
    *out = NULL;
    if (*path == '\0')
        return 0;
    if (c->lora.rank == 0)
        return err_set(ERR_RANGE, "lora.adapter is %s, but lora.rank is 0, which trains no adapter",
                       file_show(shown, sizeof shown, path));
    char *found, *title;
    int rc = weights_find(&found, &title, path, NULL);
    if (rc == 0)
        rc = adapter_read(&a, found, shape);
    mem_free(title);
    mem_free(found);
    if (rc == 0 && (rc = adapter_new(&like, &c->lora, shape)) == 0 && !adapters_match(a, like))
        rc = err_set(ERR_MISMATCH,
                     "the adapter %s does not match these settings: it has rank=%d alpha=%g "
                     "use_rslora=%s target_modules=%s",
                     file_show(shown, sizeof shown, path), a->config.rank, (double)a->config.alpha,
                     a->config.rslora ? "on" : "off",
                     file_show(targets, sizeof targets, a->config.targets));
    adapter_free(like);
    if (rc == 0)
        *out = a;
    else
        adapter_free(a);
    return rc;
}

int run_adapter_begin(struct run *r)
{
    struct adapter *a;
    char shown[160], name[64];
    int rc = run_adapter_first(&a, &r->config, &r->model->config);
    if (rc == 0 && a != NULL && !merge_limit_allows(&r->merge_limit, a->data))
        rc = err_set(ERR_RANGE, "the adapter %s makes weights of %s NaN or infinite%s",
                     file_show(shown, sizeof shown, r->config.model.adapter),
                     merge_limit_refused(name, &r->merge_limit),
                     r->model->params.dtype != DTYPE_F32 ? " (or beyond fp16's 65504)" : "");
    if (rc == 0 && a != NULL) {
        memcpy(r->adapter->data, a->data, a->n * sizeof *a->data);
        weights_sample_note(a, &r->adapter->base, r->model->name, r->events.progress);
    }
    adapter_free(a);
    return rc;
}

int run_adapter_restore(struct run *r, const struct checkpoint *cp)
{
    struct adapter *a = NULL;
    if (r->adapter == NULL)
        return 0;
    int rc = adapter_read_files(&a, cp->path, &cp->files, &r->model->config);
    if (rc == 0 && !adapters_match(a, r->adapter))
        rc = err_set(ERR_MISMATCH, "its adapter does not match its configuration");
    if (rc == 0)
        memcpy(r->adapter->data, a->data, a->n * sizeof *a->data);
    adapter_free(a);
    return rc;
}

void run_adapter_publish(struct run *r)
{
    weights_publish_adapter(&r->weights, r->shown, r->model);
}

void run_adapter_saved(struct run *r)
{
    char *path = run_folder_checkpoint(r->folder.path, r->saved_step);
    if (path == NULL || r->model->adapter != r->shown || r->published_at != r->saved_step) {
        mem_free(path);
        return;
    }
    mem_free(r->shown->path);
    r->shown->path = path;
    r->shown->changed = false;
}

void run_adapter_close(struct run *r)
{
    if (r->model == NULL || r->model->adapter != r->shown)
        adapter_free(r->shown);
    adapter_free(r->adapter);
    merge_limit_release(&r->merge_limit);
}
