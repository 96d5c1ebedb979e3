#include "train/config/layout_advice.h"

#include "model/kernels/product.h"
#include "model/shard.h"
#include "train/parallel/layout.h"
#include "train/parallel/world.h"

#include <stdio.h>
#include <stdlib.h>

/* A list of more would be no sentence. */
enum { MOST_STAGES = 64, LIST_TEXT = 4 * MOST_STAGES };

/* The divisor of n, up to most, that is nearest to `to`; of two the larger. */
static int nearest_divisor(int to, int n, int most)
{
    int near = 1;
    for (int i = 1; i <= n && i <= most; i++)
        if (n % i == 0 && abs(i - to) <= abs(near - to))
            near = i;
    return near;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* One of the two stays where it can. */
static void find_near(int *stages, int *tensor, const struct config *shape)
{
    const int there = world_size();
    *tensor = least(*tensor, shard_most(shape));
    if (there == 1)
        return;
    if (there % *stages != 0)
        *stages = nearest_divisor(*stages, there % *tensor == 0 ? there / *tensor : there,
                                  least(shape->n_layer, MOST_STAGES));
    *tensor = nearest_divisor(*tensor, there / *stages, shard_most(shape));
}

/* Of the layers of the stage that has fewest, as layout_suggest divides them. */
static int most_chunks(int stages, int n_layer)
{
    return stages == 1 ? 1 : least(n_layer / stages, STAGE_MAX_CHUNKS);
}

const char *advise_layout(char out[ADVICE_TEXT], const struct run_config *c,
                          const struct config *shape, int stages, int tensor, bool keeps)
{
    const struct execution_section *e = &c->execution;
    char list[LIST_TEXT] = "none";
    int at = 0;
    if (!keeps)
        stages = least(stages, least(shape->n_layer, MOST_STAGES));
    find_near(&stages, &tensor, shape);
    if (stages > 1)
        layout_suggest(list, sizeof list, stages, shape->n_layer);
    out[0] = '\0';
    if (!keeps)
        at += snprintf(out, ADVICE_TEXT, " layers_per_device=%s", list);
    if (!keeps && e->virtual_stages > most_chunks(stages, shape->n_layer))
        at += snprintf(out + at, ADVICE_TEXT - (size_t)at, " virtual_stages=%d",
                       most_chunks(stages, shape->n_layer));
    if (tensor != e->tensor_parallel)
        at += snprintf(out + at, ADVICE_TEXT - (size_t)at, " tensor_parallel=%d", tensor);
    if (tensor == 1 && e->rts_activations)
        snprintf(out + at, ADVICE_TEXT - (size_t)at, " rts_activations=off");
    return out + (*out == ' ');
}

const char *advise_whole_layers(char out[ADVICE_TEXT], const struct run_config *c)
{
    snprintf(out, ADVICE_TEXT, "tensor_parallel=1%s",
             c->execution.rts_activations ? " rts_activations=off" : "");
    return out;
}

const char *advise_no_stages(char out[ADVICE_TEXT], const struct run_config *c)
{
    snprintf(out, ADVICE_TEXT, "layers_per_device=none%s",
             c->execution.virtual_stages > 1 ? " virtual_stages=1" : "");
    return out;
}

const char *advise_in_memory(char out[ADVICE_TEXT], const struct run_config *c)
{
    snprintf(out, ADVICE_TEXT, "phased=off%s", c->execution.memory > 0 ? " memory=0" : "");
    return out;
}

int advice_replicas(const struct run_config *c)
{
    const struct execution_section *e = &c->execution;
    const int there = world_size(), each = layout_count(e->layers_per_device) * e->tensor_parallel;
    return there == 1 ? e->replicas : there > each ? there / each : 1;
}

bool advice_has_shards(const struct run_config *c, const struct config *shape)
{
    return c->lora.rank == 0 && c->optimizer.kind != OPTIMIZER_MUON && !c->execution.phased &&
           c->logging.log_activations_every == 0 &&
           c->training.matmul_precision != FACTORS_BFLOAT16 && shard_most(shape) > 1;
}
