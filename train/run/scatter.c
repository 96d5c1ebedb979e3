#include "train/run/scatter.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "model/base/progress.h"
#include "train/parallel/reduce_scatter.h"
#include "train/run/inside.h"
#include "train/run/layer_units.h"
#include "train/run/tensor_step.h"

struct run_scatter {
    struct reduce_scatter *gradients;
    struct layer_units units;
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

/* A pass over a micro-batch that waits for each layer's memory keeps to few of them. */
static bool waits_by_layer(const struct run *r)
{
    return r->layout.stages == 1 && r->tensor == NULL;
}

int run_scatter_open(struct run *r, int n_spans, const size_t *bounds,
                     bool (*stopped)(struct run *r))
{
    if (!run_scatter_is_on(r))
        return 0;
    if (!world_threaded()) /* they are sent while the team computes */
        return err_set(ERR_UNSUPPORTED, "this MPI serves one thread of a process alone, which "
                                        "zero=2 cannot do with: zero=1");
    struct run_scatter *x = r->scatter = mem_alloc(sizeof *x);
    if (x == NULL)
        return ERR_NOMEM;
    x->stopped = stopped;
    int rc = layer_units_init(&x->units, run_tensor_weights(r), UNITS_BACKWARD);
    if (rc == 0)
        rc = reduce_scatter_new(
            &x->gradients,
            &(struct reduce_scatter_shape){
                .group = layout_replicas(&r->layout),
                .n_blocks = r->config.training.gradient_blocks,
                .slices = {.size = r->layout.replicas,
                           .n_spans = n_spans,
                           .bounds = bounds,
                           .n_units = x->units.n,
                           .units = x->units.units},
                .dtype = r->weights.dtype,
                .half = r->config.execution.half_partials,
                .most_pending = waits_by_layer(r) && of_block(r) == 1 ? GRADIENTS_PENDING : 0});
    return rc;
}

void run_scatter_close(struct run *r)
{
    if (r->scatter == NULL)
        return;
    reduce_scatter_free(r->scatter->gradients);
    layer_units_release(&r->scatter->units);
    mem_free(r->scatter);
    r->scatter = NULL;
}

int run_scatter_micro(const struct run *r)
{
    const int n = r->config.training.gradient_blocks,
              replica = layout_replica_of(&r->layout, world_rank());
    return reduce_scatter_count(n, r->layout.replicas, replica) * of_block(r);
}

uint64_t run_scatter_offset(const struct run *r, int micro)
{
    const int each = of_block(r), replica = layout_replica_of(&r->layout, world_rank()),
              block = reduce_scatter_block(r->layout.replicas, replica, micro / each);
    return ((uint64_t)block * (uint64_t)each + (uint64_t)(micro % each)) *
           (uint64_t)r->config.training.micro_batch_size;
}

void run_scatter_seek(struct run *r, int micro)
{
    if (r->scatter != NULL && micro > 0 && micro % of_block(r) == 0)
        batches_seek(r->batches, r->state.windows + run_scatter_offset(r, micro));
}

/* ---- a step ---- */

bool run_scatter_is_ready(const struct run *r, int micro, int layer)
{
    return r->scatter == NULL || micro % of_block(r) > 0 ||
           reduce_scatter_is_ready(r->scatter->gradients,
                                   layer_units_of(&r->scatter->units, layer));
}

/* A rank that has stopped gives nothing any more. */
static bool await_layer(void *user, int layer)
{
    struct run *r = user;
    const int unit = layer_units_of(&r->scatter->units, layer);
    const enum profile_part was = profile_set(PART_EXCHANGE);
    bool free = reduce_scatter_await(r->scatter->gradients, unit);
    while (!free && !interrupt_pending() && !r->scatter->stopped(r))
        free = reduce_scatter_await(r->scatter->gradients, unit);
    profile_resume(was);
    return free;
}

int run_scatter_await(struct run *r, bool *stopped)
{
    if (r->scatter == NULL || r->tensor == NULL || r->micro % of_block(r) > 0 || await_layer(r, -1))
        return 0;
    *stopped = true;
    return interrupt_pending() ? err_set(ERR_INTERRUPTED, "paused") : 0;
}

static void take_layer(void *user, int layer)
{
    const struct run *r = user;
    const enum profile_part was = profile_set(PART_EXCHANGE);
    reduce_scatter_give(r->scatter->gradients, layer_units_of(&r->scatter->units, layer));
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
}

void run_scatter_finish(struct run *r)
{
    if (r->scatter != NULL)
        reduce_scatter_finish(r->scatter->gradients, &r->sum);
}

void run_scatter_abandon(struct run *r)
{
    if (r->scatter != NULL)
        reduce_scatter_abandon(r->scatter->gradients);
}

const void *run_scatter_slices(const struct run *r, size_t *first)
{
    *first = reduce_scatter_first(r->scatter->gradients);
    return reduce_scatter_slices(r->scatter->gradients);
}

const void *run_scatter_gradients(const struct run *r)
{
    return r->tensor != NULL    ? run_tensor_gradients(r)
           : r->scatter != NULL ? reduce_scatter_slices(r->scatter->gradients)
                                : step_gradients(r->step);
}
