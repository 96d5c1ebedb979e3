#include "train/config/moments.h"

#include "model/schema.h"

struct moment_sums {
    struct optimizer_needs needs;
    double n;
};

/* One of the model's tensors, so many times. */
static void add_tensor(struct moment_sums *sums, const struct run_config *c,
                       const struct config *shape, int i, int times)
{
    const struct schema_row *row = schema_tensor(shape, i).row;
    struct param_tensor t = {.kind = row->kind, .fused = row->fused};
    schema_shape(row, shape, &t.rows, &t.cols);
    for (int n = 0; n < times; n++)
        optimizer_needs_add(&sums->needs, &c->optimizer, &t);
    sums->n += (double)times * t.rows * t.cols;
}

struct moment_sizes moment_sizes(const struct run_config *c, const struct config *shape,
                                 const struct model_stage *stage)
{
    const enum dtype first = optimizer_moment(&c->optimizer, (enum dtype)c->training.precision);
    const int before = schema_first_of_layers(shape), each = schema_tensors_per_layer(shape),
              after = before + shape->n_layer * each, all = schema_count(shape);
    struct moment_sums sums = {.n = 0};
    int layers = 0;
    for (int i = 0; i < stage->n_chunks; i++)
        layers += stage->chunks[i].last - stage->chunks[i].first;
    for (int i = before; i < before + each && layers > 0; i++)
        add_tensor(&sums, c, shape, i, layers);
    for (int i = 0; i < all && stage->ends; i++)
        if (i < before || i >= after)
            add_tensor(&sums, c, shape, i, 1);
    return (struct moment_sizes){.first = sums.n * (double)dtype_bytes(first),
                                 .second = (double)sums.needs.second * sizeof(float),
                                 .scratch = (double)optimizer_scratch_bytes(&sums.needs),
                                 .flops = sums.needs.flops};
}

struct moment_sizes moment_sizes_all(const struct run_config *c, const struct config *shape)
{
    const struct model_stage all = stage_whole(shape->n_layer);
    return moment_sizes(c, shape, &all);
}
