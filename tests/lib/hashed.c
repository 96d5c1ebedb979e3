#include "tests/lib/hashed.h"

#include "tests/lib/test.h"
#include "train/step/weights_init.h"

#include <string.h>

uint32_t hashed(uint64_t stream, uint64_t i)
{
    uint64_t h = (i + stream * 1000003) * 2654435761u & 0xffffffffu;
    h ^= h >> 15;
    h = h * 2246822519u & 0xffffffffu;
    h ^= h >> 13;
    return (uint32_t)(h >> 8);
}

struct hashed_tensor {
    uint64_t stream;
    float scale, shift;
};

static int read_hashed(void *user, void *dst, uint64_t first, size_t n)
{
    const struct hashed_tensor *t = user;
    float *out = dst;
    for (size_t i = 0; i < n; i++)
        out[i] = ((float)hashed(t->stream, first + i) * 0x1p-24f - 0.5f) * t->scale + t->shift;
    return 0;
}

void hashed_weights(struct weights *w, struct config *c)
{
    struct model m = {.name = "hashed", .config = *c, .version = 1};
    assert_ok(params_init(&m.params, c, DTYPE_F32));
    m.config = *c = m.params.config;
    const float scale = c->n_embd <= 24 ? 1 : 24.0f / (float)c->n_embd; /* wider is steeper */
    for (int i = 0; i < m.params.n_tensors; i++) {
        struct param_tensor *t = &m.params.tensors[i];
        bool norm = strstr(t->name, "ln_") != NULL && strstr(t->name, "weight") != NULL;
        struct hashed_tensor user = {
            .stream = (uint64_t)i + 1, .scale = scale, .shift = norm ? 1 : 0};
        struct tensor_reader reader = {.read = read_hashed, .user = &user, .dtype = DTYPE_F32};
        uint64_t n_bad;
        assert_ok(params_fill(t, &reader, 1, &n_bad, NULL));
    }
    assert_ok(weights_init(w, &m, NULL, DTYPE_F32, NULL));
    params_release(&m.params);
}
