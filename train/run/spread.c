#include "train/run/spread.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/parallel/spread.h"
#include "train/run/inside.h"
#include "train/run/layer_units.h"
#include "train/run/tensor_step.h"

struct run_spread {
    struct spread *weights;
    bool by_layer; /* else at once: an adapter is small, and merged before anything is computed */
    struct layer_units units;
};

static struct weights *spread_weights(struct run *r)
{
    return r->adapter != NULL ? &r->trainable : run_tensor_weights(r);
}

int run_spread_open(struct run *r, int n_spans, const size_t *bounds)
{
    const struct weights *w = spread_weights(r);
    const struct sliced_unit all = {.n = w->n};
    struct run_spread *x = r->spread = mem_alloc(sizeof *x);
    if (x == NULL)
        return ERR_NOMEM;
    x->by_layer = r->adapter == NULL;
    int rc = x->by_layer ? layer_units_init(&x->units, w, UNITS_FORWARD) : 0;
    if (rc != 0)
        return rc;
    const struct rank_group peers = layout_replicas(&r->layout);
    return spread_new(&x->weights, &peers,
                      &(struct unit_slices){.size = r->layout.replicas,
                                            .n_spans = n_spans,
                                            .bounds = bounds,
                                            .n_units = x->by_layer ? x->units.n : 1,
                                            .units = x->by_layer ? x->units.units : &all},
                      dtype_bytes(w->dtype));
}

void run_spread_close(struct run *r)
{
    if (r->spread == NULL)
        return;
    spread_free(r->spread->weights);
    layer_units_release(&r->spread->units);
    mem_free(r->spread);
    r->spread = NULL;
}

static void await_layer(void *user, int layer)
{
    const struct run_spread *x = user;
    spread_await(x->weights, layer_units_of(&x->units, layer));
}

void run_spread_fit_step(struct run *r)
{
    if (r->spread != NULL && r->spread->by_layer)
        step_set_waiter(r->step, &(struct weights_waiter){await_layer, r->spread});
}

void run_spread_begin(struct run *r)
{
    if (r->spread == NULL)
        return;
    spread_begin(r->spread->weights, weights_block(spread_weights(r)));
    if (!r->spread->by_layer)
        spread_finish(r->spread->weights);
}

void run_spread_finish(struct run *r)
{
    if (r->spread != NULL)
        spread_finish(r->spread->weights);
}
