#include "train/optim/optimizer.h"
#include "train/step/weights_init.h"

#include "model/base/par.h"
#include "model/kernels/kernels.h"
#include "model/kernels/product.h"
#include "tests/lib/golden_floats.h"
#include "tests/lib/normal.h"
#include "tests/lib/thin.h"
#include "tests/lib/tiny.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

/* ---- against PyTorch and NumPy: tests/golden/optimizer_reference.py ---- */

enum { STEPS = 10 };

static struct config golden_config(void)
{
    return config_of(1, 2, 4, 8, 3, 5);
}

/* Masters of this shape, with tiny.h's weights. */
static void make(struct weights *w, const struct config *c)
{
    struct model m;
    tiny_init(&m, c, DTYPE_F32, 5);
    char name[] = "tiny";
    m.name = name;
    assert_ok(weights_init(w, &m, NULL, DTYPE_F32, NULL));
    tiny_release(&m);
}

static float number(const json_t *j, const char *key)
{
    assert_non_null(json_object_get(j, key));
    return (float)json_number_value(json_object_get(j, key));
}

static int choice(const json_t *j, const char *key, const char *const *names)
{
    const char *name = json_string_value(json_object_get(j, key));
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    fail_msg("%s %s", key, name);
    return -1;
}

static struct optimizer_config optimizer_of(const json_t *j)
{
    static const char *const kinds[] = {"adamw", "adam", "lamb", "muon", NULL};
    static const char *const what[] = {"matrices", "all", NULL};
    return (struct optimizer_config){
        .kind = choice(j, "kind", kinds),
        .beta1 = number(j, "beta1"),
        .beta2 = number(j, "beta2"),
        .eps = number(j, "eps"),
        .weight_decay = number(j, "weight_decay"),
        .momentum = json_object_get(j, "momentum") == NULL ? 0 : number(j, "momentum"),
        .decay = choice(j, "decay", what),
        .bias_correction = json_is_true(json_object_get(j, "bias_correction")),
        .grad_clip = number(j, "grad_clip")};
}

/* Weights move by some hundredths; they must agree to a millionth. */
static void compare(const char *name, int step, const float *got, const float *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-6f))
            fail_msg("%s, step %d: weight %zu is %.9g, expected %.9g", name, step, i,
                     (double)got[i], (double)want[i]);
}

static void run_golden(const char *name, const json_t *j)
{
    struct config config = golden_config();
    struct weights w;
    struct optimizer *o = NULL;
    make(&w, &config);
    const size_t n = w.n;
    struct buf inputs = {0}, outputs = {0};
    char file[64];
    snprintf(file, sizeof file, "optimizer/%s", name);
    const float *start = golden_floats(&inputs, "optimizer/start", n * (STEPS + 1));
    const float *want = golden_floats(&outputs, file, 2 * n);
    memcpy(w.data, start, n * sizeof *start);
    struct optimizer_config c = optimizer_of(j);
    float scale = number(j, "scale"), rate = number(j, "rate");
    assert_ok(optimizer_new(&o, &c, weights_layout(&w)));
    for (int t = 0; t < STEPS; t++) {
        const float *grads = start + n * (size_t)(t + 1);
        double norm = optimizer_norm(o, grads, scale);
        double expected = json_number_value(json_array_get(json_object_get(j, "norms"), (size_t)t));
        assert_true(fabs(norm - expected) <= 1e-12 * expected);
        optimizer_step(o, weights_block(&w), grads, scale, norm, rate);
        if (t == 0)
            compare(name, 1, w.data, want, n);
    }
    compare(name, STEPS, w.data, want + n, n);
    assert_int_equal(optimizer_steps(o), STEPS);
    optimizer_free(o);
    weights_release(&w);
    buf_release(&inputs);
    buf_release(&outputs);
}

static void ten_steps_as_the_references(void **state)
{
    (void)state;
    json_error_t error;
    json_t *all = json_load_file("tests/golden/optimizer/cases.json", 0, &error), *j;
    if (all == NULL)
        fail_msg("cases.json: %s", error.text);
    const char *name;
    assert_true(json_object_size(all) >= 8);
    json_object_foreach(all, name, j) run_golden(name, j);
    json_decref(all);
}

