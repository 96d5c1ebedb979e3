#ifndef PRATTLE_MODEL_CONFIG_H
#define PRATTLE_MODEL_CONFIG_H
/*
 * The shape of a GPT-2 model, as in config.json. Every shape comment uses these letters:
 *
 *   B batch   T positions in this call   P positions before it   C width (n_embd)
 *   H heads   D head size (C / H)        L layers                V vocabulary
 *   F feed-forward width (n_inner)
 *
 * [T,C] is row-major, the last index contiguous.
 */
#include "model/base/ids.h"
#include "model/kernels/activation.h"

#include <stdbool.h>

enum { CONFIG_MAX_LAYERS = 4096 };
enum { CONFIG_STOP_TOKENS = 64 }; /* that end a text, at most */

struct config {
    int n_layer, n_head, n_embd, n_ctx, n_vocab;
    int n_inner; /* feed-forward width F; 0: 4 n_embd, which config_check fills in */
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
 * divides n_embd, that epsilon is positive and finite, and that token ids exist; fill in n_inner.
 * ERR_RANGE names the field. */
int config_check(struct config *c);
/* The number of parameters, and of those in matrices that each token is multiplied by: the layers'
 * and the output head's (N in the usual estimate of 6 N operations per trained token). */
uint64_t config_params(const struct config *c);
uint64_t config_matmul_params(const struct config *c);

static inline int config_head_size(const struct config *c)
{
    return c->n_embd / c->n_head;
}

#endif
