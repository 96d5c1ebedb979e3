#include "train/config/devices.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/shard.h"
#include "train/config/moments.h"
#include "train/parallel/division.h"
#include "train/parallel/layout.h"
#include "train/parallel/reduce_scatter.h"
#include "train/parallel/reduction.h"
#include "train/parallel/shard_exchange.h"
#include "train/step/step_memory.h"
#include "weights/tensors/tensor_copy.h"

#include <stdio.h>
#include <string.h>

/* The program, its libraries and MPI's, what MPI holds of messages, and the huge pages at the edges
 * of what a process has: 36 to 45 MiB, whatever the model, with Open MPI 4; without MPI 18 to 33.
 */
static const double PROGRAM = 40 << 20, PROGRAM_ALONE = 30 << 20;
enum { COLUMN = 32, LAYERS = 60 };

/* What a process has, as text. */
struct device_row {
    char rank[COLUMN], host[COLUMN], layers[LAYERS], besides[3 * COLUMN], memory[COLUMN];
};

/* How wide these columns are. */
struct device_columns {
    int host, layers, besides;
};

/* The pipeline of a replica with so many micro-batches. */
struct device_pipeline {
    int n_micro; /* 0: none yet */
    struct pipeline_plan plan;
};

int run_config_replica(const struct run_config *c)
{
    return layout_count(c->execution.layers_per_device) * c->execution.tensor_parallel;
}

double run_config_program(const struct run_config *c)
{
    return c->execution.replicas * run_config_replica(c) > 1 ? PROGRAM : PROGRAM_ALONE;
}

double run_config_slices(const struct run_config *c, double n)
{
    const int replicas = c->execution.replicas;
    const double each = (double)dtype_bytes((enum dtype)c->training.precision);
    return c->execution.zero < 2 || replicas == 1
               ? 0
               : reduce_scatter_slots(c->training.gradient_blocks, replicas) * n * each / replicas;
}

/* Of blocks whose layers are several runs: what huge pages at the ends of those behind the first
 * take besides. Weights, gradients and two moments; the slices of weights and gradients; and sums.
 */
static double edge_bytes(const struct run_config *c, const struct model_stage *s, int n_layer)
{
    const int runs = s->n_chunks + (s->ends && s->chunks[s->n_chunks - 1].last < n_layer),
              sums = c->execution.zero < 2 || c->execution.replicas == 1
                         ? 0
                         : reduce_scatter_slots(c->training.gradient_blocks, c->execution.replicas),
              slices = c->execution.tensor_parallel > 1 ? 2 : 0;
    return (double)(runs - 1) * (4 + slices + sums) * MEM_HUGE_PAGE;
}

/* Into how many parts replicas divide what each updates. */
static int updaters(const struct run_config *c)
{
    return c->execution.zero > 0 ? c->execution.replicas : 1;
}

/* Bytes of an element of both moments. */
static double moment_bytes(const struct run_config *c)
{
    const enum dtype first = optimizer_moment(&c->optimizer, (enum dtype)c->training.precision);
    return (double)(dtype_bytes(first) + sizeof(float));
}

/* Of the gradients of other replicas, what is on its way: in spans, since a chunk's follow each
 * other. shape: what the process computes with. */
static double message_bytes(const struct run_config *c, const struct config *shape,
                            const struct model_stage *stage)
{
    const struct execution_section *e = &c->execution;
    const enum dtype dtype = (enum dtype)c->training.precision;
    double out = 0;
    if (e->zero > 1 && e->replicas > 1)
        return (double)reduce_scatter_flights_bytes(e->replicas, dtype, e->half_partials);
    for (int i = 0; i < stage->n_chunks && e->replicas > 1; i++) {
        const struct model_stage chunk = {
            .chunks[0] = stage->chunks[i], .n_chunks = 1, .ends = stage->ends && i == 0};
        out +=
            (double)reduction_bytes(c->training.gradient_blocks, e->replicas,
                                    (size_t)stage_params(shape, &chunk), dtype, e->half_partials);
    }
    return out;
}

/* Of a shard of a stage: weights, gradients and activations of a model of its shape; and the slice
 * that the process updates, with its gradients. */