/* ---- properties ---- */

static const struct optimizer_config kinds[] = {
    {.kind = OPTIMIZER_ADAMW,
     .beta1 = 0.9f,
     .beta2 = 0.95f,
     .eps = 1e-8f,
     .weight_decay = 0.1f,
     .decay = DECAY_MATRICES,
     .bias_correction = true,
     .grad_clip = 1},
    {.kind = OPTIMIZER_ADAM,
     .beta1 = 0.8f,
     .beta2 = 0.999f,
     .eps = 1e-6f,
     .weight_decay = 0.01f,
     .decay = DECAY_ALL,
     .bias_correction = true,
     .grad_clip = 0},
    {.kind = OPTIMIZER_LAMB,
     .beta1 = 0.9f,
     .beta2 = 0.99f,
     .eps = 1e-6f,
     .weight_decay = 0.1f,
     .decay = DECAY_MATRICES,
     .bias_correction = false,
     .grad_clip = 0.5f},
    {.kind = OPTIMIZER_MUON,
     .beta1 = 0.9f,
     .beta2 = 0.95f,
     .eps = 1e-8f,
     .weight_decay = 0.1f,
     .momentum = 0.95f,
     .decay = DECAY_MATRICES,
     .bias_correction = true,
     .grad_clip = 1},
};

/* Tensors of several pieces and of a few elements. */
static struct config wide_config(void)
{
    struct config c = tiny_config();
    c.n_embd = 90;
    c.n_vocab = 401;
    return c;
}

static void make_grads(float *grads, size_t n, int step)
{
    enum { PERIOD = 65521 }; /* a prime number */
    float numbers[PERIOD];
    for (size_t i = 0; i < PERIOD; i++)
        numbers[i] = normal_number(9, (uint64_t)step, i);
    for (size_t i = 0; i < n; i++)
        grads[i] = numbers[i % PERIOD];
}

static void copy_moments(struct optimizer *to, const struct optimizer *from)
{
    struct optimizer_block a[OPTIMIZER_MAX_BLOCKS], b[OPTIMIZER_MAX_BLOCKS];
    const int n = optimizer_blocks(from, a);
    assert_int_equal(optimizer_blocks(to, b), n);
    for (int i = 0; i < n; i++)
        memcpy(b[i].data, a[i].data, a[i].n * dtype_bytes(a[i].dtype));
    optimizer_set_steps(to, optimizer_steps(from));
}

static void expect_same_moments(const struct optimizer *x, const struct optimizer *y)
{
    struct optimizer_block a[OPTIMIZER_MAX_BLOCKS], b[OPTIMIZER_MAX_BLOCKS];
    const int n = optimizer_blocks(x, a);
    assert_int_equal(optimizer_blocks(y, b), n);
    for (int i = 0; i < n; i++)
        assert_memory_equal(a[i].data, b[i].data, a[i].n * dtype_bytes(a[i].dtype));
}

/* Steps first .. last-1 of the same run. */
static void go(struct optimizer *o, struct weights *w, float *grads, int first, int last)
{
    for (int t = first; t < last; t++) {
        make_grads(grads, w->n, t);
        double norm = optimizer_norm(o, grads, 0.25f);
        optimizer_step(o, w->data, grads, 0.25f, norm, 0.01f);
    }
}

