#include "train/config/regroup.h"

#include <stdio.h>

void regroup_find(struct regroup *out, const struct run_config *c, int n)
{
    const int tensor = c->execution.tensor_parallel;
    const int stages = n < tensor ? 1 : n / tensor;
    *out = (struct regroup){.stages = stages, .tensor = n < tensor ? n : tensor};
    if (stages > 1)
        layout_suggest(out->layers, sizeof out->layers, stages,
                       layout_layers(c->execution.layers_per_device));
    else
        snprintf(out->layers, sizeof out->layers, "none");
}
