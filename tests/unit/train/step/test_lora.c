/* Training an adapter: against PyTorch (tests/golden/lora_reference.py), against central
 * differences, and the bits that must not change. */
#include "model/base/par.h"
#include "model/base/rng.h"
#include "tests/lib/curve.h"
#include "tests/lib/normal.h"

#include <math.h>

static char targets_all[] = "c_attn,c_proj,c_fc", targets_one[] = "mlp.c_proj";
static const struct adapter_config ALL = {.rank = 3, .alpha = 8, .targets = targets_all};
static const struct adapter_config RSLORA = {
    .rank = 4, .alpha = 6, .rslora = true, .targets = targets_one};
static const double RATE = 3e-3;

struct lora {
    struct curve x;
    struct adapter *a;
    struct weights learning;
};

static void open_lora_beside(struct lora *l, const struct adapter_config *c, enum dtype dtype)
{
    curve_open_as(&l->x, dtype);
    assert_ok(adapter_new(&l->a, c, &l->x.w.view.config));
    weights_freeze(&l->x.w, l->a);
    l->learning = weights_trainable(&l->x.w);
    for (size_t i = 0; i < l->a->n; i++)
        l->a->data[i] = 0.2f * normal_number(9, 1, i);
}

static void open_lora(struct lora *l, const struct adapter_config *c)
{
    open_lora_beside(l, c, DTYPE_F32);
}

static void close_lora(struct lora *l)
{
    weights_release(&l->x.w);
    adapter_free(l->a);
}

/* Element i of a half as PEFT has it, in a block laid out as the adapter's: B is [out,r] there. */
static size_t place_of(const struct adapter *a, int tensor, size_t i)
{
    const struct param_tensor *t = &a->tensors[tensor];
    size_t rank = (size_t)t->rows, cols = (size_t)t->cols;
    return a->offset[tensor] + (tensor % 2 ? i % rank * cols + i / rank : i);
}

static void take_peft(const struct adapter *a, float *block, const float *peft)
{
    for (int t = 0; t < a->n_tensors; t++)
        for (size_t i = 0; i < a->offset[t + 1] - a->offset[t]; i++)
            block[place_of(a, t, i)] = *peft++;
}

static struct step_config plain(void)
{
    struct step_config s;
    step_config_init(&s);
    s.batch = MICRO * B;
    s.length = T;
    return s;
}

/* Ten steps. */
static void adamw(struct lora *l, struct step_config s, int batch, double curve[STEPS][2])
{
    const struct optimizer_config c = curve_config(OPTIMIZER_ADAMW);
    curve_train(&l->x, &l->learning, s, &c, RATE, batch, curve);
}

/* The first step's four sequences, in one micro-batch or more; the mean loss. */
static double run(struct lora *l, const struct step_config *s, float *gradients)
{
    struct step *step;
    struct step_result all = {0};
    size_t targets = 0;
    for (size_t i = 0; i < MICRO * B * T; i++)
        targets += l->x.labels[i] != LABEL_NONE;
    assert_ok(step_new(&step, &l->x.w, s));
    step_zero(step);
    for (int i = 0; i < MICRO * B; i += s->batch) {
        uint64_t before = mem_count();
        assert_ok(step_run(step, &all, l->x.ids + i * T, l->x.labels + i * T, s->batch, T,
                           1 / (float)targets, (uint64_t)i, true));
        assert_int_equal(mem_count(), before);
    }
    if (gradients != NULL)
        memcpy(gradients, step_gradients(step), l->learning.n * sizeof *gradients);
    step_free(step);
    return all.loss_sum / (double)targets;
}

static float *block(const struct lora *l)
{
    float *b = mem_array(l->learning.n, sizeof *b);
    assert_non_null(b);
    return b;
}

/* ---- against PyTorch ---- */

/* The greatest difference within a tensor, of the tensor's greatest. */
static double worst_tensor(const struct adapter *a, const float *have, const float *want)
{
    double worst = 0;
    for (int t = 0; t < a->n_tensors; t++) {
        double d = 0, greatest = 0;
        for (size_t i = a->offset[t]; i < a->offset[t + 1]; i++) {
            d = worse(d, fabs((double)have[i] - (double)want[i]));
            greatest = fmax(greatest, fabs((double)want[i]));
        }
        assert_true(greatest > 0);
        worst = worse(worst, d / greatest);
    }
    return worst;
}

