#include "train/run/tensor_step.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "train/parallel/shard_exchange.h"
#include "train/parallel/sum_ring.h"
#include "model/shard_cursor.h"
#include "train/run/inside.h"
#include "train/step/step.h"
#include "train/step/weights_init.h"

struct run_tensor {
    struct rank_group group; /* the ranks of this stage */
    struct shard shard;
    struct weights own; /* of the shard */
    struct sum_ring *ring;
    struct shard_exchange *exchange;
    struct spans slices; /* of the whole, that this rank updates */
    void *gradients;     /* from where they begin */
    size_t gradient_bytes;
    bool *ready;              /* [size] */
    struct transfer *meeting; /* [2 * size] */
};

bool run_tensor_is_on(const struct run *r)
{
    return r->layout.tensor > 1;
}

/* The replicas' parts are those of the reduced gradients that they have: a run of each shard. */
static struct weights_slice slice_of(const struct run *r, int rank)
{
    const struct layout *l = &r->layout;
    const bool sliced = r->config.execution.zero > 0;
    return (struct weights_slice){.replicas = sliced ? l->replicas : 1,
                                  .replica = sliced ? layout_replica_of(l, rank) : 0,
                                  .n = l->tensor,
                                  .own = layout_tensor_of(l, rank)};
}

static int open_slices(struct run *r)
{
    struct run_tensor *t = r->tensor;
    const size_t size = (size_t)t->group.size;
    struct spans *slices = mem_array(size, sizeof *slices);
    t->ready = mem_array(size, sizeof *t->ready);
    t->meeting = mem_array(2 * size, sizeof *t->meeting);
    if (slices == NULL || t->ready == NULL || t->meeting == NULL) {
        mem_free(slices);
        return ERR_NOMEM;
    }
    for (int i = 0; i < t->group.size; i++)
        slices[i] = run_tensor_slices(r, group_rank(&t->group, i));
    t->slices = slices[t->group.own];
    int rc =
        shard_exchange_new(&t->exchange, &t->group, &r->model->config, slices, r->weights.dtype);
    mem_free(slices);
    const struct span last = t->slices.at[t->slices.n - 1];
    t->gradient_bytes =
        (last.first + last.n - t->slices.at[0].first) * dtype_bytes(r->weights.dtype);
    if (rc == 0 && (t->gradients = mem_map("gradient slice", t->gradient_bytes)) == NULL)
        rc = ERR_NOMEM;
    return rc;
}

int run_tensor_open(struct run *r, const struct source *from, enum dtype precision)
{
    if (!world_threaded()) /* sums are sent by the team */
        return err_set(ERR_UNSUPPORTED, "this MPI serves one thread of a process alone, which "
                                        "tensor_parallel cannot do with: tensor_parallel=1");
    const struct model_stage stage =
        layout_stage(&r->layout, layout_stage_of(&r->layout, world_rank()));
    const struct weights_slice slice = slice_of(r, world_rank());
    struct run_tensor *t = r->tensor = mem_alloc(sizeof *t);
    if (t == NULL)
        return ERR_NOMEM;
    t->group = layout_tensor_group(&r->layout);
    shard_init(&t->shard, &r->model->config, t->group.size, t->group.own);
    int rc = sum_ring_new(&t->ring, &t->group);
    if (rc == 0)
        rc = weights_init_shard(&r->weights, &t->own, r->model, from, precision, &stage, &t->shard,
                                &slice, r->events.progress);
    if (rc == 0)
        rc = open_slices(r);
    if (rc == 0)
        t->shard.link = sum_ring_link(t->ring);
    return rc;
}

void run_tensor_close(struct run *r)
{
    struct run_tensor *t = r->tensor;
    if (t == NULL)
        return;
    weights_release(&t->own);
    sum_ring_free(t->ring);
    shard_exchange_free(t->exchange);
    mem_unmap(t->gradients, t->gradient_bytes);
    mem_free(t->ready);
    mem_free(t->meeting);
    mem_free(t);
    r->tensor = NULL;
}

/* None has more of the vocabulary than the first: rows of the loss that fit there fit everywhere.
 */
void run_tensor_fit(const struct run *r, struct step_config *s)
{
    const struct config *whole = &r->model->config;
    struct shard most;
    struct config shape;
    if (r->tensor == NULL)
        return;
    shard_init(&most, whole, r->tensor->group.size, 0);
    shard_config(&shape, whole, &most);
    s->loss_rows = step_loss_rows(&shape, s);
    s->shard = &r->tensor->shard;
}

struct weights *run_tensor_weights(struct run *r)
{
    return r->tensor == NULL ? &r->weights : &r->tensor->own;
}

struct spans run_tensor_slices(const struct run *r, int rank)
{
    const struct model_stage stage = layout_stage(&r->layout, layout_stage_of(&r->layout, rank));
    const struct weights_slice slice = slice_of(r, rank);
    return weights_slices(&r->weights, &stage, &slice);
}

void run_tensor_places(const struct run *r, size_t *elements, int n)
{
    const struct run_tensor *t = r->tensor;
    struct shard_cursor cursor;
    struct shard_run run = {0};
    bool here = true;
    shard_cursor_init(&cursor, &r->model->config, &t->shard);
    for (int i = 0; i < n; i++) {
        const size_t whole = elements[i];
        while (here && (run.n == 0 || run.whole < whole))
            here = shard_cursor_next(&cursor, &run, whole, SIZE_MAX, 1);
        elements[i] = here ? run.own : t->own.n;
    }
}

/* A word of each to each other. */
bool run_tensor_ready(struct run *r, bool ready, void (*meanwhile)(void *user), void *user)
{
    struct run_tensor *t = r->tensor;
    if (t == NULL)
        return ready;
    const enum profile_part was = profile_set(PART_EXCHANGE);
    const int size = t->group.size, own = t->group.own;
    t->ready[own] = ready;
    for (int i = 0; i < size; i++)
        if (i != own) {
            world_receive(group_rank(&t->group, i), TAG_READY, &t->ready[i], sizeof *t->ready,
                          &t->meeting[i]);
            world_send(group_rank(&t->group, i), TAG_READY, &t->ready[own], sizeof *t->ready,
                       &t->meeting[size + i]);
        }
    for (int times = 0; !world_test(t->meeting, 2 * size); world_pause(&times))
        if (meanwhile != NULL)
            meanwhile(user);
    profile_resume(was);
    for (int i = 0; i < size; i++)
        ready &= t->ready[i];
    return ready;
}

void run_tensor_gather_gradients(struct run *r, const void *shard, size_t first)
{
    struct run_tensor *t = r->tensor;
    const enum profile_part was = profile_set(PART_EXCHANGE);
    shard_exchange_gather(t->exchange, t->gradients, shard, first);
    profile_resume(was);
}

void run_tensor_spread_weights(struct run *r)
{
    struct run_tensor *t = r->tensor;
    const enum profile_part was = profile_set(PART_EXCHANGE);
    const size_t first = t->slices.at[0].first;
    shard_exchange_spread(t->exchange, weights_block(&t->own),
                          (const char *)weights_block(&r->weights) +
                              first * dtype_bytes(r->weights.dtype));
    profile_resume(was);
}

const void *run_tensor_gradients(const struct run *r)
{
    return r->tensor->gradients;
}