static int find_shard_bytes(double *out, const struct run_config *c, const struct config *shape,
                            struct step_config *step, const struct layout *l, int own)
{
    const enum dtype precision = (enum dtype)c->training.precision;
    const int n = l->tensor;
    struct shard s, first;
    struct config here;
    struct step_bytes b;
    shard_init(&first, shape, n, 0);
    shard_config(&here, shape, &first);
    step->loss_rows = step_loss_rows(&here, step);
    shard_init(&s, shape, n, own);
    shard_config(&here, shape, &s);
    step->shard = &s;
    int rc = step_bytes(&b, &here, precision, step);
    step->shard = NULL;
    if (rc != 0)
        return rc;
    const double each = (double)dtype_bytes(precision),
                 computed = stage_params(&here, &step->stage),
                 slice = stage_params(shape, &step->stage) / n / updaters(c);
    *out = computed * each + 2 * (double)b.window + slice * (2 * each + moment_bytes(c)) +
           run_config_slices(c, computed) + (double)b.gradients + (double)b.waiting +
           (double)b.embedding + (double)b.activations + (double)b.logits + (double)b.scratch +
           (double)shard_exchange_bytes() + message_bytes(c, &here, &step->stage) +
           edge_bytes(c, &step->stage, shape->n_layer);
    return 0;
}

enum { FULL = 1024 };

/* So many micro-batches that a pipeline has been full for long: no more are in flight with more of
 * them. They are divided into groups of about as many as there are stages, as all would be. */
static int enough(int n, int stages)
{
    const int unit = stages > 1 ? stages * (stages - 1) : 1;
    return n <= FULL + unit ? n : n - (n - FULL) / unit * unit;
}

/* The same of blocks: so many that there are enough micro-batches. Short ones go forward in groups
 * of several. */
static int enough_blocks(int n, int of_block, int stages)
{
    const int group = of_block >= stages ? 1 : (stages + of_block - 1) / of_block,
              unit = group > 1 ? group * (group - 1) : 1, keep = FULL / of_block + 2;
    return n <= keep + unit ? n : n - (n - keep) / unit * unit;
}

static int blocks_of(const struct run_config *c, const struct layout *l, int rank)
{
    int first, last;
    division_share(c->training.gradient_blocks, l->replicas, layout_replica_of(l, rank), &first,
                   &last);
    return last - first;
}

static bool is_pipeline(const struct layout *l)
{
    return l->tensor == 1 || l->stages > 1;
}

/* Of a rank's replica; those of neighbours are the same. */
static int plan_pipeline(struct device_pipeline *p, const struct run_config *c,
                         const struct config *shape, const struct layout *l, int rank)
{
    const int of_block = c->training.gradient_accumulation / c->training.gradient_blocks,
              n_micro = of_block * blocks_of(c, l, rank);
    if (!is_pipeline(l) || p->n_micro == n_micro)
        return 0;
    pipeline_plan_release(&p->plan);
    p->n_micro = n_micro;
    return layout_plan(&p->plan, l, shape, n_micro, of_block, 0);
}

/* How many micro-batches are in flight, and not when. */
static int find_slots(struct layout_slots *s, const int **slots, const struct run_config *c,
                      const struct config *shape, const struct layout *l, int rank)
{
    const int whole = c->training.gradient_accumulation / c->training.gradient_blocks,
              of_block = enough(whole, l->stages),
              n_blocks = enough_blocks(blocks_of(c, l, rank), of_block, l->stages);
    return layout_slots_find(s, slots, l, shape, n_blocks * of_block, of_block);
}

/* slots: [stages][chunks], of a pipeline; NULL: it is none. */
static int find_bytes(double *out, const int *slots, const struct run_config *c,
                      const struct config *shape, const struct step_config *whole,
                      const struct layout *l, int rank)
{
    const enum dtype precision = (enum dtype)c->training.precision;
    const int stage = layout_stage_of(l, rank);
    struct step_config step = *whole;
    struct step_bytes b;
    division_share(step.gradient_blocks, l->replicas, layout_replica_of(l, rank), &step.first_block,
                   &step.last_block);
    step.stage = layout_stage(l, stage);
    for (int i = 0; i < step.stage.n_chunks && slots != NULL; i++)
        step.slots[i] = slots[stage * l->chunks + i];
    if (l->tensor > 1)
        return find_shard_bytes(out, c, shape, &step, l, layout_tensor_of(l, rank));
    int rc = step_bytes(&b, shape, precision, &step);
    if (rc != 0)
        return rc;
    const double n = stage_params(shape, &step.stage);
    const struct moment_sizes m = moment_sizes(c, shape, &step.stage);
    *out = n * (double)dtype_bytes(precision) + 2 * (double)b.window +
           (m.first + m.second) / updaters(c) + m.scratch + run_config_slices(c, n) +
           (double)b.gradients + (double)b.waiting + (double)b.embedding + (double)b.activations +
           (double)b.logits + (double)b.scratch + message_bytes(c, shape, &step.stage) +
           edge_bytes(c, &step.stage, shape->n_layer);
    return 0;
}

