#include "model/random.h"

#include "model/base/buf.h"
#include "model/base/rng.h"

#include <math.h>

struct random_tensor random_tensor_init(const struct param_tensor *t, uint64_t stream,
                                        const struct config *c, uint64_t seed)
{
    const bool vector = t->kind == PARAM_VECTOR;
    struct random_tensor r = {.seed = seed,
                              .stream = stream,
                              .scale = vector ? 0 : c->initializer_range,
                              .constant = vector && text_ends_in(t->name, ".weight")};
    if (c->type == MODEL_GPT2 && text_ends_in(t->name, "c_proj.weight"))
        r.scale *= 1.0f / sqrtf(2.0f * (float)c->n_layer);
    return r;
}

void random_tensor_read(const struct random_tensor *r, float *out, uint64_t first, size_t n)
{
    if (r->scale == 0) {
        for (size_t i = 0; i < n; i++)
            out[i] = r->constant;
        return;
    }
    rng_normals(out, r->seed, r->stream, first, n);
    for (size_t i = 0; i < n; i++)
        out[i] *= r->scale;
}
