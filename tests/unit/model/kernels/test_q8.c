#include "model/kernels/linear.h"

#include "model/base/half.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/rng.h"
#include "model/kernels/kernels.h"
#include "model/kernels/kernels_tables.h"
#include "model/kernels/q8.h"
#include "tests/lib/normal.h"
#include "tests/lib/test.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Q8_0: quantization by the reference formulas, and products that have the bits of fp32 ones. */

static void *bytes(size_t n)
{
    void *p = mem_alloc(n > 0 ? n : 1);
    assert_non_null(p);
    return p;
}

static float *normals(size_t n, uint64_t stream)
{
    float *x = bytes(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = normal_number(5, stream, i);
    return x;
}

/* quantize_row_q8_0_ref of ggml-quants.c, word for word but for the names. */
static void reference(struct q8_block *y, const float *x)
{
    float amax = 0.0f;
    for (int j = 0; j < 32; j++) {
        const float v = x[j];
        amax = amax > fabsf(v) ? amax : fabsf(v);
    }
    const float d = amax / ((1 << 7) - 1);
    const float id = d != 0 ? 1.0f / d : 0.0f;
    y->d = half_from_f32(d);
    for (int j = 0; j < 32; ++j) {
        const float x0 = x[j] * id;
        y->q[j] = (int8_t)roundf(x0);
    }
}

static void expect_reference(const float x[32])
{
    struct q8_block got, want;
    q8_quantize(&got, x);
    reference(&want, x);
    assert_memory_equal(&got, &want, sizeof got);
}

static void a_block_is_the_references(void)
{
    float x[32];
    for (uint64_t n = 0; n < 20000; n++) {
        const int power = (int)(n % 140) - 119; /* from where 1 / d is finite up to overflow */
        for (uint64_t i = 0; i < 32; i++)
            x[i] = ldexpf(normal_number(9, n, i), power);
        expect_reference(x);
    }
    for (int at = 0; at < 32; at++) /* halves between two integers, of both signs */
        for (int scale = -20; scale <= 10; scale++) {
            for (int i = 0; i < 32; i++)
                x[i] = ldexpf((float)((at * 32 + i) % 254) - 126.5f, scale);
            x[at] = ldexpf(at % 2 ? -127 : 127, scale);
            expect_reference(x);
        }
    memset(x, 0, sizeof x);
    expect_reference(x);
    x[7] = -0.0f;
    expect_reference(x);
}

/* What the reference leaves open: blocks that no scale can hold. */
static void what_cannot_be_held_is_defined(void)
{
    struct q8_block b;
    float x[32] = {1, 2, 3}, back[32];
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        x[5] = bad[i];
        q8_quantize(&b, x);
        q8_dequantize(back, &b);
        assert_true(isnan(back[0]) && isnan(back[5]) && isnan(back[31]));
    }
    x[5] = Q8_LIMIT;
    q8_quantize(&b, x);
    assert_int_equal(b.d, 0x7c00);
    x[5] = nextafterf(Q8_LIMIT, 0);
    q8_quantize(&b, x);
    assert_int_equal(b.d, 0x7bff);
    for (int i = 0; i < 32; i++)
        x[i] = 0x1p-140f;
    q8_quantize(&b, x);
    for (int i = 0; i < 32; i++)
        assert_true(b.d == 0 && b.q[i] == 0);
}

/* Numbers that meet every rule: any sizes, halves between two integers, zeros of both signs, and
 * what no scale can hold. */
static void fill_hard_block(float x[32], uint64_t n)
{
    static const float odd[] = {0.0f,      -0.0f,      NAN,       -NAN,     INFINITY, -INFINITY,
                                0x1p-149f, -0x1p-130f, 0x1p-126f, Q8_LIMIT, FLT_MAX,  -FLT_MAX};
    const int kind = (int)(n % 4), power = (int)(n / 4 % 270) - 149;
    for (uint64_t i = 0; i < 32; i++) {
        const float draw = (float)rng_uniform(11, n, i) * 254 - 127;
        x[i] = kind == 1   ? ldexpf(floorf(draw) + 0.5f, power)
               : kind == 2 ? ldexpf(nextafterf(floorf(draw) + 0.5f, i % 2 ? 0 : 1000), power)
                           : ldexpf(draw, power);
    }
    if (kind == 1 || kind == 2)
        x[n / 4 % 32] = ldexpf(n / 128 % 2 ? -127 : 127, power);
    if (kind == 3)
        for (int i = 0; i < 1 + (int)(n / 4 % 3); i++)
            x[(n / 4 + 7 * (uint64_t)i) % 32] = odd[(n / 12 + (uint64_t)i) % 12];
}