/* That all processes have. */
static double common_bytes(const struct config *shape, enum dtype held)
{
    return PROGRAM + (double)params_bytes(shape, held);
}

static const char *size_text(char out[COLUMN], double bytes)
{
    const double mib = bytes / (1 << 20);
    snprintf(out, COLUMN, mib < 1024 ? "%.1f MiB" : "%.1f GiB", mib < 1024 ? mib : mib / 1024);
    return out;
}

static void write_range(char out[COLUMN], int first, int last)
{
    if (last - first > 1)
        snprintf(out, COLUMN, "%d-%d", first, last - 1);
    else if (last > first)
        snprintf(out, COLUMN, "%d", first);
    else
        snprintf(out, COLUMN, "none");
}

/* "0-1, 4-5", or "0-1, 4-5, ..., 20-21" where there is no room for all. */
static void write_layers(char out[LAYERS], const struct model_stage *s)
{
    char one[COLUMN], last[COLUMN];
    int at = 0;
    write_range(last, s->chunks[s->n_chunks - 1].first, s->chunks[s->n_chunks - 1].last);
    for (int i = 0; i < s->n_chunks; i++) {
        write_range(one, s->chunks[i].first, s->chunks[i].last);
        const int left = LAYERS - at - (int)(sizeof ", " - 1 + strlen(one));
        if (i + 2 < s->n_chunks && left <= (int)(sizeof ", ..., " + strlen(last))) {
            snprintf(out + at, (size_t)(LAYERS - at), ", ..., %s", last);
            return;
        }
        at += snprintf(out + at, (size_t)(LAYERS - at), "%s%s", i > 0 ? ", " : "", one);
    }
}

/* Heads in the place of layers where all have these, else behind them. */
static void describe_shard(struct device_row *row, const struct config *shape,
                           const struct layout *l, int rank)
{
    const struct model_stage stage = layout_stage(l, layout_stage_of(l, rank));
    struct shard s;
    char heads[COLUMN], tokens[COLUMN];
    shard_init(&s, shape, l->tensor, layout_tensor_of(l, rank));
    write_range(heads, s.heads.first, s.heads.last);
    write_range(tokens, s.vocab.first, s.vocab.last);
    if (l->stages == 1) {
        snprintf(row->layers, LAYERS, "%s", heads);
        snprintf(row->besides, sizeof row->besides, "tokens %s", tokens);
        return;
    }
    write_layers(row->layers, &stage);
    snprintf(row->besides, sizeof row->besides, stage.ends ? "heads %s, tokens %s" : "heads %s",
             heads, tokens);
}

static void describe_row(struct device_row *row, const struct config *shape, const struct layout *l,
                         int rank, double bytes)
{
    const struct model_stage s = layout_stage(l, layout_stage_of(l, rank));
    snprintf(row->rank, COLUMN, "%d", rank);
    snprintf(row->host, COLUMN, "%.31s", world_size() > 1 ? world_host(rank) : "");
    size_text(row->memory, bytes);
    if (l->tensor > 1) {
        describe_shard(row, shape, l, rank);
        return;
    }
    write_layers(row->layers, &s);
    snprintf(row->besides, sizeof row->besides, "%s", s.ends ? "embedding and head" : "");
}

static int write_row(const struct device_row *r, const struct device_columns *w, struct buf *out)
{
    const int gap = w->host > 0 ? 2 : 0;
    return buf_printf(out, "  %-4s  %-*s%*s%-*s  %-*s  %10s\n", r->rank, w->host, r->host, gap, "",
                      w->layers, r->layers, w->besides, r->besides, r->memory);
}

