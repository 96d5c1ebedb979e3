#include "train/run/scaling.h"

#include "model/base/err.h"
#include "train/config/moments.h"
#include "train/optim/optimizer_config.h"
#include "train/parallel/division.h"
#include "train/parallel/layout.h"
#include "train/parallel/reduce_scatter.h"
#include "train/run/speed.h"
#include "train/step/half_partials.h"

#include <math.h>

double step_time_total(const struct step_time *t)
{
    return t->compute + t->bubble + t->stages + t->gradients + t->weights + t->optimizer + t->disk;
}

int scaling_blocks(const struct run_config *c, int replicas)
{
    const int micro = c->training.gradient_accumulation;
    for (int n = c->training.gradient_blocks; n <= micro; n++)
        if (n >= replicas && micro % n == 0)
            return n;
    return 0;
}

static int check_layout(const struct run_config *c, const struct config *shape,
                        const struct scaling_layout *l)
{
    const int micro = c->training.gradient_accumulation;
    if (c->execution.tensor_parallel > 1)
        return err_set(ERR_RANGE,
                       "tensor_parallel is %d, which the plan of a cluster does not reckon: "
                       "tensor_parallel=1",
                       c->execution.tensor_parallel);
    if (l->blocks < l->replicas || micro % l->blocks != 0)
        return err_set(ERR_RANGE, "%d replicas need %d or more gradient_blocks that divide %d",
                       l->replicas, l->replicas, micro);
    if (l->stages > shape->n_layer)
        return err_set(ERR_RANGE, "%d stages are more than the model's %d layers", l->stages,
                       shape->n_layer);
    return 0;
}

/* Where the parts of a step come from. */
struct reckoning {
    const struct run_config *c;
    const struct config *shape;
    const struct cluster *k;
    const struct scaling_layout *l;
    double n;       /* trainable parameters of a stage */
    double each;    /* bytes of one */
    double sent;    /* bytes of one's gradient on its way (half_partials.h) */
    double micro_s; /* a micro-batch through all stages */
    int of_block;   /* micro-batches */
    int rounds;     /* blocks of the replica that has most */
};

static double on_link(const struct cluster *k, double bytes, double messages)
{
    return bytes / k->link + messages * k->latency_s;
}

static double micro_seconds(const struct run_config *c, const struct config *shape, double flops)
{
    const struct training_section *t = &c->training;
    int again;
    double each = speed_token_flops(shape, t->sequence_length, c->lora.rank > 0);
    if (step_recomputed(&again, c->execution.recompute, shape->n_layer) == 0)
        each += speed_recompute_flops(shape, again);
    return (double)t->micro_batch_size * t->sequence_length * each / flops;
}

static void reckon_compute(const struct reckoning *r, struct step_time *out)
{
    const struct training_section *t = &r->c->training;
    const int s = r->l->stages, m = r->rounds * r->of_block;
    const double slot = r->micro_s / s;
    out->compute = m * slot;
    out->bubble = (s - 1) * slot;
    if (s == 1)
        return;
    /* Forward and back again; behind the computation but at the ends. */
    const double bytes = 4.0 * t->micro_batch_size * t->sequence_length * r->shape->n_embd;
    const double one = 2 * on_link(r->k, bytes, 1);
    out->stages = (s - 1) * one + m * fmax(0, one - slot);
    out->sent += 2 * m * bytes;
}

/* Nodes of the tree that a replica's blocks join to: the most, and of all. */
static int count_nodes(int blocks, int replicas, int *all)
{
    int most = 0;
    *all = 0;
    for (int i = 0; i < replicas; i++) {
        int begins[GRADIENT_NODES], first, last, n = 0;
        division_share(blocks, replicas, i, &first, &last);
        for (int block = first; block < last; block++) {
            int from = block;
            while (n > 0 && gradient_blocks_are_parts(blocks, begins[n - 1], from, block + 1))
                from = begins[--n];
            begins[n++] = from;
        }
        *all += n;
        most = n > most ? n : most;
    }
    return most;
}