static void every_table_has_the_bits_of_portable(void **state)
{
    (void)state;
    float x[33];
    for (uint64_t n = 0; n < 40000; n++) {
        float *at = x + n % 2; /* of any alignment */
        struct q8_block want, got;
        fill_hard_block(at, n);
        kernels_nth(0)->row.quantize_q8(&want, at);
        for (int table = 1; kernels_nth(table) != NULL; table++) {
            memset(&got, 0xaa, sizeof got);
            kernels_nth(table)->row.quantize_q8(&got, at);
            assert_memory_equal(&got, &want, sizeof got);
        }
    }
}

static void every_table_is_the_references(void **state)
{
    (void)state;
    for (int table = 0; kernels_nth(table) != NULL; table++) {
        assert_ok(kernels_select(kernels_nth_name(table)));
        a_block_is_the_references();
        what_cannot_be_held_is_defined();
    }
    assert_ok(kernels_select("auto"));
}

/* ---- panels ---- */

static struct linear panels_of(enum dtype kind, int K, int N)
{
    struct linear w = {.dtype = kind, .K = K, .N = N};
    const size_t n = linear_bytes(kind, K, N);
    w.data = memset(bytes(n), 0, n);
    return w;
}

/* in [K,N] and its transpose, in fp32 or binary16; blocks [N][K / 32] of the transpose. */
struct matrix {
    int K, N;
    float *in, *out;
    uint16_t *in16, *out16;
    struct q8_block *blocks;
};

static struct matrix matrix_of(int K, int N, bool half)
{
    const size_t n = (size_t)K * (size_t)N;
    struct matrix m = {K, N, normals(n, 1), bytes(4 * n), bytes(2 * n), bytes(2 * n), bytes(n * 2)};
    for (size_t k = 0; k < (size_t)K; k++)
        for (size_t c = 0; c < (size_t)N; c++) {
            const size_t i = k * (size_t)N + c, o = c * (size_t)K + k;
            m.in16[i] = m.out16[o] = half_from_f32(m.in[i]);
            if (half)
                m.in[i] = half_to_f32(m.in16[i]);
            m.out[o] = m.in[i];
        }
    for (size_t b = 0; b < n / 32; b++)
        q8_quantize(&m.blocks[b], m.out + 32 * b);
    return m;
}

static void release_matrix(struct matrix *m)
{
    mem_free(m->in);
    mem_free(m->out);
    mem_free(m->in16);
    mem_free(m->out16);
    mem_free(m->blocks);
}

