/* Where a step is clipped, and when one is tried on copies first: tensors of one element, whose
 * bounds are as near as bounds get. */
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "train/optim/optimizer.h"

#include <math.h>

enum { N = 3 };
static const size_t OFFSET[N + 1] = {0, 1, 2, 3};
static const struct param_tensor tensors[N];

static struct optimizer *open_optimizer(const struct optimizer_config *c)
{
    struct optimizer *o = NULL;
    const struct optimizer_layout l = {
        .dtype = DTYPE_F32, .n_tensors = N, .tensors = tensors, .offset = OFFSET};
    assert_ok(optimizer_new(&o, c, l));
    return o;
}

static struct optimizer_config undecayed(int kind)
{
    struct optimizer_config c;
    optimizer_config_init(&c);
    c.kind = kind;
    c.weight_decay = 0;
    return c;
}

/* With weights[at] growing by the rate, or for LAMB by its share of them, in every step that is
 * taken: how many are. */
static int grow_until_refused(const struct optimizer_config *c, int at, float limit, float rate)
{
    struct optimizer *o = open_optimizer(c);
    float weights[N] = {0.0625f, 0.0625f, 0.0625f}, grads[N] = {0};
    int taken = 0;
    grads[at] = -0.5f;
    optimizer_set_limit(o, limit);
    while (optimizer_step(o, weights, grads, 1, optimizer_norm(o, grads, 1), rate)) {
        assert_true(fabsf(weights[at]) < limit);
        assert_true(++taken < 1000);
    }
    assert_true(fabsf(weights[at]) < limit);
    assert_int_equal(optimizer_steps(o), taken);
    optimizer_free(o);
    return taken;
}

/* No bound may be too low beyond the first step either, and none so high that a step below the
 * limit is refused. */
static void weights_grow_up_to_the_limit(void **state)
{
    (void)state;
    static const int kinds[] = {OPTIMIZER_ADAMW, OPTIMIZER_ADAM, OPTIMIZER_LAMB};
    static const float rates[] = {0.0078125f, 0.125f, 0.5f};
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < 3; i++)
            for (int at = 0; at < N; at++) {
                const bool lamb = kinds[kind] == OPTIMIZER_LAMB;
                const double first = 0.0625, rate = (double)rates[i];
                struct optimizer_config c = undecayed(kinds[kind]);
                c.beta1 = i < 2 ? 0 : 0.9f; /* then the direction's bound is small */
                const int taken = grow_until_refused(&c, at, 1.0f, rates[i]);
                /* Constant gradients: each step is the rate, to within rounding errors. */
                const double most = lamb ? log(0.99 / first) / log1p(rate) : (1 - first) / rate;
                assert_in_range(taken, (int)(most - 1e-3), (int)(most + 1e-3));
            }
}

/* Where rate times weight decay is above 2, a decay turns weights round and makes them larger. */
static void a_decay_beyond_all_bounds_is_refused(void **state)
{
    (void)state;
    struct optimizer_config c = undecayed(OPTIMIZER_ADAMW);
    c.weight_decay = 0.1f;
    c.decay = DECAY_ALL;
    c.beta1 = 0;
    struct optimizer *o = open_optimizer(&c);
    float weights[N] = {4500, 1, -2}, before[N];
    const float grads[N] = {0};
    optimizer_set_limit(o, 10000);
    assert_true(optimizer_step(o, weights, grads, 1, 0, 0));
    memcpy(before, weights, sizeof before);
    assert_false(optimizer_step(o, weights, grads, 1, 0, 35)); /* -2.5 times as large */
    assert_memory_equal(weights, before, sizeof before);
    assert_int_equal(optimizer_steps(o), 1);
    assert_true(optimizer_step(o, weights, grads, 1, 0, 30));
    assert_true(fabsf(weights[0] + 9000) < 1);
    optimizer_free(o);
}

/* As in PyTorch: by grad_clip / (norm + 1e-6), where that is below 1. */
static void tiny_norms_are_clipped_as_in_pytorch(void **state)
{
    (void)state;
    static const double norms[] = {1e-7, 9e-7, 1e-6, 1.1e-6, 5e-6, 1e-3};
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
        struct optimizer_config clips = undecayed(OPTIMIZER_ADAMW), plain = clips;
        clips.grad_clip = 1e-6f;
        plain.grad_clip = 0;
        struct optimizer *a = open_optimizer(&clips), *b = open_optimizer(&plain);
        struct optimizer_block of_a[OPTIMIZER_MAX_BLOCKS], of_b[OPTIMIZER_MAX_BLOCKS];
        float x[N] = {0.5f, -0.25f, 1}, y[N] = {0.5f, -0.25f, 1};
        const float grads[N] = {0.6f, -0.8f, 0};
        const float scale = (float)norms[i];
        const double norm = optimizer_norm(a, grads, scale);
        const double by = fmin(1, (double)clips.grad_clip / (norm + 1e-6));
        assert_true(fabs(norm - norms[i]) < 1e-6 * norms[i]);
        assert_true(optimizer_step(a, x, grads, scale, norm, 0.01f));
        assert_true(optimizer_step(b, y, grads, (float)((double)scale * by), by * norm, 0.01f));
        assert_memory_equal(x, y, sizeof x);
        assert_int_equal(optimizer_blocks(a, of_a), optimizer_blocks(b, of_b));
        for (int k = 0; k < 2; k++)
            assert_memory_equal(of_a[k].data, of_b[k].data, N * sizeof(float));
        optimizer_free(a);
        optimizer_free(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_grow_up_to_the_limit),
        cmocka_unit_test(a_decay_beyond_all_bounds_is_refused),
        cmocka_unit_test(tiny_norms_are_clipped_as_in_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
