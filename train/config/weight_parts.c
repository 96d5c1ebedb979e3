#include "train/config/weight_parts.h"

#include "train/config/devices.h"

int weight_parts(const struct run_config *c, const struct config *shape)
{
    const int replicas = c->execution.replicas;
    if (c->execution.zero == 0 || c->lora.rank > 0 || run_config_replica(c) > 1)
        return 1;
    const double bytes = (double)config_params(shape) *
                         (double)dtype_bytes((enum dtype)c->training.precision),
                 least = c->checkpoint.min_part_mb * 1e6;
    const int fit = bytes >= least * replicas ? replicas : (int)(bytes / least);
    return fit < 1 ? 1 : fit;
}
