/* The products of training: every element as the chain that product.h promises, on every set of
 * kernels, in teams of any size. */
#include "tests/lib/normal.h"
#include "tests/lib/test.h"
#include "tests/lib/thin.h"

#include "model/base/half.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/rng.h"
#include "model/kernels/kernels.h"
#include "model/kernels/product.h"

#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 5 /* floats behind a row that are nobody's */, MAX_THREADS = 4 };

struct trial {
    struct product p;
    bool bf16;
    float *a, *b, *c, *want, *from; /* from: C before */
    size_t size_c;
    int *finished; /* [m,n], how often, and often if its chain was not at its end */
    void *scratch[MAX_THREADS];
};

static float *normals(size_t n, uint64_t stream)
{
    float *x = mem_array(n, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = normal_number(1, stream, i);
    return x;
}

static void count_finished(void *user, int row, int rows, int col, int cols)
{
    struct trial *t = user;
    for (int i = row; i < row + rows; i++)
        for (int j = col; j < col + cols; j++) {
            const float got = t->c[i * t->p.ldc + j], want = t->want[i * t->p.ldc + j];
            t->finished[i * t->p.n + j] += product_engine() != PRODUCT_OWN || got == want ? 1 : 100;
        }
}

/* A factor as the trial's products take it. */
static float factor(const struct trial *t, float x)
{
    if (!t->bf16)
        return x;
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : bf16_to_f32(bf16_from_f32(x));
}

static float factor_a(const struct trial *t, int i, int l)
{
    return factor(t, t->p.alpha * t->a[t->p.transpose_a ? l * t->p.lda + i : i * t->p.lda + l]);
}

static float factor_b(const struct trial *t, int l, int j)
{
    return factor(t, t->b[t->p.transpose_b ? j * t->p.ldb + l : l * t->p.ldb + j]);
}

/* In groups of 32, the even and the odd elements of each apart. */
static float bf16_chain(const struct trial *t, int i, int j, float acc)
{
    for (int l = 0; l < t->p.k; l += 32) {
        float sum[2] = {0};
        for (int x = l; x < l + 32 && x < t->p.k; x++)
            sum[x % 2] = fmaf(factor_a(t, i, x), factor_b(t, x, j), sum[x % 2]);
        acc += sum[0] + sum[1];
    }
    return acc;
}

static float f32_chain(const struct trial *t, int i, int j, float acc)
{
    for (int l = 0; l < t->p.k; l++)
        acc = fmaf(factor_a(t, i, l), factor_b(t, l, j), acc);
    return acc;
}

/* alpha is a power of two, so that nothing hangs on when it is multiplied. */
static void open_trial(struct trial *t, bool transpose_a, bool transpose_b, bool add, int m, int n,
                       int k, bool bf16)
{
    const int rows_a = transpose_a ? k : m, rows_b = transpose_b ? n : k;
    *t = (struct trial){.p = {.transpose_a = transpose_a,
                              .transpose_b = transpose_b,
                              .add = add,
                              .m = m,
                              .n = n,
                              .k = k,
                              .alpha = add ? 0.5f : 1,
                              .lda = (transpose_a ? m : k) + GAP,
                              .ldb = (transpose_b ? k : n) + GAP,
                              .ldc = n + GAP,
                              .finish = count_finished},
                        .bf16 = bf16};
    t->size_c = (size_t)m * (size_t)t->p.ldc;
    t->p.a = t->a = normals((size_t)rows_a * (size_t)t->p.lda, 1);
    t->p.b = t->b = normals((size_t)rows_b * (size_t)t->p.ldb, 2);
    t->from = normals(t->size_c, 3);
    t->p.c = t->c = normals(t->size_c, 3);
    t->want = normals(t->size_c, 3);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float *acc = &t->want[i * t->p.ldc + j];
            const float from = add ? *acc : 0;
            *acc = bf16 ? bf16_chain(t, i, j, from) : f32_chain(t, i, j, from);
        }
    t->finished = mem_array((size_t)(m * n), sizeof *t->finished);
    for (int i = 0; i < MAX_THREADS; i++)
        t->scratch[i] = mem_alloc(product_scratch_bytes());
}

static void close_trial(struct trial *t)
{
    for (int i = 0; i < MAX_THREADS; i++)
        mem_free(t->scratch[i]);
    mem_free(t->finished);
    mem_free(t->want);
    mem_free(t->from);
    mem_free(t->c);
    mem_free(t->b);
    mem_free(t->a);
}

static void run_share(void *arg, int thread, int n_threads)
{
    const struct trial *t = arg;
    product_share(&t->p, thread, n_threads, t->scratch[thread]);
}

/* C anew, by the team there is. */
static void run_trial(struct trial *t)
{
    memcpy(t->c, t->from, t->size_c * sizeof *t->c);
    memset(t->finished, 0, (size_t)(t->p.m * t->p.n) * sizeof *t->finished);
    t->p.user = t;
    par_run(run_share, t);
    for (int i = 0; i < t->p.m * t->p.n; i++)
        assert_int_equal(t->finished[i], 1);
}

