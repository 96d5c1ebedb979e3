/* A run in which an adapter learns and the model's own weights stand still. */
#include "train/run_inside.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "weights/adapter_file.h"

#include <string.h>

/* A checkpoint of it refers to the file that the weights beside it come from. */
static int check_base(const struct model *m)
{
    return !m->changed
               ? 0
               : err_set(ERR_MISMATCH, "the weights in memory are in no file that an adapter could "
                                       "refer to; :save PATH them first");
}

int run_adapter_open(struct run *r)
{
    const struct adapter_config *c = &r->config.lora;
    struct model *m = r->model;
    int rc = 0;
    if (c->rank > 0 && (rc = check_base(m)) == 0 &&
        (rc = adapter_new(&r->adapter, c, &m->config)) == 0 &&
        (rc = adapter_new(&r->shown, c, &m->config)) == 0 &&
        (rc = adapter_make_room(r->shown, m)) == 0) {
        adapter_start(r->adapter, r->config.training.seed);
        params_hash(&r->masters.view, r->base);
        masters_stand_still(&r->masters, r->adapter);
    }
    r->learning = masters_learning(&r->masters);
    return rc;
}

int run_adapter_restore(struct run *r, const struct checkpoint *cp)
{
    struct adapter *a = NULL;
    if (r->adapter == NULL)
        return 0;
    int rc = adapter_read(&a, cp->path, &r->model->config);
    if (rc == 0 && (a->n_terms != r->adapter->n_terms || a->n != r->adapter->n))
        rc = err_set(ERR_MISMATCH, "its adapter is another than its configuration says");
    if (rc == 0)
        memcpy(r->adapter->data, a->data, a->n * sizeof *a->data);
    adapter_free(a);
    return rc;
}

void run_adapter_publish(struct run *r)
{
    masters_publish_adapter(&r->masters, r->shown, r->model);
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
}
