#include "train/run/publish.h"

#include "train/run/adapter.h"
#include "train/run/inside.h"
#include "weights/model_source.h"

/* The model has the weights of the last step. */
static bool is_published(const struct run *r)
{
    return r->published == r->model->version && r->published_at == r->state.step;
}

void run_point_model(struct run *r, char *path)
{
    source_moved(r->model, path);
    r->model->file_dtype = r->weights.dtype;
}

static void point_at_checkpoint(struct run *r)
{
    run_point_model(r, run_folder_checkpoint(r->folder.path, r->saved_step));
}

void run_publish(struct run *r)
{
    struct model *m = r->model;
    if (!is_published(r)) {
        if (r->adapter != NULL)
            run_adapter_publish(r);
        else
            weights_publish(&r->weights, m);
        r->published = m->version;
        r->published_at = r->state.step;
    }
    if (r->saved_step == r->state.step && r->adapter != NULL)
        run_adapter_saved(r);
    else if (r->saved_step == r->state.step && m->changed)
        point_at_checkpoint(r);
}

void run_publish_saved(struct run *r)
{
    if (r->adapter != NULL)
        run_adapter_saved(r);
    else if (is_published(r))
        point_at_checkpoint(r);
}
