#include "train/config/moments.h"

#include "model/schema.h"

struct moment_sizes moment_sizes(const struct run_config *c, const struct config *shape,
                                 const struct model_stage *stage)
{
    const enum dtype first = optimizer_moment(&c->optimizer, (enum dtype)c->training.precision);
    struct optimizer_needs needs = {0};
    double n = 0;
    for (int i = 0; i < schema_count(shape); i++) {
        const struct schema_tensor s = schema_tensor(shape, i);
        struct param_tensor t = {.kind = s.row->kind, .fused = s.row->fused};
        if (s.layer < 0 ? !stage->ends : s.layer < stage->first || s.layer >= stage->last)
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
    const struct model_stage all = {.last = shape->n_layer, .ends = true, .alone = true};
    return moment_sizes(c, shape, &all);
}
