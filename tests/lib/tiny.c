#include "tests/lib/tiny.h"

#include "model/base/rng.h"
#include "tests/lib/normal.h"

struct config config_of(int n_layer, int n_head, int n_embd, int n_inner, int n_ctx, int n_vocab)
{
    struct config c;
    config_init(&c);
    c.n_layer = n_layer;
    c.n_head = n_head;
    c.n_embd = n_embd;
    c.n_inner = n_inner;
    c.n_ctx = n_ctx;
    c.n_vocab = n_vocab;
    c.bos_token_id = c.eos_token_id = 0;
    return c;
}

struct config tiny_config(void)
{
    return config_of(3, 3, 36, 70, 200, 101);
}

struct tiny_tensor {
    uint64_t seed, stream;
    float scale, shift;
};

static int read_tiny_tensor(void *user, void *dst, uint64_t first, size_t n)
{
    const struct tiny_tensor *t = user;
    float *out = dst;
    for (size_t i = 0; i < n; i++)
        out[i] = t->shift + t->scale * normal_number(t->seed, t->stream, first + i);
    return 0;
}

void tiny_init(struct model *m, const struct config *c, enum dtype kind, uint64_t seed)
{
    *m = (struct model){.config = *c, .version = 1};
    assert_ok(config_check(&m->config));
    assert_ok(params_init(&m->params, &m->config, kind));
    for (int i = 0; i < m->params.n_tensors; i++) {
        struct param_tensor *t = &m->params.tensors[i];
        bool norm = strstr(t->name, "ln_") != NULL && strstr(t->name, "weight") != NULL;
        struct tiny_tensor user = {
            .seed = seed, .stream = (uint64_t)i, .scale = 0.2f, .shift = norm ? 1.0f : 0.0f};
        struct tensor_reader reader = {.read = read_tiny_tensor, .user = &user, .dtype = DTYPE_F32};
        uint64_t n_bad = 0;
        assert_ok(params_fill(t, &reader, 1, &n_bad, NULL));
    }
}

void tiny_release(struct model *m)
{
    params_release(&m->params);
    *m = (struct model){0};
}

void tiny_ids(token_id *ids, size_t n, const struct config *c, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        ids[i] = (token_id)(rng_uniform(seed, 77, i) * c->n_vocab);
}
