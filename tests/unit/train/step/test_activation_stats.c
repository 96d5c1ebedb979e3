/* Statistics of activations, of made-up ones. */
#include "train/step/activation_stats.h"

#include "model/base/par.h"
#include "model/params.h"
#include "tests/lib/test.h"

#include <math.h>

enum { ROWS = 5, C = 4, F = 6, LAYERS = 2 };

struct pass {
    struct activation_stats w;
    struct forward f;
};

static void pass_share(void *arg, int thread, int n_threads)
{
    struct pass *p = arg;
    for (int layer = 0; layer < LAYERS; layer++)
        activation_stats_add(&p->w, &p->f, layer, ROWS, thread, n_threads);
}

static void statistics_are_those_of_all_rows(void **state)
{
    (void)state;
    float att[ROWS * C], x[LAYERS + 1][ROWS * C], fc[ROWS * F];
    struct activations layers[LAYERS + 1];
    struct params params = {.config = {.n_layer = LAYERS, .n_head = 1, .n_embd = C, .n_inner = F}};
    double sum = 0, squares = 0;
    for (int i = 0; i < ROWS * C; i++) {
        att[i] = (float)(i % 3 - 1); /* a third are zero */
        for (int k = 0; k <= LAYERS; k++)
            x[k][i] = (float)(k * 10 - i * i);
    }
    for (int i = 0; i < ROWS * F; i++) {
        fc[i] = (float)i / 7 - 1;
        sum += (double)fc[i];
        squares += (double)fc[i] * (double)fc[i];
    }
    for (int k = 0; k <= LAYERS; k++)
        layers[k] = (struct activations){.x = x[k], .att = att};
    struct pass p = {.f = {.params = &params, .layers = layers, .fc = fc}};
    assert_ok(activation_stats_init(&p.w, &params.config, ROWS));
    const struct activation_summary none = activation_stats_of(&p.w, 0, ACTIVATION_MLP);
    assert_true(none.std == 0 && none.max == 0 && none.zeros == 0);
    for (int threads = 1; threads <= 3; threads++) {
        assert_ok(par_open(threads, false));
        activation_stats_reset(&p.w);
        par_run(pass_share, &p);
        par_run(pass_share, &p); /* two micro-batches of the same: the same statistics */
        const struct activation_summary a = activation_stats_of(&p.w, 1, ACTIVATION_ATTENTION);
        assert_true(fabs(a.zeros - 7.0 / 20) < 1e-12 && a.max == 1);
        const struct activation_summary m = activation_stats_of(&p.w, 0, ACTIVATION_MLP);
        double n = ROWS * F, mean = sum / n;
        assert_true(fabs(m.mean - mean) < 1e-12);
        assert_true(fabs(m.std - sqrt(squares / n - mean * mean)) < 1e-12);
        /* What leaves a layer is what comes into the next. */
        assert_true(activation_stats_of(&p.w, 0, ACTIVATION_RESIDUAL).max == 351);
        assert_true(activation_stats_of(&p.w, 1, ACTIVATION_RESIDUAL).max == 341);
    }
    x[1][7] = NAN;
    par_run(pass_share, &p);
    assert_true(isnan(activation_stats_of(&p.w, 0, ACTIVATION_RESIDUAL).max));
    assert_true(isfinite(activation_stats_of(&p.w, 1, ACTIVATION_RESIDUAL).max));
    activation_stats_release(&p.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(statistics_are_those_of_all_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
