#include "train/run/shares.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "train/parallel/division.h"
#include "train/parallel/reduction.h"
#include "train/run/inside.h"
#include "train/run/scatter.h"
#include "train/run/spread.h"
#include "train/run/tensor_step.h"

#include <string.h>

_Static_assert((int)OPTIMIZER_MAX_RUNS == (int)STAGE_MAX_SPANS,
               "the optimizer has a run for each span");

struct run_shares {
    struct reduction *reductions[STAGE_MAX_SPANS]; /* of each span; NULL: there is one replica */
    bool sliced;    /* replicas divide what they update (zero=1, 2) */
    size_t *bounds; /* [replicas + 1] */
    int *firsts;    /* [replicas + 1], of the blocks of each */
    bool *flags;    /* [world] */
};

/* ---- who has what ---- */

static struct spans stage_spans(const struct run *r, int rank)
{
    if (r->tensor != NULL)
        return run_tensor_slices(r, rank);
    if (r->layout.stages == 1)
        return (struct spans){.n = 1, .at = {{0, r->trainable.n}}};
    const struct model_stage s = layout_stage(&r->layout, layout_stage_of(&r->layout, rank));
    return weights_spans(&r->weights, &s);
}

/* What a rank has of the weights, or of the moments. */
static struct spans rank_spans(const struct run *r, int rank, enum run_share what)
{
    struct spans out = stage_spans(r, rank);
    size_t *bounds = r->shares->bounds;
    const int replica = layout_replica_of(&r->layout, rank);
    const bool whole = r->tensor != NULL || what == SHARE_WEIGHTS || !r->shares->sliced;
    for (int i = 0; i < out.n && !whole; i++) {
        struct span *s = &out.at[i];
        optimizer_slices(r->optimizer, s->first, s->first + s->n, r->layout.replicas, bounds);
        *s = (struct span){bounds[replica], bounds[replica + 1] - bounds[replica]};
    }
    return out;
}

bool run_shares_speaks(const struct run *r, int rank, enum run_share what)
{
    return (r->shares->sliced && (what == SHARE_STATE || r->tensor != NULL)) ||
           layout_replica_of(&r->layout, rank) == 0;
}

bool run_shares_is_divided(const struct run *r, enum run_share what)
{
    return r->shares != NULL && (r->layout.stages > 1 || r->tensor != NULL ||
                                 (what == SHARE_STATE && r->shares->sliced));
}

/* ---- an optimizer whose state is shared ---- */

static void spread_sums(void *user, double *sums)
{
    const struct run *r = user;
    for (int rank = 0; rank < world_size(); rank++) {
        const struct spans own = rank_spans(r, rank, SHARE_STATE);
        for (int i = 0; i < own.n && run_shares_speaks(r, rank, SHARE_STATE); i++) {
            const struct span s = own.at[i];
            const int first = optimizer_pieces(r->optimizer, s.first),
                      last = optimizer_pieces(r->optimizer, s.first + s.n);
            world_broadcast(sums + 2 * (size_t)first, (size_t)(last - first) * 2 * sizeof *sums,
                            rank);
        }
    }
}

static bool is_any(void *user, bool here)
{
    const struct run *r = user;
    bool any = false;
    world_all_gather(r->shares->flags, &here, sizeof here);
    for (int i = 0; i < world_size(); i++)
        any |= r->shares->flags[i];
    return any;
}

static void open_share(struct run *r)
{
    struct optimizer_share share = {.spread_sums = spread_sums, .any = is_any, .user = r};
    const struct spans own = rank_spans(r, world_rank(), SHARE_STATE);
    if (r->tensor != NULL)
        share.first_gradient = stage_spans(r, world_rank()).at[0].first;
    else if (r->scatter != NULL)
        share.first_gradient = own.at[0].first;
    for (int i = 0; i < own.n; i++) {
        share.runs[i].first = own.at[i].first;
        share.runs[i].last = own.at[i].first + own.at[i].n;
    }
    share.n_runs = own.n;
    optimizer_set_share(r->optimizer, &share);
}

/* ---- opening ---- */

/* What the replicas divide: all, or this rank's stage. */
static struct spans divided_spans(const struct run *r)
{
    if (r->layout.stages == 1 && r->tensor == NULL)
        return (struct spans){.n = 1, .at = {{0, r->trainable.n}}};
    return weights_spans(&r->weights, &r->weights.stage);
}

/* Where the slices of a span begin, in what this rank computes with. */
static void find_bounds(struct run *r, struct span s)
{
    const int replicas = r->layout.replicas;
    size_t *bounds = r->shares->bounds;
    optimizer_slices(r->optimizer, s.first, s.first + s.n, replicas, bounds);
    if (r->tensor != NULL)
        run_tensor_places(r, bounds, replicas + 1);
}

/* One for each span, since slices are parts of one. */
static int open_reductions(struct run *r)
{
    const struct rank_group peers = layout_replicas(&r->layout);
    const struct spans own = divided_spans(r);
    int rc = 0;
    for (int i = 0; i < own.n && rc == 0; i++) {
        find_bounds(r, own.at[i]);
        rc = reduction_new(&r->shares->reductions[i], &peers, r->shares->firsts, r->shares->bounds,
                           r->trainable.dtype, r->config.execution.half_partials);
    }
    return rc;
}