/*
 * zero=2: each block's on their way while layers beneath, and the next block, are computed. What
 * lies outside the layers is whole last, the next block's loss waits for it, and its slices are
 * those of few processes, which then receive all that is theirs.
 */
static void reckon_scatter(const struct reckoning *r, struct step_time *out)
{
    struct config none = *r->shape;
    none.n_layer = 0;
    const int replicas = r->l->replicas, s = r->l->stages;
    const double bytes = r->n * r->sent * (replicas - 1) / replicas;
    const double once = on_link(r->k, bytes, replicas - 1);
    const double outside = (double)config_params(&none) / (double)config_params(r->shape);
    const double late = fmin(1, outside * replicas) * once, micro = r->micro_s / s;
    out->gradients = (r->rounds - 1) * fmax(fmax(0, once - r->of_block * micro), late - micro / 3) +
                     fmax(late, once - 2 * micro / 3);
    out->sent += r->rounds * bytes;
}

static void reckon_exchange(const struct reckoning *r, struct step_time *out)
{
    const int replicas = r->l->replicas;
    int all;
    if (replicas == 1)
        return;
    const double rest = (double)(replicas - 1) / replicas, slice = r->n * r->sent / replicas;
    if (r->l->zero > 1) {
        reckon_scatter(r, out);
    } else {
        const int nodes = count_nodes(r->l->blocks, replicas, &all);
        const double sends = nodes * slice * (replicas - 1), receives = (all - nodes) * slice;
        const double bytes = fmax(sends, receives);
        out->gradients = on_link(r->k, bytes, replicas - 1);
        out->sent += bytes;
    }
    /* Sums, or weights, of which nothing is rounded. */
    const double spread = r->n * (r->l->zero > 0 ? r->each : r->sent) * rest;
    *(r->l->zero > 0 ? &out->weights : &out->gradients) += on_link(r->k, spread, replicas - 1);
    out->sent += spread;
}

/* What a step and checkpoints move; c has the layout's zero. */
static void reckon_state(const struct reckoning *r, struct step_time *out)
{
    const struct run_config *c = r->c;
    const bool muon = c->optimizer.kind == OPTIMIZER_MUON;
    const struct moment_sizes s = moment_sizes_all(c, r->shape);
    /* Bytes of an element's, on the average. */
    const double moments =
        muon ? (s.first + s.second) / (double)config_params(r->shape)
             : (double)(sizeof(float) + dtype_bytes(optimizer_moment(
                                            &c->optimizer, (enum dtype)c->training.precision)));
    const double own = r->n / (r->l->zero > 0 ? r->l->replicas : 1);
    out->optimizer = own * (3 * r->each + 2 * moments) / r->k->stream;
    out->optimizer += s.flops / r->l->stages / r->k->flops;
    if (c->execution.phased)
        out->disk = 2 * own * moments / r->k->disk;
    if (c->checkpoint.save_every > 0)
        out->disk +=
            (r->n * r->l->stages * (r->each + moments)) / r->k->disk / c->checkpoint.save_every;
}

int scaling_time(struct step_time *out, const struct run_config *c, const struct config *shape,
                 const struct cluster *k, const struct scaling_layout *l)
{
    size_t n = (size_t)config_params(shape);
    int rc = check_layout(c, shape, l);
    *out = (struct step_time){0};
    if (rc == 0 && c->lora.rank > 0)
        rc = adapter_count(&n, &c->lora, shape);
    if (rc != 0)
        return rc;
    const enum dtype dtype = c->lora.rank > 0 ? DTYPE_F32 : (enum dtype)c->training.precision;
    const struct reckoning r = {.c = c,
                                .shape = shape,
                                .k = k,
                                .l = l,
                                .n = (double)n / l->stages,
                                .each = (double)dtype_bytes(dtype),
                                .sent = half_partials_of(c->execution.half_partials, dtype)
                                            ? sizeof(uint16_t)
                                            : (double)dtype_bytes(dtype),
                                .micro_s = micro_seconds(c, shape, k->flops),
                                .of_block = c->training.gradient_accumulation / l->blocks,
                                .rounds = (l->blocks + l->replicas - 1) / l->replicas};
    reckon_compute(&r, out);
    reckon_exchange(&r, out);
    reckon_state(&r, out);
    return 0;
}

