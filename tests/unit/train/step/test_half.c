/* Training with what is kept in binary16. */
#include "model/base/half.h"
#include "model/base/par.h"
#include "tests/lib/curve.h"
#include "tests/lib/normal.h"
#include "train/optim/loss_scale.h"
#include "train/step/weights_init.h"

#include <math.h>

/* ---- against PyTorch and NumPy: tests/golden/half_reference.py ---- */

/* Tensor i is the key's bias, whose gradient is noise, from its first third to its second. */
static bool is_noise(const struct weights *w, int i, size_t k)
{
    size_t C = (size_t)w->view.config.n_embd;
    return strstr(w->view.tensors[i].name, "c_attn.bias") != NULL && k >= C && k < 2 * C;
}

static void gradients_are_the_references(void **state)
{
    (void)state;
    struct curve x;
    struct buf b = {0};
    struct step_config s;
    struct step *step;
    struct step_result sums = {0};
    double worst = 0;
    curve_open_as(&x, DTYPE_F16);
    step_config_init(&s);
    s.batch = B;
    s.length = T;
    assert_ok(step_new(&step, &x.w, &s));
    step_zero(step);
    for (int i = 0; i < MICRO * B; i += B)
        step_run(step, &sums, x.ids + i * T, x.labels + i * T, B, T, 1, 0, true);
    const double loss = sums.loss_sum;
    const float *want = golden_floats(&b, "half/gradients", 1 + x.w.n);
    const uint16_t *got = step_gradients(step);
    printf("# loss within %.2g\n", fabs(loss / (double)want[0] - 1));
    assert_true(fabs(loss / (double)want[0] - 1) < 1e-5);
    for (int i = 0; i < x.w.view.n_tensors; i++) {
        double greatest = 0, off = 0;
        for (size_t k = 0; k < weights_size(&x.w, i); k++) {
            size_t at = x.w.offset[i] + k;
            double d = fabs((double)half_to_f32(got[at]) - (double)want[1 + at]);
            greatest = fmax(greatest, fabs((double)want[1 + at]));
            off = worse(off, is_noise(&x.w, i, k) ? 0 : d);
        }
        worst = worse(worst, off / greatest);
    }
    printf("# gradients within %.2g of a tensor's greatest\n", worst);
    /* Here and there an activation lies between two neighbours and falls to the other. */
    assert_true(worst < 1e-3);
    buf_release(&b);
    step_free(step);
    weights_release(&x.w);
}

static void ten_steps(const char *name, bool chance)
{
    struct curve x;
    struct buf b = {0};
    struct optimizer_config c = curve_config(OPTIMIZER_ADAMW);
    struct step_config s;
    double curve[STEPS][2], worst = 0, off = 0;
    size_t n_same = 0;
    c.stochastic_rounding = chance;
    c.seed = 11;
    curve_open_as(&x, DTYPE_F16);
    step_config_init(&s);
    curve_train(&x, &x.w, s, &c, 3e-3, B, curve);
    const float *want = golden_floats(&b, name, 2 * STEPS + x.w.n);
    for (int i = 0; i < 2 * STEPS; i++)
        worst = worse(worst, fabs(curve[i / 2][i % 2] / (double)want[i] - 1));
    for (int i = 0; i < x.w.view.n_tensors; i++)
        for (size_t k = 0; k < weights_size(&x.w, i); k++) {
            float got = half_to_f32(x.w.half[x.w.offset[i] + k]);
            float expected = want[2 * STEPS + x.w.offset[i] + k];
            n_same += got == expected;
            off = is_noise(&x.w, i, k) ? off : worse(off, fabs((double)got - (double)expected));
        }
    double same = (double)n_same / (double)x.w.n;
    printf("# %s: losses and norms within %.2g, %.1f %% of the weights the same, all within %.2g\n",
           name, worst, 100 * same, off);
    assert_true(worst < 5e-4); /* some hundred activations fall to the other neighbour */
    assert_true(same > 0.85);
    assert_true(off < 2e-3); /* a last place of numbers from 1 to 2 is 0.00098 */
    buf_release(&b);
    weights_release(&x.w);
}