/* What goes from slice to slice while a step is computed. */
static int open_slices(struct run *r, bool (*stopped)(struct run *r))
{
    const struct spans own = divided_spans(r);
    const size_t n = (size_t)r->layout.replicas + 1;
    size_t *bounds = mem_array((size_t)own.n * n, sizeof *bounds);
    if (bounds == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < own.n; i++) {
        find_bounds(r, own.at[i]);
        memcpy(bounds + (size_t)i * n, r->shares->bounds, n * sizeof *bounds);
    }
    int rc = run_scatter_open(r, own.n, bounds, stopped);
    if (rc == 0)
        rc = run_spread_open(r, own.n, bounds);
    mem_free(bounds);
    return rc;
}

static void close_reductions(struct run_shares *k)
{
    for (int i = 0; i < STAGE_MAX_SPANS; i++) {
        reduction_free(k->reductions[i]);
        k->reductions[i] = NULL;
    }
}

void run_shares_blocks(const struct run *r, int *first, int *last)
{
    const int replica = layout_replica_of(&r->layout, world_rank());
    *first = r->shares == NULL ? 0 : r->shares->firsts[replica];
    *last = r->shares == NULL ? r->config.training.gradient_blocks : r->shares->firsts[replica + 1];
}

int *run_shares_firsts(struct run *r)
{
    return r->shares->firsts;
}

size_t run_shares_firsts_bytes(const struct run *r)
{
    return ((size_t)r->layout.replicas + 1) * sizeof *r->shares->firsts;
}

int run_shares_take_division(struct run *r)
{
    close_reductions(r->shares);
    return open_reductions(r);
}

int run_shares_open(struct run *r, bool (*stopped)(struct run *r))
{
    int rc = 0;
    if (world_size() == 1)
        return 0;
    struct run_shares *k = r->shares = mem_alloc(sizeof *k);
    if (k == NULL)
        return ERR_NOMEM;
    k->sliced = r->config.execution.zero > 0 && r->layout.replicas > 1;
    k->bounds = mem_array((size_t)r->layout.replicas + 1, sizeof *k->bounds);
    k->flags = mem_array((size_t)world_size(), sizeof *k->flags);
    k->firsts = mem_array((size_t)r->layout.replicas + 1, sizeof *k->firsts);
    if (k->bounds == NULL || k->flags == NULL || k->firsts == NULL)
        return ERR_NOMEM;
    division_even(k->firsts, r->config.training.gradient_blocks, r->layout.replicas);
    if (r->layout.replicas > 1 && !run_scatter_is_on(r))
        rc = open_reductions(r);
    if (rc == 0 && k->sliced)
        rc = open_slices(r, stopped);
    if (rc == 0 && run_shares_is_divided(r, SHARE_STATE))
        open_share(r);
    return rc;
}

void run_shares_close(struct run *r)
{
    struct run_shares *k = r->shares;
    if (k == NULL)
        return;
    run_spread_close(r);
    run_scatter_close(r);
    close_reductions(k);
    mem_free(k->bounds);
    mem_free(k->firsts);
    mem_free(k->flags);
    mem_free(k);
    r->shares = NULL;
}

/* ---- steps ---- */

static void add_gradients(struct run *r)
{
    struct run_shares *k = r->shares;
    run_scatter_finish(r);
    for (int i = 0; i < STAGE_MAX_SPANS; i++)
        if (k->reductions[i] != NULL)
            reduction_run(k->reductions[i], step_blocks(r->step), step_gradients(r->step), &r->sum,
                          !k->sliced);
    if (r->layout.stages > 1)
        world_broadcast(&r->sum, sizeof r->sum, 0);
    size_t first = 0;
    const void *own = r->scatter != NULL ? run_scatter_slices(r, &first) : step_gradients(r->step);
    if (r->tensor != NULL)
        run_tensor_gather_gradients(r, own, first);
}

void run_shares_add(struct run *r)
{
    if (r->shares == NULL)
        return;
    const enum profile_part was = profile_set(PART_EXCHANGE);
    run_spread_finish(r); /* the last step's, before this one's are changed */
    add_gradients(r);
    profile_resume(was);
}

void run_shares_spread_weights(struct run *r)
{
    if (r->tensor != NULL)
        run_tensor_spread_weights(r);
    run_spread_begin(r);
}

/* Of the windows of all replicas, on the first: those of some layers of this rank. */
static void join_stats(struct run *r, struct layer_range layers)
{
    const struct rank_group peers = layout_replicas(&r->layout);
    struct activation_stats *a = &r->activation_stats;
    struct activation_sums theirs[N_ACTIVATION_SITES];
    for (int i = 1; i < peers.size; i++)
        for (int layer = layers.first; layer < layers.last; layer++) {
            if (peers.own == 0) {
                world_receive_whole(group_rank(&peers, i), TAG_STATE, theirs, sizeof theirs);
                activation_stats_join(a, layer, theirs);
            } else if (peers.own == i) {
                world_send_whole(group_rank(&peers, 0), TAG_STATE,
                                 &a->total[layer * N_ACTIVATION_SITES], sizeof theirs);
            }
        }
}

