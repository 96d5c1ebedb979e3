/* Matrices made nearly orthogonal: their singular vectors stay, their singular values become what
 * the polynomial makes of them, in 0.68 to 1.21, and the bits are the same in any team. */
#include "tests/lib/normal.h"
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/kernels/kernels.h"
#include "model/kernels/product.h"
#include "train/optim/newton_schulz.h"

#include <math.h>

enum { GAP = 3 };

/* In double: x [n] less twice its part along the unit vector v [n], elements `step` apart. */
static void reflect(double *x, const double *v, int n, size_t step)
{
    double along = 0;
    for (int i = 0; i < n; i++)
        along += v[i] * x[(size_t)i * step];
    for (int i = 0; i < n; i++)
        x[(size_t)i * step] -= 2 * along * v[i];
}

/* All rows and all columns of a [rows,cols] reflected: singular values stay. Twice is as before. */
static void reflect_both(double *a, int rows, int cols)
{
    double *v = mem_array((size_t)(rows + cols), sizeof *v), norms[2] = {0, 0};
    for (int i = 0; i < rows + cols; i++) {
        v[i] = (double)normal_number(4, 1, (uint64_t)i);
        norms[i >= rows] += v[i] * v[i];
    }
    for (int i = 0; i < rows + cols; i++)
        v[i] /= sqrt(norms[i >= rows]);
    for (int i = 0; i < cols; i++)
        reflect(a + i, v, rows, (size_t)cols);
    for (int i = 0; i < rows; i++)
        reflect(a + (size_t)i * (size_t)cols, v + rows, cols, 1);
    mem_free(v);
}

/* The singular values, from 1 down to 0.01. */
static double singular(int i, int side)
{
    return pow(0.01, side == 1 ? 0 : (double)i / (side - 1));
}

static double five_times(double x)
{
    for (int i = 0; i < 5; i++)
        x = x * (3.4445 + x * x * (-4.7750 + x * x * 2.0315));
    return x;
}

struct trial {
    struct newton_schulz s;
    float *g;
    int rows, cols;
    size_t ld;
};

static void run_share(void *arg, int thread, int n_threads)
{
    struct trial *t = arg;
    newton_schulz_share(&t->s, t->g, t->rows, t->cols, t->ld, thread, n_threads);
}

static void open_trial(struct trial *t, int rows, int cols, double scale)
{
    const int side = rows < cols ? rows : cols;
    *t = (struct trial){.rows = rows, .cols = cols, .ld = (size_t)cols + GAP};
    double *a = mem_array((size_t)(rows * cols), sizeof *a);
    for (int i = 0; i < side; i++)
        a[(size_t)i * (size_t)(cols + 1)] = scale * singular(i, side);
    reflect_both(a, rows, cols);
    t->g = mem_array((size_t)rows * t->ld, sizeof *t->g);
    for (int i = 0; i < rows; i++)
        for (size_t k = 0; k < t->ld; k++)
            t->g[(size_t)i * t->ld + k] = k < (size_t)cols ? (float)a[i * cols + (int)k] : -7;
    assert_ok(newton_schulz_init(&t->s, (size_t)(rows * cols), side));
    mem_free(a);
}

static void close_trial(struct trial *t)
{
    newton_schulz_release(&t->s);
    mem_free(t->g);
}

static void expect_values(const struct trial *t, double within)
{
    const int rows = t->rows, cols = t->cols, side = rows < cols ? rows : cols;
    double *a = mem_array((size_t)(rows * cols), sizeof *a), norm = 0;
    for (int i = 0; i < side; i++)
        norm += singular(i, side) * singular(i, side);
    for (int i = 0; i < rows; i++) {
        for (int k = 0; k < cols; k++)
            a[i * cols + k] = (double)t->g[(size_t)i * t->ld + (size_t)k];
        for (size_t k = (size_t)cols; k < t->ld; k++)
            assert_true(t->g[(size_t)i * t->ld + k] == -7);
    }
    reflect_both(a, rows, cols);
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < cols; k++) {
            const double got = a[i * cols + k],
                         want = i == k ? five_times(singular(i, side) / sqrt(norm)) : 0;
            if (!(fabs(got - want) <= within))
                fail_msg("%d x %d, element %d, %d: %.7g, expected %.7g", rows, cols, i, k, got,
                         want);
            if (i == k && singular(i, side) >= 0.002 * sqrt(norm))
                assert_true(got >= 0.68 - within && got <= 1.21 + within);
        }
    mem_free(a);
}

