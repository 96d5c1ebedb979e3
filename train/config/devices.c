#include "train/config/devices.h"

#include "model/shard.h"
#include "train/parallel/division.h"
#include "train/parallel/layout.h"
#include "train/parallel/pipeline.h"
#include "train/parallel/shard_exchange.h"
#include "train/step/step_memory.h"

#include <stdio.h>
#include <string.h>

enum { COLUMN = 32 };

/* What a process has, as text. */
struct device_row {
    char rank[COLUMN], host[COLUMN], layers[COLUMN], besides[COLUMN], memory[COLUMN];
};

int run_config_replica(const struct run_config *c)
{
    return layout_count(c->execution.layers_per_device) * c->execution.tensor_parallel;
}

/* Bytes of an element of both moments. */
static double moment_bytes(const struct run_config *c)
{
    const enum dtype first = optimizer_moment(&c->optimizer, (enum dtype)c->training.precision);
    return (double)(dtype_bytes(first) + sizeof(float));
}

/* Of a shard: weights, gradients and activations of a model of its shape; and the slice that the
 * process updates, with its gradients. */
static int find_shard_bytes(double *out, const struct run_config *c, const struct config *shape,
                            struct step_config *step, int own, int n)
{
    const enum dtype precision = (enum dtype)c->training.precision;
    struct shard s, first;
    struct config here;
    struct step_bytes b;
    shard_init(&first, shape, n, 0);
    shard_config(&here, shape, &first);
    step->loss_rows = step_loss_rows(&here, step);
    shard_init(&s, shape, n, own);
    shard_config(&here, shape, &s);
    int rc = step_bytes(&b, &here, precision, step);
    if (rc != 0)
        return rc;
    const double each = (double)dtype_bytes(precision), slice = (double)config_params(shape) / n;
    *out = (double)config_params(&here) * each + 2 * (double)b.window +
           slice * (2 * each + moment_bytes(c)) + (double)b.gradients + (double)b.waiting +
           (double)b.embedding + (double)b.activations + (double)b.logits + (double)b.scratch +
           (double)shard_exchange_bytes();
    return 0;
}

static int find_bytes(double *out, const struct run_config *c, const struct config *shape,
                      const struct step_config *whole, const struct layout *l, int rank)
{
    const enum dtype precision = (enum dtype)c->training.precision;
    const int stage = layout_stage_of(l, rank);
    struct step_config step = *whole;
    struct step_bytes b;
    division_share(step.gradient_blocks, l->replicas, layout_replica_of(l, rank), &step.first_block,
                   &step.last_block);
    if (l->tensor > 1)
        return find_shard_bytes(out, c, shape, &step, layout_tensor_of(l, rank), l->tensor);
    const int of_block = c->training.gradient_accumulation / step.gradient_blocks;
    step.stage = layout_stage(l, stage);
    step.slots =
        pipeline_in_flight(l->stages, (step.last_block - step.first_block) * of_block, stage);
    int rc = step_bytes(&b, shape, precision, &step);
    if (rc != 0)
        return rc;
    const double n = stage_params(shape, &step.stage);
    *out = n * (double)dtype_bytes(precision) + 2 * (double)b.window +
           n * moment_bytes(c) / (c->execution.zero > 0 ? l->replicas : 1) + (double)b.gradients +
           (double)b.waiting + (double)b.embedding + (double)b.activations + (double)b.logits +
           (double)b.scratch;
    return 0;
}

static const char *size_text(char out[COLUMN], double bytes)
{
    const double mib = bytes / (1 << 20);
    snprintf(out, COLUMN, mib < 1024 ? "%.1f MiB" : "%.1f GiB", mib < 1024 ? mib : mib / 1024);
    return out;
}

static void write_range(char out[COLUMN], struct shard_range r)
{
    if (r.last - r.first > 1)
        snprintf(out, COLUMN, "%d-%d", r.first, r.last - 1);
    else if (r.last > r.first)
        snprintf(out, COLUMN, "%d", r.first);
    else
        snprintf(out, COLUMN, "none");
}

/* Heads in the place of layers, which all have. */
static void describe_shard(struct device_row *row, const struct config *shape,
                           const struct layout *l, int rank)
{
    struct shard s;
    char tokens[COLUMN];
    shard_init(&s, shape, l->tensor, layout_tensor_of(l, rank));
    write_range(row->layers, s.heads);
    write_range(tokens, s.vocab);
    snprintf(row->besides, COLUMN, "tokens %.20s", tokens);
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
    write_range(row->layers, (struct shard_range){s.first, s.last});
    snprintf(row->besides, COLUMN, "%s", s.ends ? "embedding and head" : "");
}

static int write_row(const struct device_row *r, int host, struct buf *out)
{
    const int gap = host > 0 ? 2 : 0;
    return buf_printf(out, "  %-4s  %-*s%*s%-9s  %-18s  %10s\n", r->rank, host, r->host, gap, "",
                      r->layers, r->besides, r->memory);
}

/* What rank 0 gathers of the others for a moment; and what the model to talk to had before, as far
 * as that does not lie in its idle gradients. */
static int write_gathered(const struct run_config *c, const struct config *shape,
                          const struct layout *l, enum dtype held, struct buf *out)
{
    char size[COLUMN];
    const struct model_stage own = layout_stage(l, 0);
    const double all = (double)config_params(shape), n = stage_params(shape, &own) / l->tensor,
                 each = (double)dtype_bytes((enum dtype)c->training.precision),
                 moments = moment_bytes(c), kept = (double)params_bytes(shape, held) - n * each,
                 here = n * moments / (c->execution.zero > 0 ? l->replicas : 1);
    const double more = (all - n) * each + all * moments - here + (kept > 0 ? kept : 0);
    return buf_printf(out, "  rank 0 has %s more while it writes a checkpoint\n",
                      size_text(size, more));
}

int run_config_devices(const struct run_config *c, const struct config *shape,
                       const struct step_config *step, enum dtype held, struct buf *out)
{
    struct layout l;
    struct device_row row = {.rank = "rank",
                             .host = "host",
                             .layers = "layers",
                             .memory = "memory",
                             .besides = "besides"};
    int host = 0, rc = layout_read(&l, c->execution.layers_per_device, shape->n_layer);
    l.replicas = c->execution.replicas;
    l.tensor = c->execution.tensor_parallel;
    if (l.tensor > 1)
        snprintf(row.layers, COLUMN, "heads");
    for (int i = 0; i < world_size() && world_size() > 1; i++) {
        const int n = (int)strlen(world_host(i));
        host = n > host ? n : host;
    }
    host = host > COLUMN - 1 ? COLUMN - 1 : host > 0 && host < 4 ? 4 : host;
    if (host == 0)
        *row.host = '\0';
    if (rc == 0)
        rc = write_row(&row, host, out);
    for (int rank = 0; rank < l.stages * l.tensor * l.replicas && rc == 0; rank++) {
        double bytes;
        if ((rc = find_bytes(&bytes, c, shape, step, &l, rank)) == 0) {
            describe_row(&row, shape, &l, rank, bytes + (double)params_bytes(shape, held));
            rc = write_row(&row, host, out);
        }
    }
    return rc == 0 ? write_gathered(c, shape, &l, held, out) : rc;
}
