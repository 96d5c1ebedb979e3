#include "model/kv_view.h"

#include "model/kernels/attention_page.h"

enum dtype kv_dtype_of(enum dtype weights)
{
    return weights == DTYPE_F32 ? DTYPE_F32 : DTYPE_F16;
}

void kv_layout_init(struct kv_layout *l, const struct config *c, enum dtype dtype)
{
    int D = config_head_size(c), D16 = (D + 15) / 16 * 16;
    l->n_head = c->n_head;
    l->head_size = D;
    l->head_size16 = D16;
    l->dtype = dtype;
    l->key_bytes = attention_key_bytes(dtype, D);
    l->value_bytes = attention_value_bytes(dtype, D);
    l->layer_bytes = (size_t)c->n_head * (l->key_bytes + l->value_bytes);
    l->page_bytes = (size_t)c->n_layer * l->layer_bytes;
}

void kv_layout_share(struct kv_layout *l)
{
    l->page_bytes = (size_t)l->n_head * (l->key_bytes + l->value_bytes);
    l->layer_bytes = 0;
}