int scaling_memory(double *out, const struct run_config *c, const struct config *shape,
                   enum dtype held, const struct scaling_layout *l)
{
    struct run_config of_layout = *c; /* strings are borrowed */
    struct run_memory m;
    int rc = check_layout(c, shape, l);
    of_layout.execution.replicas = l->replicas;
    of_layout.execution.zero = l->zero;
    of_layout.training.gradient_blocks = l->blocks;
    if (rc == 0)
        rc = run_config_memory(&m, &of_layout, shape, held);
    if (rc != 0)
        return rc;
    /* A stage has as many micro-batches on their way as there are stages behind it. */
    const int own = (l->blocks + l->replicas - 1) / l->replicas *
                    (c->training.gradient_accumulation / l->blocks);
    *out = m.of_layers / l->stages + m.activations * fmin(l->stages, own) / l->stages + m.rest;
    return 0;
}

int scaling_words(struct buf *out, const struct scaling_layout *l, int n_layer)
{
    char list[3 * LAYOUT_MAX_STAGES];
    int rc =
        buf_printf(out, "replicas=%d zero=%d gradient_blocks=%d", l->replicas, l->zero, l->blocks);
    if (rc != 0 || l->stages == 1)
        return rc;
    layout_suggest(list, sizeof list, l->stages, n_layer);
    return buf_printf(out, " layers_per_device=%s", list);
}

/* Whether a is to be preferred. */
static bool is_better(double time_a, double memory_a, double time_b, double memory_b, double most)
{
    const bool fits_a = memory_a <= most, fits_b = memory_b <= most;
    if (fits_a != fits_b)
        return fits_a;
    return fits_a ? time_a < time_b * (1 - 1e-9) : memory_a < memory_b;
}

int scaling_best(struct scaling_layout *out, const struct run_config *c, const struct config *shape,
                 enum dtype held, const struct cluster *k)
{
    double least_s = INFINITY, least_bytes = INFINITY;
    *out = (struct scaling_layout){0};
    /* An adapter is trained with the whole model in each process, Muon steps whole matrices, and
     * zero=2 is for no pipeline. */
    const int most_stages = c->lora.rank > 0 ? 1 : shape->n_layer;
    for (int stages = 1; stages <= most_stages && stages <= k->ranks; stages++) {
        const int replicas = k->ranks / stages, blocks = scaling_blocks(c, replicas);
        const bool whole = c->lora.rank > 0 || c->optimizer.kind == OPTIMIZER_MUON;
        const int most_zero = replicas == 1 || whole ? 0 : stages > 1 ? 1 : 2;
        if (k->ranks % stages != 0 || blocks == 0)
            continue;
        for (int zero = 0; zero <= most_zero; zero++) {
            const struct scaling_layout l = {replicas, stages, zero, blocks};
            struct step_time t;
            double bytes;
            int rc = scaling_time(&t, c, shape, k, &l);
            if (rc == 0)
                rc = scaling_memory(&bytes, c, shape, held, &l);
            if (rc != 0)
                return rc;
            if (!is_better(step_time_total(&t), bytes, least_s, least_bytes, k->memory))
                continue;
            *out = l;
            least_s = step_time_total(&t);
            least_bytes = bytes;
        }
    }
    return out->replicas > 0
               ? 0
               : err_set(
                     ERR_RANGE,
                     "a step of %d micro-batches and %d layers is not divided among %d processes",
                     c->training.gradient_accumulation, shape->n_layer, k->ranks);
}
