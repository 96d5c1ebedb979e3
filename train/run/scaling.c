#include "train/run/scaling.h"

#include "model/base/err.h"
#include "train/config/devices.h"
#include "train/config/moments.h"
#include "train/config/resolve_batches.h"
#include "train/optim/optimizer_config.h"
#include "train/parallel/division.h"
#include "train/parallel/jitter.h"
#include "train/parallel/reduce_scatter.h"
#include "train/run/scaling_parts.h"
#include "train/run/speed.h"
#include "train/step/half_partials.h"

#include <math.h>
#include <stdio.h>

double step_time_total(const struct step_time *t)
{
    return t->compute + t->bubble + t->stages + t->sums + t->gradients + t->weights + t->optimizer +
           t->disk;
}

/* Of several processes none trains from disk. */
static bool trains_from_disk(const struct run_config *c, const struct scaling_layout *l)
{
    return c->execution.phased && l->over.replicas * l->over.stages * l->over.tensor == 1;
}

/* With its weights there too. */
static bool is_phased(const struct run_config *c, const struct scaling_layout *l)
{
    return trains_from_disk(c, l) && c->lora.rank == 0;
}

int scaling_blocks(const struct run_config *c, int replicas)
{
    const struct training_section *t = &c->training;
    const int units =
        run_config_batches_follow(c) ? t->global_batch_size : t->gradient_accumulation;
    const int first = t->gradient_blocks > replicas ? t->gradient_blocks : replicas;
    const int most = (int)RUN_ROW(training.gradient_blocks)->max;
    for (int n = first; n <= units && n <= most; n++)
        if (units % n == 0)
            return n;
    return 0;
}

/* The run with a layout's gradient blocks; strings are borrowed. */
static struct run_config with_blocks(const struct run_config *c, int blocks)
{
    struct run_config out = *c;
    out.training.gradient_blocks = blocks;
    if (blocks > 0)
        run_config_fit_batches(&out);
    return out;
}

/* c: with its blocks. */
static int check_layout(const struct run_config *c, const struct config *shape,
                        const struct scaling_layout *l)
{
    const int micro = c->training.gradient_accumulation, replicas = l->over.replicas;
    if (l->over.stages > shape->n_layer + 1)
        return err_set(ERR_RANGE, "%d stages are more than the model's %d layers", l->over.stages,
                       shape->n_layer);
    if (l->blocks < replicas || micro % l->blocks != 0)
        return err_set(ERR_RANGE, "%d replicas need %d or more gradient_blocks that divide %d",
                       replicas, replicas, micro);
    return 0;
}

/* Where the parts of a step come from. */
struct reckoning {
    struct scaling_work work;
    struct run_config run; /* with the layout's blocks */
    const struct run_config *c;
    const struct cluster *k;
    const struct scaling_layout *l;
    double n;       /* trainable parameters of the process that has most */
    double all;     /* of the model */
    double each;    /* bytes of one */
    double sent;    /* bytes of one's gradient on its way (half_partials.h) */
    double micro_s; /* a micro-batch by one process */
};

static double on_link(const struct cluster *k, double bytes, double messages)
{
    return bytes / k->link + messages * k->latency_s;
}

static struct micro_seconds micro_seconds(const struct run_config *c, const struct config *shape,
                                          double flops, bool phased)
{
    const struct training_section *t = &c->training;
    const bool frozen = c->lora.rank > 0;
    const double tokens = (double)t->micro_batch_size * t->sequence_length, ways = frozen ? 2 : 3,
                 head = ways * 2 * (double)shape->n_vocab * shape->n_embd,
                 layers = speed_token_flops(shape, t->sequence_length, frozen) - head;
    int again;
    struct micro_seconds out = {.head = tokens * head / flops,
                                .layer = tokens * layers / shape->n_layer / flops};
    out.forward = out.layer / ways;
    if (step_recomputed(&again, phased ? "all" : c->execution.recompute, shape->n_layer) == 0)
        out.again = tokens * speed_recompute_flops(shape, again) / flops;
    return out;
}

