#include "train/step/saved.h"

#include "model/base/par.h"
#include "model/kernels/row_kernels.h"

/* Floats of a row in qkv, att, mid and fc together. */
static size_t rest_width(const struct config *c)
{
    return 4 * (size_t)config_heads_width(c) + (size_t)c->n_embd + (size_t)c->n_inner;
}

/* The set of buffers that all layers share, contiguous as in `rest`. */
static struct activations take_layer(struct arena *a, const struct config *c, size_t rows)
{
    const size_t C = (size_t)c->n_embd, A = (size_t)config_heads_width(c);
    float *at = arena_take(a, rows * rest_width(c) * sizeof *at);
    if (at == NULL)
        return (struct activations){0};
    return (struct activations){.qkv = at,
                                .att = at + rows * 3 * A,
                                .mid = at + rows * 4 * A,
                                .fc = at + rows * (4 * A + C)};
}

static void take_common(struct saved_common *common, struct arena *a, const struct config *c,
                        size_t rows, size_t x_n)
{
    if (common->taken)
        return;
    common->set = take_layer(a, c, rows);
    common->x[0] = arena_take(a, x_n * sizeof(float));
    common->x[1] = arena_take(a, x_n * sizeof(float));
    common->lse = arena_take(a, rows * (size_t)c->n_head * sizeof(float));
    common->taken = true;
}

void saved_carve(struct saved *k, struct activations *layers, struct arena *a,
                 const struct config *c, int rows, const bool *recompute,
                 struct activation_range range, struct saved_common *common)
{
    const size_t C = (size_t)c->n_embd, T = (size_t)rows;
    k->x_n = T * C;
    k->rest_n = T * rest_width(c);
    k->layers = arena_take(a, ((size_t)c->n_layer + 1) * sizeof *k->layers);
    take_common(common, a, c, T, k->x_n);
    struct activations set = common->set;
    for (int i = range.first; i <= c->n_layer; i++) {
        if (i > range.last && !(range.end && i == c->n_layer))
            continue;
        struct saved_layer one = {0};
        if (!activation_elsewhere(&range, i))
            one.x = arena_take(a, k->x_n * sizeof *one.x);
        bool whole = i < range.last && !recompute[i];
        set.lse = whole ? arena_take(a, T * (size_t)c->n_head * sizeof(float)) : common->lse;
        one.rest = whole ? arena_take(a, k->rest_n * sizeof *one.rest) : NULL;
        set.x = common->x[i % 2];
        if (layers != NULL) {
            layers[i] = set;
            k->layers[i] = one;
        }
    }
}

/* ---- saving and loading ---- */

static void store_share(uint16_t *to, const float *from, size_t n, int thread, int n_threads)
{
    size_t first, count;
    par_split_units(n, 1024, thread, n_threads, &first, &count);
    row_kernels()->half_from_f32(to + first, from + first, count);
}

static void load_share(float *to, const uint16_t *from, size_t n, int thread, int n_threads)
{
    size_t first, count;
    par_split_units(n, 1024, thread, n_threads, &first, &count);
    row_kernels()->half_to_f32(to + first, from + first, count);
}

void saved_store_first(const struct saved *k, const struct activations *layers, int thread,
                       int n_threads)
{
    if (k->layers != NULL)
        store_share(k->layers[0].x, layers[0].x, k->x_n, thread, n_threads);
}

void saved_store(const struct saved *k, const struct activations *layers, int layer, int thread,
                 int n_threads)
{
    if (k->layers == NULL)
        return;
    store_share(k->layers[layer + 1].x, layers[layer + 1].x, k->x_n, thread, n_threads);
    if (k->layers[layer].rest != NULL)
        store_share(k->layers[layer].rest, layers[layer].qkv, k->rest_n, thread, n_threads);
}

void saved_load_x(const struct saved *k, const struct activations *layers, int layer, int thread,
                  int n_threads)
{
    if (k->layers != NULL)
        load_share(layers[layer].x, k->layers[layer].x, k->x_n, thread, n_threads);
}

void saved_load(const struct saved *k, const struct activations *layers, int layer, int thread,
                int n_threads)
{
    if (k->layers == NULL)
        return;
    load_share(layers[layer].x, k->layers[layer].x, k->x_n, thread, n_threads);
    if (k->layers[layer].rest != NULL)
        load_share(layers[layer].qkv, k->layers[layer].rest, k->rest_n, thread, n_threads);
}
