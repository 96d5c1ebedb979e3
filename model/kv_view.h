#ifndef PRATTLE_MODEL_KV_VIEW_H
#define PRATTLE_MODEL_KV_VIEW_H
/*
 * The forward pass's view of a KV cache: pages of KV_BLOCK positions, each with the keys and values
 * of all layers, in binary16, in fp32, or in q8:
 *
 *   page    | layer 0 | layer 1 | ... | layer L - 1 |
 *   layer   | keys [H][D][KV_BLOCK] | values [H][KV_BLOCK][D16] |
 *
 * Keys are transposed, so that the scores of a block are a product with a panel of 64 columns
 * (model/kernels/linear.h). D16 is D rounded up to a multiple of 16, padded with zeros. In q8 a
 * head's keys and values have scales besides (model/kernels/attention_q8.h). kvcache/ owns the
 * pages; the forward pass writes the new positions and reads all positions before them. Pages that
 * several sequences share are never written.
 */
#include "model/base/dtype.h"
#include "model/config.h"

#include <stddef.h>

enum { KV_BLOCK = 64 };

struct kv_layout {
    int n_head, head_size, head_size16;
    enum dtype dtype;              /* DTYPE_F16, DTYPE_F32 or DTYPE_Q8 */
    size_t key_bytes, value_bytes; /* keys, and values, of one head of one layer */
    size_t layer_bytes;            /* from one layer to the next */
    size_t page_bytes;
};

void kv_layout_init(struct kv_layout *l, const struct config *c, enum dtype dtype);
/* What keys and values are unless a setting says otherwise: as precise as weights of this type. */
enum dtype kv_dtype_of(enum dtype weights);
/* Let all layers use the same memory, so that a page has the size of one layer: for passes that
 * start at position 0 and whose cache is not read afterwards. */
void kv_layout_share(struct kv_layout *l);

/* Where in a page, in bytes, the keys and the values of a head begin. */
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