/* Some layers of a stage of the first replica, to rank 0. */
static void move_stats(struct run *r, int stage, struct layer_range layers)
{
    struct activation_sums *at = r->activation_stats.total + layers.first * N_ACTIVATION_SITES;
    const size_t bytes = (size_t)(layers.last - layers.first) * N_ACTIVATION_SITES * sizeof *at;
    if (world_rank() == 0)
        world_receive_whole(stage, TAG_STATE, at, bytes);
    else if (world_rank() == stage)
        world_send_whole(0, TAG_STATE, at, bytes);
}

void run_shares_gather_stats(struct run *r)
{
    const int rank = world_rank();
    const struct model_stage own = layout_stage(&r->layout, layout_stage_of(&r->layout, rank));
    for (int i = 0; i < own.n_chunks && r->shares != NULL; i++)
        join_stats(r, own.chunks[i]);
    if (r->layout.stages == 1 || layout_replica_of(&r->layout, rank) > 0)
        return;
    for (int stage = 1; stage < r->layout.stages; stage++) {
        const struct model_stage s = layout_stage(&r->layout, stage);
        for (int i = 0; i < s.n_chunks; i++)
            move_stats(r, stage, s.chunks[i]);
    }
}

/* ---- parts of it ---- */

/* The blocks there are of it: the optimizer's, or the weights. */
static int list_blocks(const struct run *r, enum run_share what,
                       struct optimizer_block out[OPTIMIZER_MAX_BLOCKS])
{
    if (what == SHARE_STATE)
        return optimizer_blocks(r->optimizer, out);
    out[0] = (struct optimizer_block){
        .dtype = r->weights.dtype, .data = r->weights.view.block, .n = r->weights.n};
    return 1;
}

/* A span of it in a block, in the block's own elements. */
static struct span in_block(const struct run *r, const struct optimizer_block *b, struct span s)
{
    const size_t first = optimizer_block_index(r->optimizer, b, s.first),
                 last = optimizer_block_index(r->optimizer, b, s.first + s.n);
    return (struct span){first, last - first};
}

/* Of those bytes the ones from the first on that a rank has; none where it lacks the first. */
static size_t bytes_of(const struct run *r, const struct optimizer_block *b,
                       const struct run_part *p, int rank)
{
    const struct spans own = rank_spans(r, rank, p->what);
    const size_t each = dtype_bytes(b->dtype);
    for (int i = 0; i < own.n; i++) {
        const struct span s = in_block(r, b, own.at[i]);
        const size_t first = s.first * each, last = (s.first + s.n) * each;
        if (p->first >= first && p->first < last)
            return last - p->first < p->n ? last - p->first : p->n;
    }
    return 0;
}

struct run_part run_shares_part(const struct run *r, enum run_share what, int block, size_t first,
                                size_t n)
{
    struct optimizer_block blocks[OPTIMIZER_MAX_BLOCKS];
    struct run_part p = {.what = what, .block = block, .first = first, .n = n};
    if (!run_shares_is_divided(r, what))
        return p;
    list_blocks(r, what, blocks);
    for (int rank = 0; rank < world_size(); rank++) {
        const size_t has =
            run_shares_speaks(r, rank, what) ? bytes_of(r, &blocks[block], &p, rank) : 0;
        if (has > 0) {
            p.rank = rank;
            p.n = has;
            break;
        }
    }
    return p;
}

void *run_shares_place(const struct run *r, const struct run_part *p)
{
    struct optimizer_block blocks[OPTIMIZER_MAX_BLOCKS];
    list_blocks(r, p->what, blocks);
    return (char *)blocks[p->block].data + p->first;
}

/* What this rank has of a block; slices that are empty are left out. */
static struct spans own_spans(const struct run *r, const struct optimizer_block *b,
                              enum run_share what)
{
    struct spans out = {.n = 0};
    if (!run_shares_is_divided(r, what))
        return (struct spans){.n = 1, .at = {{0, b->n}}};
    const struct spans own = rank_spans(r, world_rank(), what);
    for (int i = 0; i < own.n; i++) {
        const struct span s = in_block(r, b, own.at[i]);
        if (s.n > 0)
            out.at[out.n++] = s;
    }
    return out;
}

struct spans run_shares_own(const struct run *r, const struct optimizer_block *b)
{
    return own_spans(r, b, SHARE_STATE);
}

void run_shares_drop(struct run *r, enum run_share what)
{
    struct optimizer_block blocks[OPTIMIZER_MAX_BLOCKS];
    const int n = run_shares_is_divided(r, what) ? list_blocks(r, what, blocks) : 0;
    for (int i = 0; i < n; i++) {
        const struct spans own = own_spans(r, &blocks[i], what);
        stage_drop_others(&own, blocks[i].data, blocks[i].n, dtype_bytes(blocks[i].dtype));
    }
}