static const struct {
    int m, n, k;
} shapes[] = {{1, 1, 1},      {3, 7, 2},     {14, 32, 16},  {15, 33, 17},   {5, 100, 385},
              {40, 48, 800},  {97, 8, 61},   {8, 130, 400}, {1030, 17, 20}, {29, 64, 1},
              {2, 257, 90},   {100, 16, 3},  {6, 15, 770},  {61, 61, 61},   {30, 300, 390},
              {1030, 270, 3}, {520, 3, 770}, {8, 130, 770}};

static void multiply_in_all_ways(bool bf16)
{
    int n_cases = 0;
    product_select(PRODUCT_OWN, bf16 ? FACTORS_BFLOAT16 : FACTORS_FLOAT32);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes * 8; i++) {
        struct trial t;
        const size_t shape = i / 8;
        if (!thin_runs((int)i, 3))
            continue;
        open_trial(&t, i & 1, i & 2, i & 4, shapes[shape].m, shapes[shape].n, shapes[shape].k,
                   bf16);
        for (int threads = 1; threads <= MAX_THREADS; threads++) {
            assert_ok(par_open(threads, false));
            for (int set = 0; kernels_nth_name(set) != NULL; set++) {
                if (!thin_runs(n_cases++, 5))
                    continue;
                assert_ok(kernels_select(kernels_nth_name(set)));
                run_trial(&t);
                assert_memory_equal(t.c, t.want, t.size_c * sizeof *t.c);
            }
        }
        close_trial(&t);
    }
    assert_ok(kernels_select("auto"));
    par_close();
}

static void every_element_is_one_chain(void **state)
{
    (void)state;
    multiply_in_all_ways(false);
}

static void factors_in_bfloat16_have_the_order_of_amx(void **state)
{
    (void)state;
    multiply_in_all_ways(true);
}

/* What hangs on subnormals, rounding, overflow and NaN: at random from a few numbers, or around one
 * exponent, where products of two are subnormal at 63 and infinite at 191. */
static float awkward_number(uint64_t stream, uint64_t i, int exponent)
{
    static const uint32_t few[] = {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000,
                                   0x00ffffff, 0x3f807fff, 0x3f808000, 0xbf818000, 0x7f7f7fff,
                                   0xff7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0xffc00000};
    uint32_t bits[4];
    rng_words(bits, 7, stream, i);
    if (exponent < 0)
        return float_of_bits(few[bits[0] % (sizeof few / sizeof *few)]);
    return float_of_bits((bits[0] & 0x807fffff) | ((uint32_t)exponent + bits[1] % 4) << 23);
}

/* Of sums that products of two such numbers change. */
static int sum_exponent(int exponent)
{
    const int e = 2 * exponent - 127;
    return exponent < 0 ? exponent : e < 0 ? 0 : e > 251 ? 251 : e;
}

/* C as `want`, NaN being NaN whatever its payload. */
static void expect_same_bits(const struct trial *t, const char *set)
{
    for (size_t i = 0; i < t->size_c; i++)
        if (float_bits(t->c[i]) != float_bits(t->want[i]) && !(isnan(t->c[i]) && isnan(t->want[i])))
            fail_msg("%s, element %zu of %d x %d x %d: %08x, expected %08x", set, i, t->p.m, t->p.n,
                     t->p.k, float_bits(t->c[i]), float_bits(t->want[i]));
}

/* With portable C, whose order factors_in_bfloat16_have_the_order_of_amx knows. */
static void sets_agree_on_awkward_factors(void **state)
{
    (void)state;
    static const int exponents[] = {-1, 0, 1, 62, 63, 126, 190, 251};
    static const float alphas[] = {1, 0.3f, 1e30f, 1e-30f, 1e-39f};
    enum { M = 37, N = 50, K = 75, WAYS = 8, N_EXPONENTS = sizeof exponents / sizeof *exponents };
    assert_ok(product_select(PRODUCT_OWN, FACTORS_BFLOAT16));
    assert_ok(par_open(2, false));
    for (int way = 0; way < WAYS * N_EXPONENTS; way++) {
        const int exponent = exponents[way / WAYS];
        struct trial t;
        open_trial(&t, way & 1, way & 2, way & 4, M, N, K, true);
        t.p.alpha = alphas[way % 5];
        t.p.finish = NULL;
        for (size_t i = 0; i < (size_t)(t.p.transpose_a ? K : M) * (size_t)t.p.lda; i++)
            t.a[i] = awkward_number(1, i, exponent);
        for (size_t i = 0; i < (size_t)(t.p.transpose_b ? N : K) * (size_t)t.p.ldb; i++)
            t.b[i] = awkward_number(2, i, exponent);
        for (int set = 0; kernels_nth_name(set) != NULL; set++) {
            assert_ok(kernels_select(kernels_nth_name(set)));
            for (size_t i = 0; i < t.size_c; i++)
                t.c[i] = awkward_number(3, i, sum_exponent(exponent));
            par_run(run_share, &t);
            if (set == 0)
                memcpy(t.want, t.c, t.size_c * sizeof *t.c);
            expect_same_bits(&t, kernels_nth_name(set));
        }
        close_trial(&t);
    }
    assert_ok(kernels_select("auto"));
    assert_ok(product_select(PRODUCT_AUTO, FACTORS_FLOAT32));
    par_close();
}

