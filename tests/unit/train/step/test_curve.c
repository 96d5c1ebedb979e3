/* Ten steps of training, from ids to weights, as tests/golden/curve_reference.py made them. */
#include "model/base/par.h"
#include "tests/lib/curve.h"
#include "train/optim/optimizer.h"

#include <math.h>

/* Everything learns, nothing is dropped. */
static void train(struct curve *x, const struct optimizer_config *c, double rate, int batch,
                  double curve[STEPS][2])
{
    struct step_config s;
    step_config_init(&s);
    curve_train(x, &x->w, s, c, rate, batch, curve);
}

/* In theory it has no gradient, so that what moves it is noise over eps. */
static bool is_key_bias(const struct weights *w, size_t i)
{
    const struct config *c = &w->view.config;
    size_t C = (size_t)c->n_embd;
    for (int n = 0; n < c->n_layer; n++) {
        const float *bias = w->view.layers[n].c_attn.bias;
        if (w->data + i >= bias + C && w->data + i < bias + 2 * C)
            return true;
    }
    return false;
}

static void compare(const char *name, const struct optimizer_config *c, double rate, int batch)
{
    struct curve x;
    struct buf b = {0};
    double curve[STEPS][2], worst = 0, weights[2] = {0};
    curve_open(&x);
    train(&x, c, rate, batch, curve);
    char file[32];
    snprintf(file, sizeof file, "curve/%s", name);
    const float *want = golden_floats(&b, file, 2 * STEPS + x.w.n);
    for (int i = 0; i < 2 * STEPS; i++)
        worst = worse(worst, fabs(curve[i / 2][i % 2] / (double)want[i] - 1));
    for (size_t i = 0; i < x.w.n; i++) {
        double d = fabs((double)x.w.data[i] - (double)want[2 * STEPS + i]);
        double *greatest = &weights[is_key_bias(&x.w, i)];
        *greatest = d <= *greatest ? *greatest : d; /* NaN stays */
    }
    printf("# %s, micro-batches of %d: losses and norms within %.2g, weights %.2g, keys' bias "
           "%.2g\n",
           name, batch, worst, weights[0], weights[1]);
    assert_true(worst < 1e-6);
    assert_true(weights[0] < 5e-6);
    assert_true(weights[1] < 2e-4);
    buf_release(&b);
    weights_release(&x.w);
}

static void adamw_is_pytorchs(void **state)
{
    (void)state;
    const struct optimizer_config c = curve_config(OPTIMIZER_ADAMW);
    compare("adamw", &c, 3e-3, B);
    compare("adamw", &c, 3e-3, 1);
    compare("adamw", &c, 3e-3, MICRO * B);
}

static void lamb_is_numpys(void **state)
{
    (void)state;
    const struct optimizer_config c = curve_config(OPTIMIZER_LAMB);
    compare("lamb", &c, 2e-2, B);
}

static void muon_is_numpys(void **state)
{
    (void)state;
    const struct optimizer_config c = curve_config(OPTIMIZER_MUON);
    compare("muon", &c, 3e-3, B);
    compare("muon", &c, 3e-3, MICRO * B);
}

/* Ten steps in any team. */
static void bits_do_not_depend_on_the_team(void **state)
{
    (void)state;
    struct optimizer_config c;
    optimizer_config_init(&c);
    struct curve first, x;
    double curve[STEPS][2], again[STEPS][2];
    assert_ok(par_open(1, false));
    curve_open(&first);
    train(&first, &c, 3e-3, B, curve);
    for (int threads = 2; threads <= 4; threads++) {
        assert_ok(par_open(threads, false));
        curve_open(&x);
        train(&x, &c, 3e-3, B, again);
        assert_memory_equal(again, curve, sizeof curve);
        assert_memory_equal(x.w.data, first.w.data, x.w.n * sizeof *x.w.data);
        weights_release(&x.w);
    }
    par_close();
    weights_release(&first.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adamw_is_pytorchs),
        cmocka_unit_test(lamb_is_numpys),
        cmocka_unit_test(muon_is_numpys),
        cmocka_unit_test(bits_do_not_depend_on_the_team),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