static int widest_host(void)
{
    int host = 0;
    for (int i = 0; i < world_size() && world_size() > 1; i++) {
        const int n = (int)strlen(world_host(i));
        host = n > host ? n : host;
    }
    return host > COLUMN - 1 ? COLUMN - 1 : host > 0 && host < 4 ? 4 : host;
}

static int widest_layers(const struct layout *l)
{
    int widest = 9;
    for (int i = 0; i < l->stages && (l->tensor == 1 || l->stages > 1); i++) {
        char text[LAYERS];
        const struct model_stage s = layout_stage(l, i);
        write_layers(text, &s);
        widest = (int)strlen(text) > widest ? (int)strlen(text) : widest;
    }
    return widest;
}

/* Those of the first stage are as wide as any. */
static int widest_besides(const struct config *shape, const struct layout *l)
{
    int widest = (int)sizeof "embedding and head" - 1;
    for (int i = 0; i < l->tensor && l->tensor > 1; i++) {
        struct device_row row;
        describe_shard(&row, shape, l, i);
        widest = (int)strlen(row.besides) > widest ? (int)strlen(row.besides) : widest;
    }
    return widest;
}

/* While it fills and empties, and where stages differ in length. */
static int write_idle(const struct device_pipeline *p, const struct run_config *c,
                      const struct config *shape, const struct layout *l, struct buf *out)
{
    const int of_block = c->training.gradient_accumulation / c->training.gradient_blocks;
    struct layout undivided = *l;
    struct pipeline_plan plan;
    if (p->n_micro == 0)
        return 0;
    int rc = buf_printf(out, "  pipeline bubble: processes are idle for %.0f %% of a step",
                        100 * p->plan.idle);
    if (rc == 0 && l->chunks > 1) {
        undivided.chunks = 1;
        if ((rc = layout_plan(&plan, &undivided, shape, p->n_micro, of_block, 0)) != 0)
            return rc;
        rc = buf_printf(out, " (virtual_stages=1: %.0f %%)", 100 * plan.idle);
        pipeline_plan_release(&plan);
    }
    return rc == 0 ? buf_str(out, "\n") : rc;
}

/* Elements of the largest tensor that rank 0 has of others for a moment. */
static double largest_missing(const struct config *shape, const struct layout *l, double own)
{
    const double wte = (double)shape->n_vocab * shape->n_embd,
                 wide = (double)config_largest_in_layer(shape);
    if (own >= (double)config_params(shape))
        return 0;
    return l->tensor > 1 && wte - own > wide ? wte - own : wide;
}

/* Of rank 0 a tensor that others have; and what the model for prompts had before, as far as that
 * does not lie in rank 0's idle gradients. Of the others a tensor whose end another shard has. Of
 * all what their largest tensor is copied to a file with: of the embedding the others have a shard
 * at most. Other replicas write nothing that is copied, unless they have slices of weights too. */
static int write_gathered(const struct run_config *c, const struct config *shape,
                          const struct layout *l, enum dtype held, struct buf *out)
{
    char size[COLUMN], others[COLUMN];
    const struct model_stage own = layout_stage(l, 0);
    const int slices = l->tensor > 1 ? l->tensor * updaters(c) : 1;
    const double n = stage_params(shape, &own) / l->tensor,
                 each = (double)dtype_bytes((enum dtype)c->training.precision),
                 kept = (double)params_bytes(shape, held) - n * each,
                 copies = (double)tensor_copy_bytes(config_largest(shape)),
                 shared = l->tensor > 1 ? (double)config_largest_in_layer(shape) * each : 0;
    const uint64_t wte = (uint64_t)shape->n_vocab * (uint64_t)shape->n_embd,
                   part = l->tensor > 1 ? wte / (uint64_t)slices : 0,
                   wide = config_largest_in_layer(shape), largest = part > wide ? part : wide;
    const double updated = n * l->tensor / slices,
                 more = copies + largest_missing(shape, l, updated) * each + (kept > 0 ? kept : 0);
    return buf_printf(out, "  writing a checkpoint takes %s more on rank 0, %s on the others%s\n",
                      size_text(size, more),
                      size_text(others, (double)tensor_copy_bytes(largest) + shared),
                      l->replicas > 1 && slices <= l->tensor ? " of its replica" : "");
}

