#include "train/run/spread.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/parallel/spread.h"
#include "train/run/inside.h"
#include "train/run/layer_units.h"
#include "train/run/tensor_step.h"

struct run_spread {
    struct spread *weights;
    struct layer_units units;
};

int run_spread_open(struct run *r, int n_spans, const size_t *bounds)
{
    const struct weights *w = run_tensor_weights(r);
    struct run_spread *x = r->spread = mem_alloc(sizeof *x);
    if (x == NULL)
        return ERR_NOMEM;
    int rc = layer_units_init(&x->units, w, UNITS_FORWARD);
    if (rc != 0)
        return rc;
    const struct rank_group peers = layout_replicas(&r->layout);
    return spread_new(&x->weights, &peers,
                      &(struct unit_slices){.size = r->layout.replicas,
                                            .n_spans = n_spans,
                                            .bounds = bounds,
                                            .n_units = x->units.n,
                                            .units = x->units.units},
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
    if (r->spread != NULL)
        step_set_waiter(r->step, &(struct weights_waiter){await_layer, r->spread});
}

void run_spread_begin(struct run *r)
{
    if (r->spread != NULL)
        spread_begin(r->spread->weights, weights_block(run_tensor_weights(r)));
}

void run_spread_finish(struct run *r)
{
    if (r->spread != NULL)
        spread_finish(r->spread->weights);
}
