#include "model/kv_view.h"

void kv_layout_init(struct kv_layout *l, const struct config *c, bool fp32)
{
    int D = config_head_size(c), D16 = (D + 15) / 16 * 16;
    l->n_head = c->n_head;
    l->head_size = D;
    l->head_size16 = D16;
    l->dtype = fp32 ? DTYPE_F32 : DTYPE_F16;
    l->element_bytes = dtype_bytes(l->dtype);
    l->key_bytes = (size_t)D * KV_BLOCK * l->element_bytes;
    l->value_bytes = (size_t)KV_BLOCK * (size_t)D16 * l->element_bytes;
    l->layer_bytes = (size_t)c->n_head * (l->key_bytes + l->value_bytes);
    l->page_bytes = (size_t)c->n_layer * l->layer_bytes;
}

void kv_layout_share(struct kv_layout *l)
{
    l->page_bytes = (size_t)l->n_head * (l->key_bytes + l->value_bytes);
    l->layer_bytes = 0;
}
