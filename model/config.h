#ifndef PRATTLE_MODEL_CONFIG_H
#define PRATTLE_MODEL_CONFIG_H
/*
 * The shape of a GPT-2 or GPT-Neo model, as in config.json. Every shape comment uses these letters:
 *
 *   B batch   T positions in this call   P positions before it   C width (n_embd)
 *   H heads   D head size                A width of all heads (H D; C unless configured otherwise)
 *   L layers  V vocabulary               F feed-forward width (n_inner)
 *
 * [T,C] is row-major, the last index contiguous.
 */
#include "model/base/ids.h"
#include "model/kernels/activation.h"

#include <stdbool.h>

enum { CONFIG_MAX_LAYERS = 4096 };
enum { CONFIG_STOP_TOKENS = 64 }; /* that end a text, at most */

/* Which of the tensors of schema.h there are, and their names in files. */
enum model_type { MODEL_GPT2, MODEL_GPT_NEO };

struct config {
    enum model_type type;
    int n_layer, n_head, n_embd, n_ctx, n_vocab;
    int n_inner;   /* feed-forward width F; 0: 4 n_embd, which config_check fills in */
    int head_size; /* D; 0: n_embd / n_head */
    /* Layers of which local_layers has the bit attend to the last window_size positions only, a
     * position's own among them; all others to the whole text. */
    int window_size;
    unsigned char local_layers[CONFIG_MAX_LAYERS / 8];
    enum activation activation;
    float layer_norm_epsilon;
    bool tie_word_embeddings;
    bool scale_attn_weights;              /* scores are divided by sqrt(D) */
    bool scale_attn_by_inverse_layer_idx; /* and by layer + 1 */
    bool reorder_and_upcast_attn; /* only carried from file to file: scores are always fp32 */
    float initializer_range;
    float embd_pdrop, attn_pdrop, resid_pdrop;         /* dropout probabilities, for training */
    token_id bos_token_id, eos_token_id, pad_token_id; /* TOKEN_NONE: null */
};

void config_init(struct config *c); /* the configuration of gpt2 (124M) */
/* The configuration of gpt2-test, gpt2 (or gpt2-small), gpt2-medium, gpt2-large or gpt2-xl.
 * ERR_RANGE lists these names. */
int config_named(struct config *c, const char *name);
/* Check that every size is positive and so limited that sizes in bytes stay below 2^47, that n_head
 * divides n_embd unless there is a head_size, that epsilon is positive and finite, and that token
 * ids exist; fill in n_inner. ERR_RANGE names the field. */
int config_check(struct config *c);
/* The number of parameters, and of those in matrices that each token is multiplied by: the layers'
 * and the output head's (N in the usual estimate of 6 N operations per trained token). */
uint64_t config_params(const struct config *c);
uint64_t config_matmul_params(const struct config *c);
/* The elements of the largest tensor of a layer, and of all. */
uint64_t config_largest_in_layer(const struct config *c);
uint64_t config_largest(const struct config *c);

static inline int config_head_size(const struct config *c)
{
    return c->head_size != 0 ? c->head_size : c->n_embd / c->n_head;
}
/* A */
static inline int config_heads_width(const struct config *c)
{
    return c->n_head * config_head_size(c);
}
/* The largest of C, A and F: of the rows that a matrix of a layer is applied to. */
static inline int config_widest(const struct config *c)
{
    const int A = config_heads_width(c), widest = A > c->n_embd ? A : c->n_embd;
    return c->n_inner > widest ? c->n_inner : widest;
}
/* How many positions a layer attends to; 0: the whole text. */
static inline int config_window(const struct config *c, int layer)
{
    return c->local_layers[layer / 8] >> layer % 8 & 1 ? c->window_size : 0;
}
void config_set_local(struct config *c, int layer);
/* Whether the two make tensors of the same shapes. */
bool config_same_shape(const struct config *a, const struct config *b);

#endif
