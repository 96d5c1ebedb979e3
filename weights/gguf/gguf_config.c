#include "weights/gguf/gguf_config.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <inttypes.h>

static int read_activation(struct config *c, const struct gguf *g)
{
    char *name;
    int rc = gguf_text(g, "prattle.activation", false, &name);
    if (rc != 0 || name == NULL)
        return rc;
    if (!activation_find(&c->activation, name)) {
        char shown[80], names[ACTIVATION_NAMES_BYTES];
        rc = err_set(ERR_UNSUPPORTED, "key prattle.activation is %s, must be %s",
                     file_show(shown, sizeof shown, name), activation_names(names, sizeof names));
    }
    mem_free(name);
    return rc;
}

static int read_sizes(struct config *c, const struct gguf *g)
{
    const struct {
        const char *key;
        bool required;
        int *to;
    } sizes[] = {
        {"gpt2.block_count", true, &c->n_layer},
        {"gpt2.context_length", true, &c->n_ctx},
        {"gpt2.embedding_length", true, &c->n_embd},
        {"gpt2.attention.head_count", true, &c->n_head},
        {"gpt2.feed_forward_length", false, &c->n_inner},
    };
    int rc = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && rc == 0; i++) {
        int64_t value = 0;
        rc = gguf_int(g, sizes[i].key, sizes[i].required, 1, INT32_MAX, &value);
        *sizes[i].to = (int)value;
    }
    int64_t kv_heads = c->n_head;
    if (rc == 0)
        rc = gguf_int(g, "gpt2.attention.head_count_kv", false, 0, INT32_MAX, &kv_heads);
    if (rc == 0 && kv_heads != c->n_head)
        rc = err_set(ERR_UNSUPPORTED, "gpt2.attention.head_count_kv is %" PRId64 ", expected %d",
                     kv_heads, c->n_head);
    return rc;
}

int gguf_read_config(struct config *c, const struct gguf *g)
{
    config_init(c);
    int rc = read_sizes(c, g);
    if (rc == 0)
        rc = gguf_float(g, "gpt2.attention.layer_norm_epsilon", false, &c->layer_norm_epsilon);
    if (rc == 0)
        rc = read_activation(c, g);
    if (rc == 0)
        rc = gguf_bool(g, "prattle.scale_attn_weights", &c->scale_attn_weights);
    if (rc == 0)
        rc = gguf_bool(g, "prattle.scale_attn_by_inverse_layer_idx",
                       &c->scale_attn_by_inverse_layer_idx);
    if (rc == 0)
        rc = gguf_bool(g, "prattle.reorder_and_upcast_attn", &c->reorder_and_upcast_attn);
    if (rc == 0)
        rc = gguf_float(g, "prattle.initializer_range", false, &c->initializer_range);
    if (rc == 0)
        rc = gguf_float(g, "prattle.embd_pdrop", false, &c->embd_pdrop);
    if (rc == 0)
        rc = gguf_float(g, "prattle.attn_pdrop", false, &c->attn_pdrop);
    return rc == 0 ? gguf_float(g, "prattle.resid_pdrop", false, &c->resid_pdrop) : rc;
}