static void compare_gradients(const char *name, const struct adapter_config *c, enum dtype dtype,
                              double loss_within, double within)
{
    struct lora l;
    struct buf b = {0};
    char file[32];
    open_lora_beside(&l, c, dtype);
    snprintf(file, sizeof file, "lora/%s", name);
    const size_t n = l.a->n;
    const float *want = golden_floats(&b, file, 2 * n + 1);
    float *have = block(&l), *wanted = block(&l);
    take_peft(l.a, l.a->data, want);
    take_peft(l.a, wanted, want + n + 1);
    struct step_config s = plain();
    double loss = run(&l, &s, have), worst = worst_tensor(l.a, have, wanted);
    printf("# %s: loss within %.2g, gradients within %.2g of each tensor's greatest\n", name,
           fabs(loss / (double)want[n] - 1), worst);
    assert_true(fabs(loss / (double)want[n] - 1) < loss_within);
    assert_true(worst < within);
    mem_free(have);
    mem_free(wanted);
    buf_release(&b);
    close_lora(&l);
}

static void gradients_are_pytorchs(void **state)
{
    (void)state;
    compare_gradients("all", &ALL, DTYPE_F32, 1e-6, 1e-5);
    compare_gradients("rslora", &RSLORA, DTYPE_F32, 1e-6, 1e-5);
    /* The same, but for what the base's weights and the activations lose in binary16. */
    compare_gradients("all", &ALL, DTYPE_F16, 1e-3, 1e-2);
    compare_gradients("rslora", &RSLORA, DTYPE_F16, 1e-3, 1e-2);
}

static void adamw_is_pytorchs(void **state)
{
    (void)state;
    for (int batch = 1; batch <= MICRO * B; batch *= 2) {
        struct lora l;
        struct buf start = {0}, end = {0};
        double curve[STEPS][2], worst = 0, weights = 0;
        open_lora(&l, &ALL);
        const size_t n = l.a->n;
        take_peft(l.a, l.a->data, golden_floats(&start, "lora/all", 2 * n + 1));
        for (int i = 0; i < l.a->n_branches; i++)
            memset(l.a->branches[i].b, 0,
                   (size_t)l.a->branches[i].rank * (size_t)l.a->branches[i].N * sizeof(float));
        float *before = mem_array(l.x.w.n, sizeof *before), *want = block(&l);
        assert_non_null(before);
        memcpy(before, l.x.w.data, l.x.w.n * sizeof *before);
        adamw(&l, plain(), batch, curve);
        const float *expected = golden_floats(&end, "lora/adamw", 2 * STEPS + n);
        take_peft(l.a, want, expected + 2 * STEPS);
        for (int i = 0; i < 2 * STEPS; i++)
            worst = worse(worst, fabs(curve[i / 2][i % 2] / (double)expected[i] - 1));
        for (size_t i = 0; i < n; i++)
            weights = worse(weights, fabs((double)l.a->data[i] - (double)want[i]));
        printf("# micro-batches of %d: losses and norms within %.2g, A and B %.2g\n", batch, worst,
               weights);
        assert_true(worst < 1e-5);
        assert_true(weights < 1e-5);
        /* The base has not moved. */
        assert_memory_equal(before, l.x.w.data, l.x.w.n * sizeof *before);
        mem_free(before);
        mem_free(want);
        buf_release(&start);
        buf_release(&end);
        close_lora(&l);
    }
}

/* ---- dropout, and the bits ---- */

/* Everything that is dropped, dropped. */
static struct step_config dropping(struct lora *l)
{
    struct step_config s = plain();
    s.dropout = (struct dropout_config){0.1f, 0.1f, 0.1f, 5};
    l->a->config.dropout = 0.3f;
    return s;
}

/* The greatest difference of three elements of each tensor. */
static double central_differences(enum activation activation)
{
    struct lora l;
    open_lora(&l, &ALL);
    l.x.w.view.config.activation = activation;
    struct step_config s = dropping(&l);
    float *gradients = block(&l);
    double worst = 0;
    const float h = 3e-3f;
    run(&l, &s, gradients);
    for (int t = 0; t < l.a->n_tensors; t++)
        for (int k = 0; k < 3; k++) {
            size_t n = l.a->offset[t + 1] - l.a->offset[t];
            size_t i =
                l.a->offset[t] + (size_t)(rng_uniform(3, (uint64_t)t, (uint64_t)k) * (double)n);
            float kept = l.a->data[i];
            l.a->data[i] = kept + h;
            double up = run(&l, &s, NULL);
            l.a->data[i] = kept - h;
            double down = run(&l, &s, NULL);
            l.a->data[i] = kept;
            double slope = (up - down) / (2 * (double)h);
            worst = worse(worst, fabs(slope - (double)gradients[i]));
        }
    mem_free(gradients);
    close_lora(&l);
    return worst;
}