/* The same panels, column by column, whichever way they are filled, in pieces too. */
static void every_filling_is_the_same(void **state)
{
    (void)state;
    enum { K = 160, N = 130 };
    const size_t n = linear_bytes(DTYPE_Q8, K, N);
    assert_int_equal(n, 3 * 5 * 2176);
    for (int half = 0; half < 2; half++) {
        struct matrix m = matrix_of(K, N, half != 0);
        const enum dtype from = half ? DTYPE_F16 : DTYPE_F32;
        const char *in = half ? (void *)m.in16 : (void *)m.in;
        const char *out = half ? (void *)m.out16 : (void *)m.out;
        struct linear w[4];
        for (int i = 0; i < 4; i++)
            w[i] = panels_of(DTYPE_Q8, K, N);
        linear_fill_q8(&w[0], m.blocks, 0, 67);
        linear_fill_q8(&w[0], m.blocks + 67 * 5, 67, N - 67);
        linear_fill_in_major(&w[1], in, from, 0, 64);
        linear_fill_in_major(&w[1], in + (size_t)64 * N * dtype_bytes(from), from, 64, K - 64);
        linear_fill_out_major(&w[2], out, from, 0, 67);
        linear_fill_out_major(&w[2], out + (size_t)67 * K * dtype_bytes(from), from, 67, N - 67);
        for (int col = 0; col < N; col += PANEL)
            for (int k = 0; k < K; k += 32) {
                float part[32][PANEL];
                const int cols = N - col < PANEL ? N - col : PANEL;
                for (int i = 0; i < 32; i++)
                    memcpy(part[i], m.in + (k + i) * N + col, (size_t)cols * sizeof **part);
                linear_fill_part(&w[3], (const float(*)[PANEL])part, k, 32, col, cols);
            }
        for (int i = 1; i < 4; i++)
            assert_memory_equal(w[i].data, w[0].data, n);
        float column[K], want[32];
        struct q8_block back[K / 32];
        for (int c = 0; c < N; c++) {
            linear_read_q8(&w[0], c, 0, 2, back);
            linear_read_q8(&w[0], c, 2, 3, back + 2);
            assert_memory_equal(back, m.blocks + c * 5, sizeof back);
            linear_column(&w[0], c, column);
            for (int k = 0; k < K; k++) {
                q8_dequantize(want, &back[k / 32]);
                assert_true(column[k] == want[k % 32] && linear_element(&w[0], k, c) == column[k]);
            }
        }
        for (int i = 0; i < 4; i++)
            mem_free(w[i].data);
        release_matrix(&m);
    }
    assert_int_equal(linear_dtype(DTYPE_Q8, 96), DTYPE_Q8);
    assert_int_equal(linear_dtype(DTYPE_Q8, 97), DTYPE_F16);
    assert_int_equal(linear_dtype(DTYPE_F32, 97), DTYPE_F32);
}

/* ---- kernels ---- */

/* One block after another of any scales, some of them subnormal, and any q. */
static void fill_blocks(struct q8_panel *w, size_t n)
{
    for (size_t b = 0; b < n; b++)
        for (int c = 0; c < 64; c++) {
            w[b].d[c] = (uint16_t)(rng_uniform(1, b, (uint64_t)c) * 0x7000);
            for (int k = 0; k < 32; k++)
                w[b].q[k][c] =
                    (int8_t)((int)(rng_uniform(2, b, (uint64_t)(32 * c + k)) * 256) - 128);
        }
}

static void expect_tile(const struct matrix_kernels *k, const struct q8_panel *w, const float *x,
                        int R, int K, int col, int cols)
{
    enum { LD = 80 };
    const struct matrix_kernels *portable = &kernels_nth(0)->matrix;
    float want[16 * LD], got[16 * LD];
    float *wide = bytes(sizeof(float) * 96 * 64);
    const bool widens = cols <= k->tile_cols;
    for (int fresh = 0; fresh < 2; fresh++) {
        const struct prefetch ahead = {w, fresh ? 128 : 0};
        for (int i = 0; i < 16 * LD; i++)
            want[i] = got[i] = (float)i;
        portable->tile_q8(want, LD, fresh, x, (size_t)R, R, w, col, K, cols, NULL, ahead);
        k->tile_q8(got, LD, fresh, x, (size_t)R, R, w, col, K, cols, widens ? wide : NULL, ahead);
        assert_memory_equal(got, want, sizeof got);
        for (int i = 0; widens && i < K * cols; i++) {
            const struct q8_panel *b = &w[i / cols / 32];
            const int c = col + i % cols;
            assert_true(wide[i] == half_to_f32(b->d[c]) * (float)b->q[i / cols % 32][c]);
        }
    }
    mem_free(wide);
}

