#include "train/run/scatter.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "model/base/progress.h"
#include "model/schema.h"
#include "train/parallel/reduce_scatter.h"
#include "train/run/inside.h"
#include "train/run/tensor_step.h"

struct run_scatter {
    struct reduce_scatter *gradients;
    int n_layer;
    bool (*stopped)(struct run *r);
};

bool run_scatter_is_on(const struct run *r)
{
    return r->layout.replicas > 1 && r->config.execution.zero > 1;
}

/* Micro-batches of a block. */
static int of_block(const struct run *r)
{
    const struct training_section *t = &r->config.training;
    return t->gradient_accumulation / t->gradient_blocks;
}

/* The layers from the last to the first, then what lies behind them and before them. */
static void list_units(const struct weights *w, struct gradient_unit *units)
{
    const struct config *c = &w->view.config;
    const int begin = schema_first_of_layers(c), each = schema_tensors_per_layer(c);
    const int end = begin + c->n_layer * each;
    struct gradient_unit *u = units;
    for (int first = end - each; first >= begin; first -= each, u++)
        *u = (struct gradient_unit){w->offset[first], w->offset[first + each] - w->offset[first]};
    *u++ = (struct gradient_unit){w->offset[end], w->n - w->offset[end]};
    *u = (struct gradient_unit){0, w->offset[begin]};
}

int run_scatter_open(struct run *r, const size_t *bounds, bool (*stopped)(struct run *r))
{
    if (!run_scatter_is_on(r))
        return 0;
    const int n_layer = r->model->config.n_layer;
    struct run_scatter *x = r->scatter = mem_alloc(sizeof *x);
    struct gradient_unit *units = mem_array((size_t)n_layer + 2, sizeof *units);
    int rc = x == NULL || units == NULL ? ERR_NOMEM : 0;
    if (rc == 0) {
        x->n_layer = n_layer;
        x->stopped = stopped;
        list_units(&r->weights, units);
        rc = reduce_scatter_new(&x->gradients,
                                &(struct reduce_scatter_shape){
                                    .n_blocks = r->config.training.gradient_blocks,
                                    .bounds = bounds,
                                    .dtype = r->weights.dtype,
                                    .half = r->config.execution.half_partials,
                                    .n_units = n_layer + 2,
                                    .units = units,
                                    .most_pending = of_block(r) == 1 ? GRADIENTS_PENDING : 0});
    }
    mem_free(units);
    return rc;
}

void run_scatter_close(struct run *r)
{
    if (r->scatter == NULL)
        return;
    reduce_scatter_free(r->scatter->gradients);
    mem_free(r->scatter);
    r->scatter = NULL;
}

int run_scatter_micro(const struct run *r)
{
    const int n = r->config.training.gradient_blocks;
    return reduce_scatter_count(n, world_size(), world_rank()) * of_block(r);
}

uint64_t run_scatter_offset(const struct run *r)
{
    const int each = of_block(r);
    const int block = reduce_scatter_block(world_size(), world_rank(), r->micro / each);
    return ((uint64_t)block * (uint64_t)each + (uint64_t)(r->micro % each)) *
           (uint64_t)r->config.training.micro_batch_size;
}

/* ---- a step ---- */

/* What the step calls a layer is the scatter's unit; outside them, the last one. */
static int layer_unit(const struct run_scatter *x, int layer)
{
    return layer < 0 ? x->n_layer + 1 : x->n_layer - 1 - layer;
}

/* A rank that has stopped gives nothing any more. */
static bool await_layer(void *user, int layer)
{
    struct run *r = user;
    const int unit = layer_unit(r->scatter, layer);
    const enum profile_part was = profile_set(PART_EXCHANGE);
    bool free = reduce_scatter_await(r->scatter->gradients, unit);
    while (!free && !interrupt_pending() && !r->scatter->stopped(r))
        free = reduce_scatter_await(r->scatter->gradients, unit);
    profile_resume(was);
    return free;
}

static void take_layer(void *user, int layer)
{
    const struct run *r = user;
    const enum profile_part was = profile_set(PART_EXCHANGE);
    reduce_scatter_give(r->scatter->gradients, layer_unit(r->scatter, layer));
    profile_resume(was);
}

void run_scatter_fit_step(struct run *r)
{
    if (r->scatter != NULL)
        step_set_taker(r->step, &(struct gradient_taker){await_layer, take_layer, r});
}

void run_scatter_begin(struct run *r)
{
    if (r->scatter != NULL)
        reduce_scatter_begin(r->scatter->gradients, step_gradients(r->step));
}

void run_scatter_end_block(struct run *r)
{
    if (r->scatter == NULL)
        return;
    reduce_scatter_end_block(r->scatter->gradients, &r->sum);
    r->sum = (struct step_result){0};
    if (r->micro < run_scatter_micro(r)) /* others have the windows between */
        batches_seek(r->batches, r->state.windows + run_scatter_offset(r));
}

void run_scatter_finish(struct run *r)
{
    const enum profile_part was = profile_set(PART_EXCHANGE);
    reduce_scatter_finish(r->scatter->gradients, &r->sum);
    profile_resume(was);
}

void run_scatter_abandon(struct run *r)
{
    if (r->scatter != NULL)
        reduce_scatter_abandon(r->scatter->gradients);
}

const void *run_scatter_gradients(const struct run *r)
{
    return r->tensor != NULL    ? run_tensor_gradients(r)
           : r->scatter != NULL ? reduce_scatter_slice(r->scatter->gradients)
                                : step_gradients(r->step);
}
