#ifndef PRATTLE_MODEL_CONFIG_H
#define PRATTLE_MODEL_CONFIG_H
/*
 * The shape of a GPT-2, as config.json gives it. The letters of every shape comment:
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

struct config {
    int n_layer, n_head, n_embd, n_ctx, n_vocab;
    int n_inner; /* feed-forward width; config_check turns 0 into 4 n_embd */
    enum activation activation;
    float layer_norm_epsilon;
    bool tie_word_embeddings;
    bool scale_attn_weights;              /* scores / sqrt(D) */
    bool scale_attn_by_inverse_layer_idx; /* scores / (layer + 1) */
    bool reorder_and_upcast_attn;         /* kept for writing back; ours is fp32 anyway */
    float initializer_range;
    float embd_pdrop, attn_pdrop, resid_pdrop;         /* for training; inference ignores them */
    token_id bos_token_id, eos_token_id, pad_token_id; /* TOKEN_NONE when null */
};

void config_init(struct config *c); /* GPT-2's defaults, the shape of gpt2 (124M) */
/* gpt2-test, gpt2 (= gpt2-small), gpt2-medium, gpt2-large, gpt2-xl; ERR_RANGE lists them. */
int config_named(struct config *c, const char *name);
/* Every size positive and within sane limits (no product below can overflow 2^47),
 * n_head divides n_embd, epsilon positive and finite; fills n_inner. ERR_RANGE names
 * the field. */
int config_check(struct config *c);
/* Parameters in all, and those multiplied per token (evaluation.md's N: layers + head). */
uint64_t config_params(const struct config *c);
uint64_t config_matmul_params(const struct config *c);

static inline int config_head_size(const struct config *c)
{
    return c->n_embd / c->n_head;
}

#endif
