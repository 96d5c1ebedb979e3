#include "model/config.h"

#include "model/base/err.h"
#include "model/base/file.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Far above any GPT-2, and small enough that sizes in bytes stay below 2^47. */
enum { MAX_WIDTH = 1 << 17, MAX_INNER = 1 << 20, MAX_CTX = 1 << 24, MAX_VOCAB = 1 << 24 };
static const uint64_t max_params = (uint64_t)1 << 44;

void config_init(struct config *c)
{
    *c = (struct config){.n_layer = 12,
                         .n_head = 12,
                         .n_embd = 768,
                         .n_ctx = 1024,
                         .n_vocab = 50257,
                         .activation = ACTIVATION_GELU_TANH,
                         .layer_norm_epsilon = 1e-5f,
                         .tie_word_embeddings = true,
                         .scale_attn_weights = true,
                         .initializer_range = 0.02f,
                         .embd_pdrop = 0.1f,
                         .attn_pdrop = 0.1f,
                         .resid_pdrop = 0.1f,
                         .bos_token_id = 50256,
                         .eos_token_id = 50256,
                         .pad_token_id = TOKEN_NONE};
}

int config_named(struct config *c, const char *name)
{
    static const struct {
        const char *name;
        int n_layer, n_head, n_embd, n_ctx;
    } sizes[] = {{"gpt2-test", 2, 4, 64, 128},       {"gpt2", 12, 12, 768, 1024},
                 {"gpt2-small", 12, 12, 768, 1024},  {"gpt2-medium", 24, 16, 1024, 1024},
                 {"gpt2-large", 36, 20, 1280, 1024}, {"gpt2-xl", 48, 25, 1600, 1024}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(name, sizes[i].name) == 0) {
            config_init(c);
            c->n_layer = sizes[i].n_layer;
            c->n_head = sizes[i].n_head;
            c->n_embd = sizes[i].n_embd;
            c->n_ctx = sizes[i].n_ctx;
            return config_check(c);
        }
    return err_set(ERR_RANGE,
                   "no model size is called %s; there are gpt2-test, gpt2 (gpt2-small), "
                   "gpt2-medium, gpt2-large and gpt2-xl",
                   file_quote(name));
}

static int check_range(const char *field, long long value, long long least, long long most)
{
    if (value < least || value > most)
        return err_set(ERR_RANGE, "%s is %lld, must be %lld to %lld", field, value, least, most);
    return 0;
}

static int check_id(const char *field, token_id id, int n_vocab)
{
    if (id != TOKEN_NONE && (id < 0 || id >= n_vocab))
        return err_set(ERR_RANGE, "%s is %d, must be below vocab_size %d", field, id, n_vocab);
    return 0;
}

static int check_windows(const struct config *c)
{
    for (int i = 0; i < c->n_layer; i++)
        if (c->local_layers[i / 8] >> i % 8 & 1)
            return check_range("window_size", c->window_size, 1, MAX_CTX);
    return 0;
}

int config_check(struct config *c)
{
    int rc;
    if ((rc = check_range("n_layer", c->n_layer, 1, CONFIG_MAX_LAYERS)) != 0 ||
        (rc = check_range("n_embd", c->n_embd, 1, MAX_WIDTH)) != 0 ||
        (rc = check_range("n_head", c->n_head, 1, c->n_embd)) != 0 ||
        (rc = check_range("n_positions", c->n_ctx, 1, MAX_CTX)) != 0 ||
        (rc = check_range("vocab_size", c->n_vocab, 1, MAX_VOCAB)) != 0 ||
        (rc = check_range("n_inner", c->n_inner, 0, MAX_INNER)) != 0)
        return rc;
    if ((rc = check_range("head_size", c->head_size, 0, MAX_WIDTH)) != 0 ||
        (rc = check_windows(c)) != 0)
        return rc;
    if (c->head_size == 0 && c->n_embd % c->n_head != 0)
        return err_set(ERR_RANGE, "n_head %d does not divide n_embd %d", c->n_head, c->n_embd);
    if ((int64_t)c->n_head * config_head_size(c) > MAX_WIDTH)
        return err_set(ERR_RANGE, "n_head %d x head_size %d is above %d", c->n_head, c->head_size,
                       MAX_WIDTH);
    if (!(c->layer_norm_epsilon > 0) || !isfinite(c->layer_norm_epsilon))
        return err_set(ERR_RANGE, "layer_norm_epsilon is %g, must be positive and finite",
                       (double)c->layer_norm_epsilon);
    if ((rc = check_id("bos_token_id", c->bos_token_id, c->n_vocab)) != 0 ||
        (rc = check_id("eos_token_id", c->eos_token_id, c->n_vocab)) != 0 ||
        (rc = check_id("pad_token_id", c->pad_token_id, c->n_vocab)) != 0)
        return rc;
    if (c->n_inner == 0)
        c->n_inner = 4 * c->n_embd;
    if (config_params(c) > max_params)
        return err_set(ERR_RANGE,
                       "n_layer %d, n_embd %d, n_inner %d, vocab_size %d and n_positions %d make "
                       "%llu parameters, at most %llu are possible",
                       c->n_layer, c->n_embd, c->n_inner, c->n_vocab, c->n_ctx,
                       (unsigned long long)config_params(c), (unsigned long long)max_params);
    return 0;
}

uint64_t config_matmul_params(const struct config *c)
{
    uint64_t C = (uint64_t)c->n_embd, F = (uint64_t)c->n_inner, A = (uint64_t)config_heads_width(c);
    return (uint64_t)c->n_layer * (4 * C * A + 2 * C * F) + (uint64_t)c->n_vocab * C;
}

uint64_t config_params(const struct config *c)
{
    uint64_t C = (uint64_t)c->n_embd, F = (uint64_t)c->n_inner, A = (uint64_t)config_heads_width(c);
    uint64_t biases = c->type == MODEL_GPT_NEO ? 2 * C + F : 3 * A + 2 * C + F;
    uint64_t vectors = (uint64_t)c->n_layer * (4 * C + biases) + 2 * C;
    uint64_t embeddings = (uint64_t)c->n_ctx * C;
    if (!c->tie_word_embeddings)
        embeddings += (uint64_t)c->n_vocab * C;
    return config_matmul_params(c) + vectors + embeddings;
}

uint64_t config_largest_in_layer(const struct config *c)
{
    const uint64_t F = (uint64_t)c->n_inner, qkv = 3 * (uint64_t)config_heads_width(c);
    return (uint64_t)c->n_embd * (F > qkv ? F : qkv);
}

uint64_t config_largest(const struct config *c)
{
    const uint64_t rows = (uint64_t)(c->n_vocab > c->n_ctx ? c->n_vocab : c->n_ctx),
                   embedding = rows * (uint64_t)c->n_embd, wide = config_largest_in_layer(c);
    return embedding > wide ? embedding : wide;
}

void config_set_local(struct config *c, int layer)
{
    c->local_layers[layer / 8] |= (unsigned char)(1 << layer % 8);
}

bool config_same_shape(const struct config *a, const struct config *b)
{
    return a->type == b->type && a->n_layer == b->n_layer && a->n_head == b->n_head &&
           a->n_embd == b->n_embd && config_head_size(a) == config_head_size(b) &&
           a->n_ctx == b->n_ctx && a->n_vocab == b->n_vocab && a->n_inner == b->n_inner &&
           a->tie_word_embeddings == b->tie_word_embeddings;
}