/* Any team and any kernels; also a run that was put down and taken up again. */
static void bits_do_not_depend_on_the_team(void **state)
{
    (void)state;
    struct config c = wide_config();
    struct weights first, w;
    make(&first, &c);
    const size_t n = first.n;
    float *start = mem_array(n, sizeof *start), *grads = mem_array(n, sizeof *grads);
    memcpy(start, first.data, n * sizeof *start);
    /* OpenBLAS's, for portable kernels, have bits of their own. */
    product_select(PRODUCT_OWN, FACTORS_FLOAT32);
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        struct optimizer *o = NULL, *again = NULL;
        memcpy(first.data, start, n * sizeof *start);
        assert_ok(par_open(1, false));
        /* Muon's products by portable kernels take most of the time: test_product has them. */
        assert_ok(kernels_select(THIN && kinds[kind].kind == OPTIMIZER_MUON ? "auto" : "portable"));
        assert_ok(optimizer_new(&o, &kinds[kind], weights_layout(&first)));
        go(o, &first, grads, 0, 4);
        assert_ok(kernels_select("auto"));
        for (int threads = 2; threads <= 5; threads++) {
            if (!thin_runs(threads, 3))
                continue;
            assert_ok(par_open(threads, false));
            make(&w, &c);
            assert_memory_equal(w.data, start, n * sizeof *start);
            assert_ok(optimizer_new(&again, &kinds[kind], weights_layout(&w)));
            go(again, &w, grads, 0, 2);
            struct optimizer *resumed = NULL;
            assert_ok(optimizer_new(&resumed, &kinds[kind], weights_layout(&w)));
            copy_moments(resumed, again);
            go(resumed, &w, grads, 2, 4);
            assert_memory_equal(w.data, first.data, n * sizeof *w.data);
            expect_same_moments(resumed, o);
            assert_memory_equal(optimizer_changes(resumed), optimizer_changes(o),
                                (size_t)w.view.n_tensors * sizeof *optimizer_changes(o));
            optimizer_free(resumed);
            optimizer_free(again);
            weights_release(&w);
        }
        optimizer_free(o);
    }
    assert_memory_not_equal(first.data, start, n * sizeof *start);
    product_select(PRODUCT_AUTO, FACTORS_FLOAT32);
    par_close();
    weights_release(&first);
    mem_free(start);
    mem_free(grads);
}

static double norm_of(const float *x, const float *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double d = (double)x[i] - (y == NULL ? 0 : (double)y[i]);
        sum += d * d;
    }
    return sqrt(sum);
}

static void changes_are_what_happened(void **state)
{
    (void)state;
    struct config c = wide_config();
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        struct weights w;
        struct optimizer *o = NULL;
        make(&w, &c);
        assert_ok(optimizer_new(&o, &kinds[kind], weights_layout(&w)));
        float *before = mem_array(w.n, sizeof *before), *grads = mem_array(w.n, sizeof *grads);
        memcpy(before, w.data, w.n * sizeof *before);
        go(o, &w, grads, 0, 1);
        for (int i = 0; i < w.view.n_tensors; i++) {
            size_t at = w.offset[i], n = weights_size(&w, i);
            double grad = norm_of(grads + at, NULL, n) / 4, weight = norm_of(before + at, NULL, n),
                   update = norm_of(w.data + at, before + at, n);
            assert_true(fabs(optimizer_changes(o)[i].grad_norm - grad) <= 1e-9 * grad);
            assert_true(fabs(optimizer_changes(o)[i].weight_norm - weight) <= 1e-9 * weight);
            /* LAMB's is that of the direction, before weights are rounded. */
            if (!(fabs(optimizer_changes(o)[i].update_norm - update) <= 1e-4 * update))
                fail_msg("kind %zu, %s: the update's norm is %.9g, expected %.9g", kind,
                         w.view.tensors[i].name, optimizer_changes(o)[i].update_norm, update);
        }
        mem_free(before);
        mem_free(grads);
        optimizer_free(o);
        weights_release(&w);
    }
}

static void what_is_not_finite_shows_in_the_norm(void **state)
{
    (void)state;
    struct config c = golden_config();
    struct weights w;
    struct optimizer *o = NULL;
    make(&w, &c);
    assert_ok(optimizer_new(&o, &kinds[0], weights_layout(&w)));
    float *grads = mem_array(w.n, sizeof *grads);
    assert_true(optimizer_norm(o, grads, 1) == 0);
    grads[w.n - 1] = INFINITY;
    assert_true(isinf(optimizer_norm(o, grads, 1)));
    grads[w.n - 1] = NAN;
    assert_true(isnan(optimizer_norm(o, grads, 1)));
    /* What would overflow in float does not. */
    grads[0] = 3e38f, grads[1] = 1.3e38f, grads[w.n - 1] = 0;
    double norm = optimizer_norm(o, grads, 1);
    assert_true(isfinite(norm) && norm > 3e38);
    /* And is clipped to what moves the weights a little. */
    optimizer_step(o, weights_block(&w), grads, 1, norm, 0.01f);
    for (size_t i = 0; i < w.n; i++)
        assert_true(isfinite(w.data[i]) && fabsf(w.data[i]) < 3);
    mem_free(grads);
    optimizer_free(o);
    weights_release(&w);
}