static int reckon_compute(const struct reckoning *r, struct step_time *out)
{
    if (r->l->over.stages > 1)
        return scaling_pipeline(out, &r->work);
    if (r->l->over.tensor > 1)
        return scaling_tensor(out, &r->work);
    out->compute = r->work.rounds * r->work.of_block * r->micro_s;
    return 0;
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

/* What messages of so many bytes take of the memory of a process that sends and receives them,
 * beside the link: each is copied once at both ends. */
static double copied(const struct cluster *k, double sent, double received)
{
    return 2 * (sent + received) / k->stream;
}

/* To add so many bytes to as many. */
static double added(const struct cluster *k, double bytes)
{
    return 3 * bytes / k->stream;
}

/* Of the time that all slices take to go to all, that of what lies outside the layers: few
 * processes have it, which then send or receive all that is theirs. */
static double outside_share(const struct reckoning *r)
{
    struct config none = *r->work.shape;
    none.n_layer = 0;
    const double outside = (double)config_params(&none) / r->l->over.tensor / r->n;
    return fmin(1, outside * r->l->over.replicas);
}

/* A micro-batch, by the processes of a replica. */
static double replica_micro(const struct reckoning *r)
{
    return r->micro_s / (r->l->over.stages * r->l->over.tensor);
}

/*
 * zero=2: each block's on their way while layers beneath, and the next block, are computed. What
 * lies outside the layers is whole last, the next block's loss waits for it, and its slices are
 * those of few processes, which then receive all that is theirs. Copies and sums take the cores'
 * time from the layers, and a block begins in memory that the system clears.
 */
static void reckon_scatter(const struct reckoning *r, struct step_time *out)
{
    const struct scaling_work *w = &r->work;
    const int replicas = r->l->over.replicas;
    const double bytes = r->n * r->sent * (replicas - 1) / replicas;
    const double once = on_link(r->k, bytes, replicas - 1);
    const double late = outside_share(r) * once, micro = replica_micro(r);
    out->gradients +=
        (w->rounds - 1) * fmax(fmax(0, once - w->of_block * micro), late - micro / 3) +
        fmax(late, once - 2 * micro / 3);
    out->gradients += w->rounds * (copied(r->k, bytes, bytes) + added(r->k, bytes) +
                                   2 * r->n * r->each / r->k->stream);
    out->sent += w->rounds * bytes;
}

/* Updated weights, nothing of which is rounded, while the first forward pass of the next step waits
 * for each layer's. The memory of both ends copies them as ever. */
static void reckon_spread(const struct reckoning *r, struct step_time *out)
{
    const int replicas = r->l->over.replicas;
    const double bytes = r->n * r->each * (replicas - 1) / replicas;
    const double once = on_link(r->k, bytes, replicas - 1);
    out->weights +=
        fmax(outside_share(r) * once, once - replica_micro(r) / 3) + copied(r->k, bytes, bytes);
    out->sent += bytes;
}

static void reckon_exchange(const struct reckoning *r, struct step_time *out)
{
    const int replicas = r->l->over.replicas;
    const double busy_s = out->compute + out->bubble + out->stages + out->sums;
    int all;
    if (r->l->over.tensor > 1)
        scaling_slices(out, &r->work);
    if (replicas == 1)
        return;
    const double rest = (double)(replicas - 1) / replicas, slice = r->n * r->sent / replicas;
    if (r->l->zero > 1) {
        reckon_scatter(r, out);
    } else {
        const int nodes = count_nodes(r->l->blocks, replicas, &all);
        const double sends = nodes * slice * (replicas - 1), receives = (all - nodes) * slice;
        const double bytes = fmax(sends, receives);
        out->gradients += on_link(r->k, bytes, replicas - 1) + copied(r->k, sends, receives) +
                          added(r->k, receives);
        out->sent += bytes;
    }
    out->gradients += jitter_last(r->k->jitter, replicas, busy_s) - busy_s;
    if (r->l->zero > 0) {
        reckon_spread(r, out);
        return;
    }
    const double sums = r->n * r->sent * rest;
    out->gradients += on_link(r->k, sums, replicas - 1) + copied(r->k, sums, sums);
    out->sent += sums;
}

/* What a step and checkpoints move; c has the layout's zero. */
static void reckon_state(const struct reckoning *r, struct step_time *out)
{
    const struct run_config *c = r->c;
    const bool muon = c->optimizer.kind == OPTIMIZER_MUON;
    const struct moment_sizes s = moment_sizes_all(c, r->work.shape);
    /* Bytes of an element's, on the average. */
    const double moments =
        muon ? (s.first + s.second) / (double)config_params(r->work.shape)
             : (double)(sizeof(float) + dtype_bytes(optimizer_moment(
                                            &c->optimizer, (enum dtype)c->training.precision)));
    const double own = r->n / (r->l->zero > 0 ? r->l->over.replicas : 1);
    /* LAMB goes twice through all: for moments and norms, then for weights. */
    const bool lamb = c->optimizer.kind == OPTIMIZER_LAMB;
    out->optimizer =
        own * (lamb ? 4 * r->each + 3 * moments : 3 * r->each + 2 * moments) / r->k->stream;
    out->optimizer += s.flops / r->l->over.stages / r->k->flops;
    if (trains_from_disk(c, r->l) && c->lora.rank > 0)
        out->disk = fmax(0, (lamb ? 3 : 2) * own * moments / r->k->disk - out->optimizer);
    if (c->checkpoint.save_every > 0)
        out->disk += (r->all * (r->each + moments)) / r->k->disk / c->checkpoint.save_every;
}

/* What all layouts have in common that differ by zero alone. */
static int begin_reckoning(struct reckoning *r, const struct scaling_run *run,
                           const struct cluster *k, const struct scaling_layout *l)
{
    const struct run_config *c = &r->run;
    const struct config *shape = run->shape;
    const int replicas = l->over.replicas;
    size_t n = (size_t)config_params(shape);
    r->run = with_blocks(run->c, l->blocks);
    int rc = check_layout(c, shape, l);
    if (rc == 0 && c->lora.rank > 0)
        rc = adapter_count(&n, &c->lora, shape);
    if (rc != 0)
        return rc;
    const enum dtype dtype = c->lora.rank > 0 ? DTYPE_F32 : (enum dtype)c->training.precision;
    const struct micro_seconds micro = micro_seconds(c, shape, k->flops, is_phased(c, l));
    *r = (struct reckoning){.run = r->run,
                            .work = {.c = c,
                                     .shape = shape,
                                     .held = run->held,
                                     .k = k,
                                     .l = l,
                                     .micro = micro,
                                     .of_block = c->training.gradient_accumulation / l->blocks,
                                     .rounds = (l->blocks + replicas - 1) / replicas},
                            .c = c,
                            .k = k,
                            .l = l,
                            .n = c->lora.rank > 0 ? (double)n : scaling_params(shape, &l->over),
                            .all = (double)n,
                            .each = (double)dtype_bytes(dtype),
                            .sent = half_partials_of(c->execution.half_partials, dtype)
                                        ? sizeof(uint16_t)
                                        : (double)dtype_bytes(dtype),
                            .micro_s = shape->n_layer * micro.layer + micro.again + micro.head};
    return 0;
}

int scaling_times(struct step_time *out, int n, const struct scaling_run *run,
                  const struct cluster *k, const struct scaling_layout *l)
{
    struct scaling_layout at = *l;
    struct reckoning r;
    struct step_time compute = {0};
    int rc = begin_reckoning(&r, run, k, &at);
    if (rc == 0)
        rc = reckon_compute(&r, &compute);
    for (int i = 0; i < n && rc == 0; i++) {
        at.zero = l->zero + i;
        out[i] = compute;
        reckon_exchange(&r, &out[i]);
        reckon_state(&r, &out[i]);
        if (is_phased(run->c, l))
            rc = scaling_phased(&out[i], &r.work);
    }
    return rc;
}

/* Less what sums of other order may round off. */
int scaling_time_least(double *out, const struct scaling_run *run, const struct cluster *k,
                       const struct scaling_layout *l)
{
    struct reckoning r;
    double most = 0;
    int rc = begin_reckoning(&r, run, k, l);
    if (rc != 0)
        return rc;
    const struct scaling_work *w = &r.work;
    const double layer = w->micro.layer + w->micro.again / run->shape->n_layer;
    for (int i = 0; i < l->over.stages; i++)
        most = fmax(most, l->over.layers[i] * layer + (i == 0 ? w->micro.head : 0));
    *out = w->rounds * (w->of_block * most / l->over.tensor) * (1 - 1e-6);
    return 0;
}

int scaling_time(struct step_time *out, const struct scaling_run *run, const struct cluster *k,
                 const struct scaling_layout *l)
{
    *out = (struct step_time){0};
    return scaling_times(out, 1, run, k, l);
}

/* "4,4,4" */
static void write_layers(char *out, size_t n, const struct layout *l)
{
    size_t at = 0;
    *out = '\0';
    for (int i = 0; i < l->stages && at < n; i++)
        at += (size_t)snprintf(out + at, n - at, "%s%d", i > 0 ? "," : "", l->layers[i]);
}

/* least: at least so much, and no order of a pipeline is followed. */
static int find_memory(double *out, const struct scaling_run *run, const struct scaling_layout *l,
                       bool least, struct layout_slots *slots)
{
    const struct config *shape = run->shape;
    struct run_config of_layout = with_blocks(run->c, l->blocks);
    struct execution_section *e = &of_layout.execution;
    char list[4 * LAYOUT_MAX_STAGES] = "none";
    struct step_config step;
    struct run_memory m;
    int rc = check_layout(&of_layout, shape, l);
    if (rc != 0)
        return rc;
    if (l->over.stages > 1)
        write_layers(list, sizeof list, &l->over);
    e->layers_per_device = list;
    e->virtual_stages = l->over.chunks;
    e->tensor_parallel = l->over.tensor;
    e->replicas = l->over.replicas;
    e->zero = l->zero;
    e->phased = trains_from_disk(run->c, l);
    if (run_config_replica(&of_layout) > 1) {
        run_config_step(&of_layout, shape, &step);
        return least ? run_config_device_least(out, &of_layout, shape, &step, run->held)
                     : run_config_device_most(out, &of_layout, shape, &step, run->held, slots);
    }
    if ((rc = run_config_memory(&m, &of_layout, shape, run->held)) != 0)
        return rc;
    *out = m.of_layers + m.activations + m.rest;
    return 0;
}

int scaling_memory(double *out, const struct scaling_run *run, const struct scaling_layout *l)
{
    struct layout_slots own = {0};
    int rc = find_memory(out, run, l, false, run->slots != NULL ? run->slots : &own);
    layout_slots_release(&own);
    return rc;
}

int scaling_memory_least(double *out, const struct scaling_run *run, const struct scaling_layout *l)
{
    return find_memory(out, run, l, true, NULL);
}

int scaling_words(struct buf *out, const struct run_config *c, const struct scaling_layout *l)
{
    char list[4 * LAYOUT_MAX_STAGES];
    int rc = buf_printf(out, "replicas=%d zero=%d gradient_blocks=%d", l->over.replicas, l->zero,
                        l->blocks);
    if (rc == 0 && l->over.tensor > 1)
        rc = buf_printf(out, " tensor_parallel=%d", l->over.tensor);
    if (rc == 0 && c->execution.phased && !trains_from_disk(c, l))
        rc = buf_str(out, " phased=off");
    if (rc != 0 || l->over.stages == 1)
        return rc;
    write_layers(list, sizeof list, &l->over);
    rc = buf_printf(out, " layers_per_device=%s", list);
    return rc == 0 && l->over.chunks > 1 ? buf_printf(out, " virtual_stages=%d", l->over.chunks)
                                         : rc;
}