static void ten_steps_as_the_reference(void **state)
{
    (void)state;
    ten_steps("half/nearest", false);
    ten_steps("half/chance", true);
}

/* ---- the same bits ---- */

/* Ten steps of something dropped, in the team there is. */
static void train_dropping(struct curve *x, const char *recompute, int kind, double curve[STEPS][2])
{
    struct optimizer_config c = curve_config(kind);
    struct step_config s;
    step_config_init(&s);
    s.recompute = recompute;
    s.dropout = (struct dropout_config){.embd = 0.1f, .attn = 0.1f, .resid = 0.1f, .seed = 3};
    curve_open_as(x, DTYPE_F16);
    curve_train(x, &x->w, s, &c, 3e-3, B, curve);
}

static void same_bits_in_any_team_and_recomputed(void **state)
{
    (void)state;
    static const char *const recompute[] = {"none", "layers", "0"};
    for (int kind = OPTIMIZER_ADAMW; kind <= OPTIMIZER_MUON; kind++) {
        struct curve first, x;
        double curve[STEPS][2], again[STEPS][2];
        assert_ok(par_open(1, false));
        train_dropping(&first, "none", kind, curve);
        for (int threads = 1; threads <= 3; threads++) {
            assert_ok(par_open(threads, false));
            train_dropping(&x, recompute[threads % 3], kind, again);
            assert_memory_equal(again, curve, sizeof curve);
            assert_memory_equal(x.w.half, first.w.half, x.w.n * sizeof *x.w.half);
            weights_release(&x.w);
        }
        weights_release(&first.w);
    }
    par_close();
}

/* ---- the optimizer ---- */

/* Masters whose tensors have several pieces, all weights 1. */
static void make_ones(struct weights *w)
{
    struct config c = tiny_config();
    struct model m;
    char name[] = "tiny";
    c.n_embd = 90;
    tiny_init(&m, &c, DTYPE_F32, 5);
    m.name = name;
    assert_ok(weights_init(w, &m, NULL, DTYPE_F16, NULL));
    tiny_release(&m);
    for (size_t i = 0; i < w->n; i++)
        w->half[i] = half_from_f32(1);
}

/* Where the weights are on average after 100 steps of 1e-5 downwards, a fiftieth of the
 * distance to the neighbour. */
static double descend(bool chance)
{
    struct weights w;
    struct optimizer *o = NULL;
    struct optimizer_config c;
    double sum = 0;
    make_ones(&w);
    uint16_t *grads = mem_array(w.n, sizeof *grads);
    for (size_t i = 0; i < w.n; i++)
        grads[i] = half_from_f32(0.5f);
    optimizer_config_init(&c);
    c.weight_decay = 0;
    c.stochastic_rounding = chance;
    assert_ok(optimizer_new(&o, &c, weights_layout(&w)));
    for (int t = 0; t < 100; t++) {
        double norm = optimizer_norm(o, grads, 1);
        uint64_t before = mem_count();
        optimizer_step(o, weights_block(&w), grads, 1, norm, 1e-5f);
        assert_int_equal(mem_count(), before);
    }
    for (size_t i = 0; i < w.n; i++)
        sum += (double)half_to_f32(w.half[i]);
    sum /= (double)w.n;
    optimizer_free(o);
    weights_release(&w);
    mem_free(grads);
    return sum;
}

static void small_steps_count(void **state)
{
    (void)state;
    double chance = descend(true);
    printf("# 100 steps of 1e-5 from 1: %.6f\n", chance);
    assert_true(fabs(chance - 0.999) < 2e-5);
    assert_true(descend(false) == 1);
}

enum { PIECE = 16384, RUN = 1024 };