/* Steps of the run at a rate, all weights being kept below a limit: how many were not taken, and
 * what each that was not had left behind. */
static int go_within(struct optimizer *o, struct weights *w, float *grads, float limit, float rate)
{
    enum { N = 12 };
    const size_t n = w->n;
    float *before = mem_array(3 * n, sizeof *before);
    int refused = 0;
    struct optimizer_block moments[OPTIMIZER_MAX_BLOCKS];
    assert_int_equal(optimizer_blocks(o, moments), 2);
    optimizer_set_limit(o, limit);
    for (int t = 0; t < N; t++) {
        int64_t steps = optimizer_steps(o);
        memcpy(before, w->data, n * sizeof *before);
        for (int i = 0; i < 2; i++)
            memcpy(before + (size_t)(1 + i) * n, moments[i].data, moments[i].n * sizeof *before);
        make_grads(grads, n, t);
        bool taken = optimizer_step(o, w->data, grads, 1, optimizer_norm(o, grads, 1), rate);
        assert_int_equal(optimizer_steps(o), steps + taken);
        for (size_t i = 0; i < n; i++)
            assert_true(fabsf(w->data[i]) < limit);
        if (taken)
            continue;
        refused++;
        assert_memory_equal(w->data, before, n * sizeof *before);
        for (int i = 0; i < 2; i++)
            assert_memory_equal(moments[i].data, before + (size_t)(1 + i) * n,
                                moments[i].n * sizeof *before);
        const struct tensor_change *changes = optimizer_changes(o);
        for (int i = 0; i < w->view.n_tensors; i++)
            assert_true(changes[i].update_norm == 0 && changes[i].grad_norm > 0);
    }
    mem_free(before);
    return refused;
}

/* A weight that would be NaN, infinite or too large is in no step taken, however fast they grow;
 * and where none would be, a limit changes no bit. */
static void no_weight_leaves_the_limit(void **state)
{
    (void)state;
    static const float rates[] = {0.1f, 30, 1000, 1e30f, INFINITY};
    struct config c = wide_config();
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
            if (!thin_runs((int)(kind * sizeof rates / sizeof *rates + i), 7))
                continue;
            struct weights free, held[2];
            struct optimizer *o = NULL;
            int refused[2];
            make(&free, &c);
            float *grads = mem_array(free.n, sizeof *grads);
            for (int k = 0; k < 2; k++) {
                assert_ok(par_open(1 + 2 * k, false));
                make(&held[k], &c);
                assert_ok(optimizer_new(&o, &kinds[kind], weights_layout(&held[k])));
                refused[k] = go_within(o, &held[k], grads, i == 0 ? 100 : 65520, rates[i]);
                optimizer_free(o);
            }
            assert_int_equal(refused[0], refused[1]);
            assert_memory_equal(held[0].data, held[1].data, free.n * sizeof *free.data);
            assert_true(i == 0 ? refused[0] == 0 : i < 3 || refused[0] > 0);
            if (i == 0) {
                assert_ok(optimizer_new(&o, &kinds[kind], weights_layout(&free)));
                go_within(o, &free, grads, INFINITY, rates[i]);
                assert_memory_equal(held[0].data, free.data, free.n * sizeof *free.data);
                optimizer_free(o);
            }
            weights_release(&held[0]);
            weights_release(&held[1]);
            weights_release(&free);
            mem_free(grads);
        }
    par_close();
}

/* Muon's matrices have no second moment, in memory as in checkpoints; the other elements have
 * theirs where optimizer_block_index says. */