static void tiles_have_the_bits_of_portable(void **state)
{
    (void)state;
    struct q8_panel *w = bytes(21 * sizeof *w);
    fill_blocks(w, 21);
    float *x = normals(16 * 96, 3), want[7 * 64], got[7 * 64];
    for (int table = 1; kernels_nth(table) != NULL; table++) {
        const struct matrix_kernels *k = &kernels_nth(table)->matrix;
        for (int R = 1; R <= k->tile_rows; R++)
            for (int K = 32; K <= 96; K += 32)
                for (int cols = 16; cols <= 64; cols += 16)
                    for (int col = 0; col + cols <= 64; col += 16)
                        expect_tile(k, w, x, R, K, col, cols);
        for (int panels = 1; panels <= 7; panels++)
            for (int K = 32; K <= 96; K += 32) {
                kernels_nth(0)->matrix.row_q8(want, x, w, K, panels);
                k->row_q8(got, x, w, K, panels);
                assert_memory_equal(got, want, (size_t)panels * 64 * sizeof *got);
            }
    }
    mem_free(w);
    mem_free(x);
}

struct product {
    const struct linear *w;
    float *y;
    const float *x;
    int T;
    char *scratch;
};

static void product_share_of(void *arg, int thread, int n_threads)
{
    struct product *p = arg;
    const size_t K = (size_t)p->w->K, N = (size_t)p->w->N;
    linear_rows(p->w, p->y, N, p->x, K, p->T, EPILOGUE_STORE, thread, n_threads,
                p->scratch + (size_t)thread * linear_scratch_bytes(p->w->K));
}

/* Rows of x times Q8_0, all at once, and one row of them alone, have the bits of the product with
 * the same numbers in fp32. */
static void check_product(const struct linear *w, const struct linear *wide, const float *x, int T,
                          int threads)
{
    const size_t K = (size_t)w->K, N = (size_t)w->N, n = (size_t)T * N * sizeof(float);
    float *want = bytes(n), *got = bytes(n);
    char *scratch = bytes((size_t)threads * linear_scratch_bytes(w->K));
    assert_ok(kernels_select("auto"));
    par_run(product_share_of, &(struct product){wide, want, x, T, scratch});
    for (int table = threads == 1 ? 0 : 1; kernels_nth(table) != NULL; table++) {
        assert_ok(kernels_select(kernels_nth_name(table)));
        memset(got, 0, n);
        par_run(product_share_of, &(struct product){w, got, x, T, scratch});
        assert_memory_equal(got, want, n);
        memset(got, 0, n);
        par_run(product_share_of, &(struct product){w, got, x + (size_t)(T / 2) * K, 1, scratch});
        assert_memory_equal(got, want + (size_t)(T / 2) * N, N * sizeof *got);
    }
    assert_ok(kernels_select("auto"));
    mem_free(want);
    mem_free(got);
    mem_free(scratch);
}

static void products_have_the_bits_of_fp32(void **state)
{
    (void)state;
    static const struct {
        int K, N;
    } shapes[] = {{32, 1}, {64, 96}, {96, 63}, {416, 200}, {800, 70}, {1184, 130}};
    static const int rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 13, 14, 15, 16, 17, 29, 40, 257};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct matrix m = matrix_of(shapes[i].K, shapes[i].N, false);
        struct linear w = panels_of(DTYPE_Q8, m.K, m.N), wide = panels_of(DTYPE_F32, m.K, m.N);
        linear_fill_q8(&w, m.blocks, 0, m.N);
        for (int n = 0; n < m.N; n++)
            linear_column(&w, n, m.out + (size_t)n * (size_t)m.K);
        linear_fill_out_major(&wide, m.out, DTYPE_F32, 0, m.N);
        float *x = normals((size_t)m.K * 257, 4);
        for (int threads = 1; threads <= 3; threads++) {
            assert_ok(par_open(threads, false));
            for (size_t t = 0; t < sizeof rows / sizeof *rows; t++)
                if (rows[t] < 40 || i % 2 == 0)
                    check_product(&w, &wide, x, rows[t], threads);
        }
        par_close();
        mem_free(x);
        mem_free(w.data);
        mem_free(wide.data);
        release_matrix(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_table_is_the_references),
        cmocka_unit_test(every_table_has_the_bits_of_portable),
        cmocka_unit_test(every_filling_is_the_same),
        cmocka_unit_test(tiles_have_the_bits_of_portable),
        cmocka_unit_test(products_have_the_bits_of_fp32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