/* An adapter's products. */
static void a_product_may_stay_in_float32(void **state)
{
    (void)state;
    struct trial t;
    open_trial(&t, false, true, true, 40, 48, 70, false);
    t.p.float32 = true;
    assert_ok(product_select(PRODUCT_OWN, FACTORS_BFLOAT16));
    assert_ok(par_open(2, false));
    for (int set = 0; kernels_nth_name(set) != NULL; set++) {
        assert_ok(kernels_select(kernels_nth_name(set)));
        run_trial(&t);
        assert_memory_equal(t.c, t.want, t.size_c * sizeof *t.c);
    }
    assert_ok(kernels_select("auto"));
    assert_ok(product_select(PRODUCT_AUTO, FACTORS_FLOAT32));
    par_close();
    close_trial(&t);
}

static void openblas_has_no_bfloat16(void **state)
{
    (void)state;
    assert_ok(product_select(PRODUCT_OWN, FACTORS_FLOAT32));
    assert_int_equal(product_select(PRODUCT_OPENBLAS, FACTORS_BFLOAT16), ERR_RANGE);
    assert_string_equal(err_text(), "products in bfloat16 are our own: matrices=own");
    assert_int_equal(product_engine(), PRODUCT_OWN);
    assert_int_equal(product_factors(), FACTORS_FLOAT32);
    assert_ok(product_select(PRODUCT_AUTO, FACTORS_FLOAT32));
}

/* Not those of 2004, which it has for processors that are newer than it. */
static void openblas_has_kernels_of_this_processor(void **state)
{
    (void)state;
    assert_ok(product_select(PRODUCT_OPENBLAS, FACTORS_FLOAT32));
    assert_ok(product_select(PRODUCT_AUTO, FACTORS_FLOAT32));
#if defined(__x86_64__)
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    void *symbol = dlsym(library, "openblas_get_corename");
    char *(*corename)(void);
    memcpy(&corename, &symbol, sizeof symbol);
    if (symbol != NULL && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        assert_string_not_equal(corename(), "Prescott");
    dlclose(library);
#endif
}

/* In its own order, and within what rounding allows. */
static void openblas_multiplies_the_same(void **state)
{
    (void)state;
    product_select(PRODUCT_OPENBLAS, FACTORS_FLOAT32);
    for (int i = 0; i < 8; i++) {
        struct trial t;
        open_trial(&t, i & 1, i & 2, i & 4, 70, 90, 300, false);
        for (int threads = 1; threads <= MAX_THREADS; threads++) {
            assert_ok(par_open(threads, false));
            run_trial(&t);
            for (size_t k = 0; k < t.size_c; k++)
                assert_true(fabsf(t.c[k] - t.want[k]) < 1e-3f);
        }
        close_trial(&t);
    }
    product_select(PRODUCT_AUTO, FACTORS_FLOAT32);
    par_close();
}

static void automatic_is_own_where_kernels_are_fast(void **state)
{
    (void)state;
    product_select(PRODUCT_AUTO, FACTORS_FLOAT32);
    for (int set = 0; kernels_nth_name(set) != NULL; set++) {
        assert_ok(kernels_select(kernels_nth_name(set)));
        assert_int_equal(product_engine(), set == 0 ? PRODUCT_OPENBLAS : PRODUCT_OWN);
    }
    assert_ok(kernels_select("auto"));
    product_select(PRODUCT_OWN, FACTORS_FLOAT32);
    assert_int_equal(product_engine(), PRODUCT_OWN);
    product_select(PRODUCT_AUTO, FACTORS_FLOAT32);
}

int main(void)
{
    unsetenv("OPENBLAS_CORETYPE"); /* where it is set, it is taken at its word */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_is_one_chain),
        cmocka_unit_test(factors_in_bfloat16_have_the_order_of_amx),
        cmocka_unit_test(sets_agree_on_awkward_factors),
        cmocka_unit_test(a_product_may_stay_in_float32),
        cmocka_unit_test(openblas_has_no_bfloat16),
        cmocka_unit_test(openblas_has_kernels_of_this_processor),
        cmocka_unit_test(openblas_multiplies_the_same),
        cmocka_unit_test(automatic_is_own_where_kernels_are_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
