#include "train/config/moments.h"

#include "model/schema.h"

/* One outside the layers has layer -1. */
static bool has_tensor(const struct model_stage *stage, int layer)
{
    bool own = layer < 0 && stage->ends;
    for (int i = 0; i < stage->n_chunks; i++)
        own |= layer >= stage->chunks[i].first && layer < stage->chunks[i].last;
    return own;
}

struct moment_sizes moment_sizes(const struct run_config *c, const struct config *shape,
                                 const struct model_stage *stage)
{
    const enum dtype first = optimizer_moment(&c->optimizer, (enum dtype)c->training.precision);
    struct optimizer_needs needs = {0};
    double n = 0;
    for (int i = 0; i < schema_count(shape); i++) {
        const struct schema_tensor s = schema_tensor(shape, i);
        struct param_tensor t = {.kind = s.row->kind, .fused = s.row->fused};
        if (!has_tensor(stage, s.layer))
            continue;
        schema_shape(s.row, shape, &t.rows, &t.cols);
        optimizer_needs_add(&needs, &c->optimizer, &t);
        n += (double)t.rows * t.cols;
    }
    return (struct moment_sizes){.first = n * (double)dtype_bytes(first),
                                 .second = (double)needs.second * sizeof(float),
                                 .scratch = (double)optimizer_scratch_bytes(&needs),
                                 .flops = needs.flops};
}

struct moment_sizes moment_sizes_all(const struct run_config *c, const struct config *shape)
{
    const struct model_stage all = stage_whole(shape->n_layer);
    return moment_sizes(c, shape, &all);
}
