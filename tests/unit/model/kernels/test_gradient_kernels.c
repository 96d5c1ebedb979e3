/* The kernels of the backward: each table as the portable one, bit for bit, and that one
 * against the formulas in double. */
#include "tests/lib/activations.h"
#include "tests/lib/normal.h"
#include "tests/lib/test.h"

#include "model/base/half.h"
#include "model/kernels/kernels.h"
#include "model/kernels/kernels_tables.h"

#include <math.h>
#include <string.h>

enum { MAX = 200, GUARD = 16 };

static void normals(float *x, size_t n, uint64_t stream, float scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] = scale * normal_number(1, stream, i);
}

static void close_to(const char *what, double got, double want, double largest)
{
    if (!(fabs(got - want) <= 1e-5 * largest))
        fail_msg("%s is %.9g, the formula gives %.9g", what, got, want);
}

/* What one table makes of everything, in one block so that it compares at once. */
struct rows {
    float dx[MAX + GUARD], dweight[MAX + GUARD], dbias[MAX + GUARD];
    float slopes[N_ACTIVATIONS][MAX + GUARD];
    float p[64 + GUARD], ds[64 + GUARD];
    float dropped[MAX + GUARD], product, largest;
    uint16_t chanced[MAX + GUARD];
};

struct inputs {
    float x[MAX], dy[MAX], weight[MAX], scores[64], dp[64];
    float lse, delta;
    struct dropout dropout;
};

static void fill_inputs(struct inputs *in, int n_keys)
{
    normals(in->x, MAX, 1, 2);
    normals(in->dy, MAX, 2, 1);
    normals(in->weight, MAX, 3, 1);
    normals(in->scores, 64, 4, 3);
    normals(in->dp, 64, 5, 1);
    double sum = 0;
    for (int i = 0; i < n_keys; i++)
        sum += exp(0.25 * (double)in->scores[i]);
    in->lse = (float)log(2 * sum); /* half of the keys are in other blocks */
    in->delta = 0.3f;
    in->dropout = (struct dropout){.seed = 3, .keep = 3u << 30, .scale = 4.0f / 3};
}

static void run_table(struct rows *r, const struct kernels *k, const struct inputs *in, size_t n,
                      int n_keys)
{
    memset(r, 0, sizeof *r);
    normals(r->dx, n, 6, 1); /* added to */
    normals(r->dweight, n, 7, 1);
    normals(r->dbias, n, 8, 1);
    memcpy(r->p, in->scores, sizeof in->scores);
    memcpy(r->ds, in->dp, sizeof in->dp);
    k->training.layernorm_grad(r->dx, r->dweight, r->dbias, in->dy, in->x, in->weight, n, 1e-5f);
    for (int a = 0; a < N_ACTIVATIONS; a++) {
        memcpy(r->slopes[a], in->dy, n * sizeof(float));
        k->training.activation_grad(r->slopes[a], in->x, n, (enum activation)a);
    }
    k->attention.softmax_grad(r->p, r->ds, n_keys, 0.25f, in->lse, in->delta);
    k->training.dropout(r->dropped, in->x, n, &in->dropout, 9, 4);
    r->product = k->training.dot(in->x, in->dy, n);
    r->largest = k->optimizer.max_abs(in->x, n);
    k->optimizer.half_from_f32_random(r->chanced, in->x, n, 3, 9, 4);
}

