#include "model/layer_stream_plan.h"

#include "model/base/disk_file.h"
#include "model/base/err.h"
#include "model/base/mem.h"

size_t layer_stream_offset(const struct params *p, const void *at)
{
    return (size_t)((const char *)at - (const char *)p->block);
}

size_t layer_stream_span(const struct params *p, int layer, size_t *first)
{
    const float *end =
        layer + 1 < p->config.n_layer ? p->layers[layer + 1].ln_1_weight : p->ln_f_weight;
    *first = layer_stream_offset(p, p->layers[layer].ln_1_weight);
    return layer_stream_offset(p, end) - *first;
}

bool layer_stream_keeps(const struct layer_stream_plan *plan, const struct config *c, int layer)
{
    const int64_t L = c->n_layer, n = plan->n_kept;
    return !plan->streams || (layer + 1) * n / L > layer * n / L;
}

size_t layer_stream_head_bytes(const struct params *p)
{
    return linear_bytes(p->lm_head.dtype, p->lm_head.K, p->lm_head.N);
}

/* Memory beside the layers: position embeddings and the last norm. */
static size_t outside_bytes(const struct params *p)
{
    return layer_stream_offset(p, p->layers[0].ln_1_weight) +
           2 * (size_t)p->config.n_embd * sizeof(float);
}

enum { UNITS = 1 << 20 }; /* what a piece may be rounded up by */

struct layer_stream_plan layer_stream_least(const struct params *p)
{
    const uint64_t L = (uint64_t)p->config.n_layer;
    size_t first, layer = layer_stream_span(p, 0, &first);
    return (struct layer_stream_plan){.streams = true,
                                      .kept_bytes = outside_bytes(p),
                                      .slot_bytes = LAYER_STREAM_SLOTS * (uint64_t)(layer + UNITS),
                                      .pass_bytes = L * layer + layer_stream_head_bytes(p)};
}

int layer_stream_plan(struct layer_stream_plan *out, const struct params *p, uint64_t room)
{
    const int L = p->config.n_layer;
    const size_t head = layer_stream_head_bytes(p);
    size_t first, layer = layer_stream_span(p, 0, &first);
    *out = (struct layer_stream_plan){0};
    if (p->block_bytes <= room)
        return 0;
    *out = layer_stream_least(p);
    const uint64_t need = out->kept_bytes + out->slot_bytes;
    if (need > room)
        return err_set(
            ERR_NOMEM,
            "there is memory for %.0f MB of weights, but %d layers of %.0f MB at a time and "
            "what is outside them need %.0f MB",
            (double)room / 1e6, LAYER_STREAM_SLOTS, (double)layer / 1e6, (double)need / 1e6);
    uint64_t left = room - need;
    out->keeps_head = head <= left;
    left -= out->keeps_head ? head : 0;
    out->n_kept = left / layer < (uint64_t)L ? (int)(left / layer) : L - 1;
    const uint64_t kept = (uint64_t)out->n_kept * layer + (out->keeps_head ? head : 0);
    out->kept_bytes += kept;
    out->pass_bytes -= kept;
    return 0;
}

/* Call f with the parts of the block that the plan does not keep. */
static void each_part(struct params *p, const struct layer_stream_plan *plan, size_t from,
                      size_t to, void (*f)(void *p, size_t bytes))
{
    const struct config *c = &p->config;
    const size_t embeddings = layer_stream_offset(p, p->wte.data),
                 head = layer_stream_offset(p, p->lm_head.data);
    for (int i = 0; i <= c->n_layer; i++) {
        size_t first = plan->keeps_head && c->tie_word_embeddings ? p->block_bytes : embeddings;
        size_t last = plan->keeps_head ? head : p->block_bytes;
        if (i < c->n_layer && layer_stream_keeps(plan, c, i))
            continue;
        if (i < c->n_layer)
            last = layer_stream_span(p, i, &first) + first;
        first = first > from ? first : from;
        last = last < to ? last : to;
        if (first < last)
            f((char *)p->block + first, last - first);
    }
}

void layer_stream_prepare(struct params *p, const struct layer_stream_plan *plan)
{
    each_part(p, plan, 0, p->block_bytes, mem_map_small);
}

static void clear_pages(void *p, size_t bytes)
{
    const uintptr_t first = disk_round((uintptr_t)p), last = (uintptr_t)p + bytes;
    if (first < last / DISK_UNIT * DISK_UNIT)
        mem_clear_map((char *)p + (first - (uintptr_t)p), last / DISK_UNIT * DISK_UNIT - first);
}

void layer_stream_forget(struct params *p, const struct layer_stream_plan *plan, size_t first,
                         size_t last)
{
    each_part(p, plan, first, last, clear_pages);
}