static void gradients_are_central_differences(void **state)
{
    (void)state;
    for (int i = 0; i < N_ACTIVATIONS; i++) {
        double worst = central_differences((enum activation)i);
        printf("# %s: central differences within %.2g\n", activation_name((enum activation)i),
               worst);
        /* Steps pass bends of ReLU. */
        assert_true(worst < (i == ACTIVATION_RELU ? 2e-3 : 1e-4));
    }
}

/* The masks come from each sequence's number. */
static void splits_drop_the_same(void **state)
{
    (void)state;
    struct lora l;
    open_lora(&l, &ALL);
    struct step_config s = dropping(&l);
    float *whole = block(&l), *split = block(&l);
    double loss = run(&l, &s, whole);
    s.batch = 1;
    assert_true(fabs(run(&l, &s, split) / loss - 1) < 1e-6);
    assert_true(worst_tensor(l.a, split, whole) < 1e-5);
    /* And something is dropped. */
    l.a->config.dropout = 0;
    assert_true(fabs(run(&l, &s, split) / loss - 1) > 1e-4);
    mem_free(whole);
    mem_free(split);
    close_lora(&l);
}

static void bits_do_not_depend_on_team_or_recomputation(void **state)
{
    (void)state;
    struct lora first, l;
    double curve[STEPS][2], again[STEPS][2];
    assert_ok(par_open(1, false));
    open_lora(&first, &ALL);
    adamw(&first, dropping(&first), B, curve);
    for (int threads = 1; threads <= 4; threads++) {
        assert_ok(par_open(threads, false));
        open_lora(&l, &ALL);
        struct step_config s = dropping(&l);
        s.recompute = threads % 2 ? "layers" : "1";
        adamw(&l, s, B, again);
        assert_memory_equal(again, curve, sizeof curve);
        assert_memory_equal(l.a->data, first.a->data, l.a->n * sizeof *l.a->data);
        close_lora(&l);
    }
    par_close();
    close_lora(&first);
}

/* B is zero at first: the base to the last bit. */
static void a_new_adapter_changes_nothing(void **state)
{
    (void)state;
    struct lora l;
    struct curve base;
    struct step *step;
    struct step_result r = {0}, with = {0};
    curve_open(&base);
    open_lora(&l, &ALL);
    adapter_randomize(l.a, 7);
    struct step_config s = plain();
    assert_ok(step_new(&step, &base.w, &s));
    assert_ok(step_run(step, &r, base.ids, base.labels, s.batch, T, 1, 0, true));
    step_free(step);
    assert_ok(step_new(&step, &l.x.w, &s));
    assert_ok(step_run(step, &with, l.x.ids, l.x.labels, s.batch, T, 1, 0, true));
    assert_memory_equal(&r.loss_sum, &with.loss_sum, sizeof r.loss_sum);
    /* A has no gradient while B is zero, B has one. */
    const float *g = step_gradients(step);
    for (int t = 0; t < l.a->n_tensors; t++) {
        double sum = 0;
        for (size_t i = l.a->offset[t]; i < l.a->offset[t + 1]; i++)
            sum += fabs((double)g[i]);
        assert_true(t % 2 ? sum > 0 : sum == 0);
    }
    for (size_t i = 0; i < (size_t)l.a->branches[0].rank * (size_t)l.a->branches[0].K; i++)
        assert_true(fabsf(l.a->branches[0].a[i]) <= 0.25f && l.a->branches[0].a[i] != 0);
    step_free(step);
    weights_release(&base.w);
    close_lora(&l);
}

static void memory_is_the_adapters(void **state)
{
    (void)state;
    struct config c = curve_shape();
    struct step_config s = plain();
    struct step_bytes all, few;
    size_t n;
    assert_ok(step_bytes(&all, &c, DTYPE_F32, &s));
    s.adapter = &ALL;
    assert_ok(step_bytes(&few, &c, DTYPE_F32, &s));
    assert_ok(adapter_count(&n, &ALL, &c));
    assert_int_equal(n, 2 * (3 * (16 + 48) + 3 * (16 + 16) + 2 * 3 * (16 + 24)));
    assert_int_equal(few.gradients, n * sizeof(float));
    assert_int_equal(all.gradients, config_params(&c) * sizeof(float));
    assert_int_equal(few.activations, all.activations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_pytorchs),
        cmocka_unit_test(adamw_is_pytorchs),
        cmocka_unit_test(gradients_are_central_differences),
        cmocka_unit_test(splits_drop_the_same),
        cmocka_unit_test(bits_do_not_depend_on_team_or_recomputation),
        cmocka_unit_test(a_new_adapter_changes_nothing),
        cmocka_unit_test(memory_is_the_adapters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
