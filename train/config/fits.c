#include "train/config/fits.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/mem_room.h"
#include "train/config/devices.h"
#include "train/config/disk_room.h"
#include "train/config/plan.h"
#include "train/config/size_text.h"
#include "train/parallel/world.h"

#include <string.h>

/* The plan may be a little more than the run takes. */
static const double MARGIN = 1.1;

/* What the processes on this machine take. */
struct need {
    double bytes;
    int n;
    double disk; /* of working files, on it */
};

/* One process does all, whatever the settings have for several. */
static int need_alone(struct need *out, const struct run_config *c, const struct config *shape,
                      enum dtype held)
{
    static char none[] = "none";
    struct run_config alone = *c; /* strings are borrowed */
    struct execution_section *e = &alone.execution;
    struct run_memory m;
    e->layers_per_device = none;
    e->virtual_stages = e->tensor_parallel = e->replicas = 1;
    e->zero = 0;
    int rc = run_config_memory(&m, &alone, shape, held);
    *out = (struct need){m.of_layers + m.activations + m.rest, 1, m.disk};
    return rc;
}

/* Of each process of the run. */
static int fill_bytes(double *bytes, int n, const struct run_config *c, const struct config *shape,
                      enum dtype held)
{
    struct step_config step;
    struct run_memory m;
    if (run_config_replica(c) > 1) {
        run_config_step(c, shape, &step);
        return run_config_device_bytes(bytes, c, shape, &step, held);
    }
    int rc = run_config_memory(&m, c, shape, held);
    for (int i = 0; i < n && rc == 0; i++)
        bytes[i] = m.of_layers + m.activations + m.rest;
    return rc;
}

static int need_of_several(struct need *out, const struct run_config *c, const struct config *shape,
                           enum dtype held, bool launched)
{
    const int n = c->execution.replicas * run_config_replica(c);
    double *bytes = mem_array((size_t)n, sizeof *bytes);
    int rc = bytes == NULL ? ERR_NOMEM : fill_bytes(bytes, n, c, shape, held);
    *out = (struct need){0};
    for (int i = 0; i < n && rc == 0; i++)
        if (launched || strcmp(world_host(i), world_host(world_rank())) == 0) {
            out->bytes += bytes[i];
            out->n++;
        }
    mem_free(bytes);
    return rc;
}

static int refuse(const struct need *need, const struct run_config *c, double there,
                  const char *owner)
{
    char size[SIZE_TEXT], machine[SIZE_TEXT];
    size_text(size, need->bytes);
    size_text(machine, there);
    if (need->n == 1)
        return err_set(ERR_RANGE,
                       "the run takes %s of memory, %s has %s: %srecompute=all or a "
                       "smaller micro_batch_size takes less (--plan shows the parts)",
                       size, owner, machine,
                       c->execution.phased ? "" : "phased=on trains it from disk, ");
    return err_set(ERR_RANGE,
                   "the run takes %s of memory with %d processes here, %s has %s: fewer "
                   "of them, recompute=all or a smaller micro_batch_size takes less (--plan shows "
                   "the parts)",
                   size, need->n, owner, machine);
}

int run_config_fits(const struct run_config *c, const struct config *shape, enum dtype held,
                    bool launched)
{
    struct need need;
    const struct mem_limit here = mem_limit_find();
    int rc = launched || world_size() > 1 ? need_of_several(&need, c, shape, held, launched)
                                          : need_alone(&need, c, shape, held);
    if (rc != 0)
        return rc;
    const double there = (double)here.memory + (double)here.swap;
    if (need.bytes > there * MARGIN)
        return refuse(&need, c, there, here.owner);
    return launched || world_rank() == 0 ? run_config_disk_fits(c, shape, need.disk) : 0;
}