static void tables_agree_at_every_length(void **state)
{
    (void)state;
    static struct rows want, got;
    static struct inputs in;
    for (size_t n = 0; n <= MAX; n += n < 70 ? 1 : 13) {
        int n_keys = (int)(n % 65);
        fill_inputs(&in, n_keys);
        run_table(&want, kernels_nth(0), &in, n, n_keys);
        for (int i = 1; kernels_nth(i) != NULL; i++) {
            run_table(&got, kernels_nth(i), &in, n, n_keys);
            if (memcmp(&got, &want, sizeof got) != 0)
                fail_msg("%s differs from portable at length %zu", kernels_nth(i)->name, n);
        }
        for (int i = 0; i < GUARD; i++) /* nothing beyond the row is touched */
            assert_true(want.dx[n + i] == 0 && want.dweight[n + i] == 0 && want.dbias[n + i] == 0 &&
                        want.dropped[n + i] == 0);
        for (int i = 0; i < N_ACTIVATIONS * GUARD; i++)
            assert_true(want.slopes[i / GUARD][n + (size_t)(i % GUARD)] == 0);
        for (int i = n_keys; i < 64; i++)
            assert_true(want.p[i] == 0 && want.ds[i] == 0);
    }
}

/* The loss sum dy LayerNorm(x), for x with element `at` moved by h. */
static double norm_loss(const struct inputs *in, size_t n, size_t at, double h)
{
    double mean = 0, variance = 0, loss = 0;
    for (size_t i = 0; i < n; i++)
        mean += ((double)in->x[i] + (i == at ? h : 0)) / (double)n;
    for (size_t i = 0; i < n; i++)
        variance += pow((double)in->x[i] + (i == at ? h : 0) - mean, 2) / (double)n;
    for (size_t i = 0; i < n; i++)
        loss += (double)in->dy[i] * (double)in->weight[i] *
                ((double)in->x[i] + (i == at ? h : 0) - mean) / sqrt(variance + 1e-5);
    return loss;
}

static void layernorm_is_its_slope(void **state)
{
    (void)state;
    static struct rows r, before;
    static struct inputs in;
    enum { N = 77 };
    fill_inputs(&in, 5);
    run_table(&r, kernels_active(), &in, N, 5);
    normals(before.dx, N, 6, 1);
    normals(before.dweight, N, 7, 1);
    normals(before.dbias, N, 8, 1);
    double mean = 0, variance = 0;
    for (int i = 0; i < N; i++)
        mean += (double)in.x[i] / N;
    for (int i = 0; i < N; i++)
        variance += pow((double)in.x[i] - mean, 2) / N;
    for (size_t i = 0; i < N; i++) {
        double slope = (norm_loss(&in, N, i, 1e-5) - norm_loss(&in, N, i, -1e-5)) / 2e-5;
        close_to("dx", (double)r.dx[i], slope + (double)before.dx[i], 3);
        close_to("dweight", (double)r.dweight[i] - (double)before.dweight[i],
                 (double)in.dy[i] * ((double)in.x[i] - mean) / sqrt(variance + 1e-5), 3);
        close_to("dbias", (double)r.dbias[i] - (double)before.dbias[i], (double)in.dy[i], 3);
    }
}

static float slope_at(const struct kernels *k, float x, enum activation which)
{
    float dy = 2;
    k->training.activation_grad(&dy, &x, 1, which);
    return dy / 2;
}

static void activations_have_their_slopes(void **state)
{
    (void)state;
    static const float far[] = {-3e38f, -1e20f, -150, 150, 1e20f, 3e38f, -INFINITY, INFINITY};
    const struct kernels *k = kernels_active();
    for (int i = 0; i < N_ACTIVATIONS; i++) {
        const enum activation a = (enum activation)i;
        for (float x = -30; x <= 30; x += 0.03125f) {
            double v = (double)x,
                   slope = (activation_exact(v + 1e-5, a) - activation_exact(v - 1e-5, a)) / 2e-5;
            if (x == 0 && a == ACTIVATION_RELU)
                slope = 0; /* PyTorch's choice */
            close_to(activation_name(a), (double)slope_at(k, x, a), slope, 1);
        }
        for (int j = 0; j < 8; j++)
            assert_true(slope_at(k, far[j], a) == (far[j] > 0 && a != ACTIVATION_TANH ? 1 : 0));
        assert_true(isnan(slope_at(k, NAN, a)));
    }
}