/* A run's moments, each in the run's own unit, are those of fp32 within half a last place for
 * every step there was. */
static void expect_moments(const struct optimizer *whole, const struct optimizer *half,
                           const struct weights *w, int steps)
{
    struct optimizer_block a[OPTIMIZER_MAX_BLOCKS], b[OPTIMIZER_MAX_BLOCKS];
    assert_int_equal(optimizer_blocks(whole, a), 2);
    assert_int_equal(optimizer_blocks(half, b), 3);
    const float *full = a[1].data, *units = b[2].data;
    const uint16_t *halves = b[1].data;
    size_t piece = 0;
    for (int i = 0; i < w->view.n_tensors; i++)
        for (size_t at = w->offset[i]; at < w->offset[i + 1]; at += PIECE, piece++)
            for (size_t k = 0; k < PIECE && at + k < w->offset[i + 1]; k++) {
                float unit = units[piece * (PIECE / RUN) + k / RUN], m = full[at + k];
                float bound = fmaxf(fabsf(m) * 0x1p-11f, unit * 0x1p-25f) * (float)steps;
                assert_true(fabsf(half_to_f32(halves[at + k]) * unit - m) <= bound);
            }
}

/* Against a first moment in fp32, from gradients of any size, and of another in each run. */
static void half_moments_lose_half_a_last_place(void **state)
{
    (void)state;
    for (int e = -24; e <= 15; e += 13) {
        struct weights w;
        struct optimizer *whole = NULL, *half = NULL;
        struct optimizer_config c;
        optimizer_config_init(&c);
        make_ones(&w);
        uint16_t *grads = mem_array(w.n, sizeof *grads);
        for (int i = 0; i < w.view.n_tensors; i++)
            for (size_t k = 0; k < weights_size(&w, i); k++)
                grads[w.offset[i] + k] = half_from_f32(
                    ldexpf(normal_number(1, (uint64_t)i, k) / 4, e - 3 * (int)(k / RUN % 4)));
        c.first_order_momentum = MOMENT_F32;
        assert_ok(optimizer_new(&whole, &c, weights_layout(&w)));
        c.first_order_momentum = MOMENT_AS_WEIGHTS;
        assert_ok(optimizer_new(&half, &c, weights_layout(&w)));
        for (int step = 1; step <= 3; step++) {
            optimizer_step(whole, weights_block(&w), grads, 0x1p-20f, 0, 0);
            optimizer_step(half, weights_block(&w), grads, 0x1p-20f, 0, 0);
            expect_moments(whole, half, &w, step);
        }
        optimizer_free(whole);
        optimizer_free(half);
        weights_release(&w);
        mem_free(grads);
    }
}

/* Weights in binary16 have its greatest number for a limit, whichever way they are rounded: of
 * what falls by 30000 a step two steps are taken. */
static void half_weights_stay_finite(void **state)
{
    (void)state;
    for (int chance = 0; chance < 2; chance++) {
        struct weights w;
        struct optimizer *o = NULL;
        struct optimizer_config c;
        optimizer_config_init(&c);
        c.weight_decay = 0;
        c.stochastic_rounding = chance;
        make_ones(&w);
        uint16_t *grads = mem_array(w.n, sizeof *grads), *before = mem_array(w.n, sizeof *before);
        for (size_t i = 0; i < w.n; i++)
            grads[i] = half_from_f32(0.25f);
        assert_ok(optimizer_new(&o, &c, weights_layout(&w)));
        double norm = optimizer_norm(o, grads, 1);
        assert_true(optimizer_step(o, weights_block(&w), grads, 1, norm, 30000));
        assert_true(optimizer_step(o, weights_block(&w), grads, 1, norm, 30000));
        memcpy(before, w.half, w.n * sizeof *before);
        assert_false(optimizer_step(o, weights_block(&w), grads, 1, norm, 30000));
        assert_memory_equal(w.half, before, w.n * sizeof *before);
        assert_int_equal(optimizer_steps(o), 2);
        assert_true(fabsf(half_to_f32(before[0]) + 59999) < 64);
        optimizer_free(o);
        weights_release(&w);
        mem_free(grads);
        mem_free(before);
    }
}