static const int shapes[][2] = {{1, 1},   {1, 9},    {9, 1},     {16, 16},  {31, 50},
                                {50, 31}, {97, 200}, {220, 193}, {100, 100}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* The size of a matrix makes no difference. */
static void expect_all(enum product_engine e, enum product_factors f, double within)
{
    assert_ok(product_select(e, f));
    for (int i = 0; i < N_SHAPES; i++) {
        struct trial t;
        open_trial(&t, shapes[i][0], shapes[i][1], i % 2 ? 1e10 : 0.1);
        par_run(run_share, &t);
        expect_values(&t, within);
        close_trial(&t);
    }
    assert_ok(product_select(PRODUCT_AUTO, FACTORS_FLOAT32));
}

static void values_are_the_polynomials(void **state)
{
    (void)state;
    expect_all(PRODUCT_OWN, FACTORS_FLOAT32, 1e-4);
    expect_all(PRODUCT_OPENBLAS, FACTORS_FLOAT32, 1e-4);
}

/* As Muon's authors compute them. */
static void values_in_bfloat16_are_near(void **state)
{
    (void)state;
    expect_all(PRODUCT_OWN, FACTORS_BFLOAT16, 0.2);
}

/* Teams larger than the one that scratch was made for, too. */
static void bits_do_not_depend_on_the_team(void **state)
{
    (void)state;
    product_select(PRODUCT_OWN, FACTORS_FLOAT32);
    for (int i = 0; i < N_SHAPES; i++) {
        struct trial one, other;
        assert_ok(par_open(1, false));
        assert_ok(kernels_select("portable"));
        open_trial(&one, shapes[i][0], shapes[i][1], 3);
        par_run(run_share, &one);
        assert_ok(kernels_select("auto"));
        for (int threads = 2; threads <= 5; threads++) {
            assert_ok(par_open(threads < 4 ? threads : 2, false));
            open_trial(&other, shapes[i][0], shapes[i][1], 3);
            assert_ok(par_open(threads, false));
            par_run(run_share, &other);
            assert_memory_equal(other.g, one.g, (size_t)one.rows * one.ld * sizeof *one.g);
            close_trial(&other);
        }
        close_trial(&one);
    }
    product_select(PRODUCT_AUTO, FACTORS_FLOAT32);
    par_close();
}

static void zeros_stay(void **state)
{
    (void)state;
    struct trial t;
    open_trial(&t, 20, 30, 0);
    par_run(run_share, &t);
    for (int i = 0; i < 20; i++)
        for (size_t k = 0; k < 30; k++)
            assert_true(t.g[(size_t)i * t.ld + k] == 0);
    close_trial(&t);
    /* What is small beside 1e-7 does not become large. */
    open_trial(&t, 20, 30, 1e-12);
    par_run(run_share, &t);
    for (int i = 0; i < 20; i++)
        for (size_t k = 0; k < 30; k++)
            assert_true(fabsf(t.g[(size_t)i * t.ld + k]) < 0.01f);
    close_trial(&t);
}

static void memory_may_be_missing(void **state)
{
    (void)state;
    struct newton_schulz s;
    mem_fail_at(1);
    assert_int_equal(newton_schulz_init(&s, 600, 20), ERR_NOMEM);
    mem_fail_at(0);
    newton_schulz_release(&s);
    assert_ok(newton_schulz_init(&s, 600, 20));
    assert_int_equal(s.bytes, newton_schulz_bytes(600, 20));
    newton_schulz_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_the_polynomials),
        cmocka_unit_test(values_in_bfloat16_are_near),
        cmocka_unit_test(bits_do_not_depend_on_the_team),
        cmocka_unit_test(zeros_stay),
        cmocka_unit_test(memory_may_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