static void softmax_is_its_formula(void **state)
{
    (void)state;
    static struct rows r;
    static struct inputs in;
    fill_inputs(&in, 40);
    run_table(&r, kernels_active(), &in, 10, 40);
    for (int i = 0; i < 40; i++) {
        double p = exp(0.25 * (double)in.scores[i] - (double)in.lse);
        close_to("weight", (double)r.p[i], p, 1);
        close_to("gradient of a score", (double)r.ds[i],
                 0.25 * p * ((double)in.dp[i] - (double)in.delta), 1);
    }
}

/* ---- rounding by chance ---- */

/* What binary16 has, all of it, is what comes out. */
static void what_half_has_stays(void **state)
{
    (void)state;
    enum { PART = 1024 };
    for (int t = 0; kernels_nth(t) != NULL; t++)
        for (uint32_t first = 0; first < 65536; first += PART) {
            float wide[PART];
            uint16_t got[PART];
            for (uint32_t i = 0; i < PART; i++)
                wide[i] = half_to_f32((uint16_t)(first + i));
            kernels_nth(t)->optimizer.half_from_f32_random(got, wide, PART, 1, first, 0);
            for (uint32_t i = 0; i < PART; i++)
                if (isfinite(wide[i]))
                    assert_int_equal(got[i], first + i);
        }
}

/* Mean and neighbours of what x becomes in many draws, beside it in units of the last place. */
static void rounds_to_its_mean(float x)
{
    enum { DRAWS = 1 << 16 };
    static float same[DRAWS];
    static uint16_t got[DRAWS];
    double below = -INFINITY, above = INFINITY, sum = 0;
    for (uint32_t h = 0; h < 65536; h++) {
        double v = (double)half_to_f32((uint16_t)h);
        if (isfinite(v) && v <= (double)x)
            below = fmax(below, v);
        if (isfinite(v) && v >= (double)x)
            above = fmin(above, v);
    }
    for (int i = 0; i < DRAWS; i++)
        same[i] = x;
    kernels_active()->optimizer.half_from_f32_random(got, same, DRAWS, 7, 8, 9);
    for (int i = 0; i < DRAWS; i++) {
        double v = (double)half_to_f32(got[i]);
        assert_true(v == below || v == above);
        sum += v;
    }
    /* Half a last place is the most one draw deviates: five of the mean's deviations. */
    double off = (sum / DRAWS - (double)x) / (above - below);
    if (!(fabs(off) < 5 * 0.5 / sqrt(DRAWS)))
        fail_msg("%a is %.4f last places off on average", (double)x, off);
}

static void the_mean_is_what_it_was(void **state)
{
    (void)state;
    static const float fixed[] = {0x1.005p0f, -0x1.0008p0f, 0.1f,          1000.3f,
                                  65503.0f,   -65480.0f,    0x1.3333p-15f, -0x1.11p-20f,
                                  0x1p-25f,   0x1p-27f,     0x1.ffffp-15f};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        rounds_to_its_mean(fixed[i]);
    for (uint64_t i = 0; i < 20; i++)
        rounds_to_its_mean(ldexpf(normal_number(2, 3, i), (int)(i * 2) - 24));
}

static void what_is_too_large_is_the_largest(void **state)
{
    (void)state;
    const float x[] = {65505, -65520, 1e30f, INFINITY, -INFINITY};
    uint16_t got[5];
    for (int t = 0; kernels_nth(t) != NULL; t++) {
        kernels_nth(t)->optimizer.half_from_f32_random(got, x, 5, 1, 2, 3);
        for (int i = 0; i < 5; i++)
            assert_int_equal(got[i], x[i] > 0 ? 0x7bff : 0xfbff);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_agree_at_every_length),
        cmocka_unit_test(layernorm_is_its_slope),
        cmocka_unit_test(activations_have_their_slopes),
        cmocka_unit_test(softmax_is_its_formula),
        cmocka_unit_test(what_half_has_stays),
        cmocka_unit_test(the_mean_is_what_it_was),
        cmocka_unit_test(what_is_too_large_is_the_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