/* The layout of c, where there may be other processes than it says. */
static int read_layout(struct layout *l, const struct run_config *c, const struct config *shape)
{
    int rc = layout_read(l, c->execution.layers_per_device, shape->n_layer);
    if (rc == 0)
        rc = layout_divide(l, c->execution.virtual_stages);
    l->replicas = c->execution.replicas;
    l->tensor = c->execution.tensor_parallel;
    return rc;
}

int run_config_devices(const struct run_config *c, const struct config *shape,
                       const struct step_config *step, enum dtype held, struct buf *out)
{
    struct layout l;
    struct device_pipeline p = {.n_micro = 0};
    struct device_row row = {.rank = "rank",
                             .host = "host",
                             .layers = "layers",
                             .memory = "memory",
                             .besides = "besides"};
    int rc = read_layout(&l, c, shape);
    if (rc != 0)
        return rc;
    const struct device_columns w = {widest_host(), widest_layers(&l), widest_besides(shape, &l)};
    if (l.tensor > 1 && l.stages == 1)
        snprintf(row.layers, LAYERS, "heads");
    if (w.host == 0)
        *row.host = '\0';
    rc = write_row(&row, &w, out);
    for (int rank = 0; rank < l.stages * l.tensor * l.replicas && rc == 0; rank++) {
        double bytes;
        rc = plan_pipeline(&p, c, shape, &l, rank);
        if (rc == 0)
            rc = find_bytes(&bytes, p.plan.slots, c, shape, step, &l, rank);
        if (rc == 0) {
            describe_row(&row, shape, &l, rank, bytes + common_bytes(shape, held));
            rc = write_row(&row, &w, out);
        }
    }
    if (rc == 0)
        rc = write_idle(&p, c, shape, &l, out);
    pipeline_plan_release(&p.plan);
    return rc == 0 ? write_gathered(c, shape, &l, held, out) : rc;
}

int run_config_device_bytes(double *bytes, const struct run_config *c, const struct config *shape,
                            const struct step_config *step, enum dtype held)
{
    struct layout l;
    struct device_pipeline p = {.n_micro = 0};
    int rc = read_layout(&l, c, shape);
    const int n = rc == 0 ? l.stages * l.tensor * l.replicas : 0;
    for (int i = 0; i < n && rc == 0; i++) {
        rc = plan_pipeline(&p, c, shape, &l, i);
        if (rc == 0)
            rc = find_bytes(&bytes[i], p.plan.slots, c, shape, step, &l, i);
        bytes[i] += common_bytes(shape, held);
    }
    pipeline_plan_release(&p.plan);
    return rc;
}

/* In the last replica, which has as many blocks as any. */
static int find_most(double *out, const int *slots, const struct run_config *c,
                     const struct config *shape, const struct step_config *step,
                     const struct layout *l)
{
    const int size = l->stages * l->tensor;
    int rc = 0;
    *out = 0;
    for (int i = 0; i < size && rc == 0; i++) {
        double bytes = 0;
        rc = find_bytes(&bytes, slots, c, shape, step, l, (l->replicas - 1) * size + i);
        *out = bytes > *out ? bytes : *out;
    }
    return rc;
}

int run_config_device_most(double *out, const struct run_config *c, const struct config *shape,
                           const struct step_config *step, enum dtype held,
                           struct layout_slots *slots)
{
    struct layout l;
    const int *in_flight = NULL;
    int rc = read_layout(&l, c, shape);
    *out = 0;
    if (rc == 0 && is_pipeline(&l))
        rc = find_slots(slots, &in_flight, c, shape, &l, (l.replicas - 1) * l.stages * l.tensor);
    if (rc == 0)
        rc = find_most(out, in_flight, c, shape, step, &l);
    *out += common_bytes(shape, held);
    return rc;
}

int run_config_device_least(double *out, const struct run_config *c, const struct config *shape,
                            const struct step_config *step, enum dtype held)
{
    struct layout l;
    *out = 0;
    int rc = read_layout(&l, c, shape);
    int *one = rc == 0 ? mem_array((size_t)l.stages * (size_t)l.chunks, sizeof *one) : NULL;
    if (rc == 0 && one == NULL)
        rc = ERR_NOMEM;
    for (int i = 0; rc == 0 && i < l.stages * l.chunks; i++)
        one[i] = 1;
    if (rc == 0)
        rc = find_most(out, is_pipeline(&l) ? one : NULL, c, shape, step, &l);
    mem_free(one);
    *out += common_bytes(shape, held);
    return rc;
}