/* ---- the scale of the loss ---- */

static void the_scale_halves_and_grows(void **state)
{
    (void)state;
    struct loss_scale s = {.scale = 4};
    assert_true(loss_scale_overflow(&s));
    assert_true(s.scale == 2);
    loss_scale_advance(&s, 3);
    loss_scale_advance(&s, 3);
    assert_true(s.scale == 2 && s.steps == 2);
    loss_scale_advance(&s, 3);
    assert_true(s.scale == 4 && s.steps == 0);
    loss_scale_advance(&s, 3);
    assert_true(loss_scale_overflow(&s) && s.steps == 0);
    assert_true(loss_scale_overflow(&s));
    assert_true(s.scale == 1 && s.overflows == 3);
    /* Then the scale is not to blame. */
    assert_false(loss_scale_overflow(&s));
    assert_true(s.scale == 1 && s.overflows == 3);
    s.scale = LOSS_SCALE_MAX;
    loss_scale_advance(&s, 1);
    assert_true(s.scale == LOSS_SCALE_MAX);
}

/* ---- how well it learns ---- */

enum { LONG = 200 };

/* The losses of 200 steps, of ids each of which says what the next is. */
static void learn(double losses[LONG], enum dtype dtype)
{
    struct curve x;
    struct optimizer *o = NULL;
    struct optimizer_config c = curve_config(OPTIMIZER_ADAMW);
    struct step_config s;
    struct step *step;
    token_id ids[B * T], labels[B * T];
    curve_open_as(&x, dtype);
    step_config_init(&s);
    s.batch = B;
    s.length = T;
    assert_ok(step_new(&step, &x.w, &s));
    assert_ok(optimizer_new(&o, &c, weights_layout(&x.w)));
    for (int t = 0; t < LONG; t++) {
        struct step_result one = {0};
        tiny_ids(ids, B * T, &x.w.view.config, (uint64_t)t);
        for (int i = 0; i < B * T; i++)
            labels[i] = (ids[i] * 7 + 3) % x.w.view.config.n_vocab;
        step_zero(step);
        assert_ok(step_run(step, &one, ids, labels, B, T, 1024.0f / (B * T), 0, true));
        double norm = optimizer_norm(o, step_gradients(step), 1.0f / 1024);
        optimizer_step(o, weights_block(&x.w), step_gradients(step), 1.0f / 1024, norm, 5e-3f);
        losses[t] = one.loss_sum / (B * T);
    }
    optimizer_free(o);
    step_free(step);
    weights_release(&x.w);
}

static void it_learns_as_float32(void **state)
{
    (void)state;
    double whole[LONG], half[LONG], off = 0, greatest = 0;
    learn(whole, DTYPE_F32);
    learn(half, DTYPE_F16);
    for (int t = 0; t < LONG; t++) {
        off += (half[t] - whole[t]) / LONG;
        greatest = fmax(greatest, fabs(half[t] - whole[t]));
    }
    printf("# 200 steps from %.3f to %.3f: float16 %+.5f of float32 on average, %.3f at most\n",
           whole[0], whole[LONG - 1], off, greatest);
    assert_true(whole[LONG - 1] < 0.5); /* from ln 31 = 3.4 and more */
    assert_true(fabs(off) < 0.01 && greatest < 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_the_references),
        cmocka_unit_test(ten_steps_as_the_reference),
        cmocka_unit_test(same_bits_in_any_team_and_recomputed),
        cmocka_unit_test(small_steps_count),
        cmocka_unit_test(half_moments_lose_half_a_last_place),
        cmocka_unit_test(half_weights_stay_finite),
        cmocka_unit_test(the_scale_halves_and_grows),
        cmocka_unit_test(it_learns_as_float32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