static void matrices_have_no_second_moment(void **state)
{
    (void)state;
    struct config c = wide_config();
    struct weights w;
    struct optimizer *muon = NULL, *adamw = NULL;
    struct optimizer_block b[OPTIMIZER_MAX_BLOCKS], all[OPTIMIZER_MAX_BLOCKS];
    make(&w, &c);
    float *grads = mem_array(w.n, sizeof *grads);
    assert_ok(optimizer_new(&muon, &kinds[3], weights_layout(&w)));
    assert_ok(optimizer_new(&adamw, &kinds[0], weights_layout(&w)));
    go(muon, &w, grads, 0, 2);
    go(adamw, &w, grads, 0, 2);
    assert_int_equal(optimizer_blocks(muon, b), 2);
    assert_int_equal(optimizer_blocks(adamw, all), 2);
    size_t n = 0;
    for (int i = 0; i < w.view.n_tensors; i++) {
        assert_int_equal(optimizer_block_index(muon, &b[0], w.offset[i]), n);
        assert_int_equal(optimizer_block_index(muon, &b[1], w.offset[i]), w.offset[i]);
        if (w.view.tensors[i].kind == PARAM_CONV1D)
            continue;
        assert_memory_equal((float *)b[0].data + n, (float *)all[0].data + w.offset[i],
                            weights_size(&w, i) * sizeof(float));
        n += weights_size(&w, i);
    }
    assert_int_equal(b[0].n, n);
    assert_int_equal(optimizer_block_index(muon, &b[0], w.n), n);
    assert_true(b[1].n == w.n && n < w.n);
    optimizer_free(muon);
    optimizer_free(adamw);
    mem_free(grads);
    weights_release(&w);
}

/* Of each slice its own slices. */
static void check_slices_of_slices(const struct optimizer *o, const struct optimizer_layout *l,
                                   const size_t *bounds, int n)
{
    for (int i = 0; i < n; i++)
        for (int of = 1; of <= 3; of++) {
            size_t parts[4];
            optimizer_slices(o, bounds[i], bounds[i + 1], of, parts);
            assert_true(parts[0] == bounds[i] && parts[of] == bounds[i + 1]);
            for (int k = 0; k <= of; k++)
                assert_int_equal(optimizer_layout_bound(l, bounds[i], bounds[i + 1], of, k),
                                 parts[k]);
        }
}

static void slices_are_known_before(void **state)
{
    (void)state;
    struct config c = golden_config();
    struct weights w;
    struct optimizer *o = NULL;
    size_t bounds[6];
    c.n_vocab = 3000;
    make(&w, &c);
    const struct optimizer_layout l = weights_layout(&w);
    const size_t layers[] = {0, w.offset[2], w.offset[2 + 12], w.n};
    assert_ok(optimizer_new(&o, &kinds[0], l));
    for (int n = 1; n <= 5; n++)
        for (int from = 0; from < 4; from++)
            for (int to = from; to < 4; to++) {
                optimizer_slices(o, layers[from], layers[to], n, bounds);
                assert_true(bounds[0] == layers[from] && bounds[n] == layers[to]);
                for (int i = 0; i <= n; i++)
                    assert_int_equal(optimizer_layout_bound(&l, layers[from], layers[to], n, i),
                                     bounds[i]);
                check_slices_of_slices(o, &l, bounds, n);
            }
    optimizer_free(o);
    weights_release(&w);
}

static void a_step_allocates_nothing(void **state)
{
    (void)state;
    struct config c = golden_config();
    struct weights w;
    struct optimizer *o = NULL;
    make(&w, &c);
    float *grads = mem_array(w.n, sizeof *grads);
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        assert_ok(optimizer_new(&o, &kinds[kind], weights_layout(&w)));
        go(o, &w, grads, 0, 1);
        uint64_t before = mem_count();
        go(o, &w, grads, 1, 3);
        assert_int_equal(mem_count(), before);
        optimizer_free(o);
    }
    /* Every allocation may fail. */
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        for (uint64_t k = 1, rc = 1; rc != 0; k++) {
            mem_fail_at(k);
            rc = optimizer_new(&o, &kinds[kind], weights_layout(&w)) != 0;
            mem_fail_at(0);
            assert_true(k < 20 && (rc == 1 || k > 4));
        }
        optimizer_free(o);
    }
    mem_free(grads);
    weights_release(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_steps_as_the_references),
        cmocka_unit_test(bits_do_not_depend_on_the_team),
        cmocka_unit_test(changes_are_what_happened),
        cmocka_unit_test(what_is_not_finite_shows_in_the_norm),
        cmocka_unit_test(no_weight_leaves_the_limit),
        cmocka_unit_test(a_step_allocates_nothing),
        cmocka_unit_test(matrices_have_no_second_moment),
        cmocka_unit_test(slices_are_known_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
