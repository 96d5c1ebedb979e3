#include "train/config/devices.h"

#include "train/parallel/division.h"
#include "train/parallel/layout.h"
#include "train/parallel/pipeline.h"
#include "train/step/step_memory.h"

#include <stdio.h>
#include <string.h>

enum { COLUMN = 32 };

/* What a process has, as text. */
struct device_row {
    char rank[COLUMN], host[COLUMN], layers[COLUMN], memory[COLUMN];
    const char *besides;
};

int run_config_stages(const struct run_config *c)
{
    return layout_count(c->execution.layers_per_device);
}

/* Bytes of an element of both moments. */
static double moment_bytes(const struct run_config *c)
{
    const enum dtype first = optimizer_moment(&c->optimizer, (enum dtype)c->training.precision);
    return (double)(dtype_bytes(first) + sizeof(float));
}

static int find_bytes(double *out, const struct run_config *c, const struct config *shape,
                      const struct step_config *whole, const struct layout *l, int rank)
{
    const enum dtype precision = (enum dtype)c->training.precision;
    const int stage = layout_stage_of(l, rank);
    struct step_config step = *whole;
    struct step_bytes b;
    division_share(step.gradient_blocks, l->replicas, layout_replica_of(l, rank),
                     &step.first_block, &step.last_block);
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

static void describe_row(struct device_row *row, const struct layout *l, int rank, double bytes)
{
    const struct model_stage s = layout_stage(l, layout_stage_of(l, rank));
    snprintf(row->rank, COLUMN, "%d", rank);
    snprintf(row->host, COLUMN, "%.31s", world_size() > 1 ? world_host(rank) : "");
    if (s.last - s.first > 1)
        snprintf(row->layers, COLUMN, "%d-%d", s.first, s.last - 1);
    else if (s.last > s.first)
        snprintf(row->layers, COLUMN, "%d", s.first);
    else
        snprintf(row->layers, COLUMN, "none");
    row->besides = s.ends ? "embedding and head" : "";
    size_text(row->memory, bytes);
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
    const double all = (double)config_params(shape), n = stage_params(shape, &own),
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
    for (int i = 0; i < world_size() && world_size() > 1; i++) {
        const int n = (int)strlen(world_host(i));
        host = n > host ? n : host;
    }
    host = host > COLUMN - 1 ? COLUMN - 1 : host > 0 && host < 4 ? 4 : host;
    if (host == 0)
        *row.host = '\0';
    if (rc == 0)
        rc = write_row(&row, host, out);
    for (int rank = 0; rank < l.stages * l.replicas && rc == 0; rank++) {
        double bytes;
        if ((rc = find_bytes(&bytes, c, shape, step, &l, rank)) == 0) {
            describe_row(&row, &l, rank, bytes + (double)params_bytes(shape, held));
            rc = write_row(&row, host, out);
        }
    }
    return rc == 0 ? write_gathered(c, shape, &l, held, out) : rc;
}
