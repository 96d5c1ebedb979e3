#ifndef PRATTLE_MODEL_KV_VIEW_H
#define PRATTLE_MODEL_KV_VIEW_H
/*
 * What the forward pass sees of a cache: pages of KV_BLOCK positions, each holding
 * all layers. In a page, layer l has keys, then values, one run for each head:
 *
 *   keys    [H][D][KV_BLOCK]   transposed, so scores of a block are a matrix panel
 *   values  [H][KV_BLOCK][D16] D16 = D rounded up to 16, the rest zero
 *
 * as binary16, or fp32 under dtype fp32. Pages belong to kvcache/; the forward pass
 * writes the new positions and reads all before them. A shared page is never written.
 */
#include "model/config.h"

#include <stddef.h>

enum { KV_BLOCK = 64 };

struct kv_layout {
    int n_head, head_size, head_size16;
    size_t element_bytes;          /* 2 or 4 */
    size_t key_bytes, value_bytes; /* of one head of one layer in a page */
    size_t layer_bytes;            /* from one layer to the next */
    size_t page_bytes;
};

void kv_layout_init(struct kv_layout *l, const struct config *c, bool fp32);
/* Pages with room for one layer, used by each in turn: for texts read whole, in one pass. */
void kv_layout_share(struct kv_layout *l);

static inline size_t kv_key_offset(const struct kv_layout *l, int layer, int head)
{
    return (size_t)layer * l->layer_bytes + (size_t)head * l->key_bytes;
}
static inline size_t kv_value_offset(const struct kv_layout *l, int layer, int head)
{
    return (size_t)layer * l->layer_bytes + (size_t)l->n_head * l->key_bytes +
           (size_t)head * l->value_bytes;
}

struct kv_view {
    char *const *pages; /* page i holds positions 64 i .. 64 i + 63 */
    int n_past;         /* P: positions already filled */
};

#endif
