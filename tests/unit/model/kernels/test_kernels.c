#include "tests/lib/activations.h"
#include "tests/lib/test.h"

#include "model/base/half.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/kernels/attention.h"
#include "model/kernels/blas.h"
#include "model/kernels/kernels.h"
#include "model/kernels/kernels_tables.h"
#include "model/kernels/peak.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Every table against the portable one, bit for bit (any NaN equals any NaN). */

enum { MAX = 4096, MARGIN = 16 };

static uint64_t draws;

static uint32_t random_bits(void)
{
    uint64_t z = (draws += 0x9e3779b97f4a7c15u); /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

static float uniform(float low, float high)
{
    return low + (high - low) * ((float)(random_bits() >> 8) * 0x1p-24f);
}

enum fill { PLAIN, HUGE_AND_TINY, SUBNORMAL, SPECIAL, ZEROS, N_FILLS };
static float value(enum fill fill)
{
    switch (fill) {
    case PLAIN:
        return uniform(-3, 3);
    case HUGE_AND_TINY:
        return ldexpf(uniform(-1, 1), (int)(random_bits() % 250) - 125);
    case SUBNORMAL:
        return float_of_bits((random_bits() & 0x80000000u) | random_bits() % 0x800000u);
    case SPECIAL:
        switch (random_bits() % 8) {
        case 0:
            return INFINITY;
        case 1:
            return -INFINITY;
        case 2:
            return NAN;
        default:
            return uniform(-100, 100);
        }
    default:
        return random_bits() & 1 ? 0.0f : -0.0f;
    }
}

static void fill_floats(float *x, size_t n, enum fill fill)
{
    for (size_t i = 0; i < n; i++)
        x[i] = value(fill);
}

static void fill_halves(uint16_t *x, size_t n, enum fill fill)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fill == PLAIN || fill == ZEROS ? half_from_f32(value(fill))
               : fill == SUBNORMAL            ? (uint16_t)(random_bits() & 0x83ffu)
               : fill == SPECIAL              ? half_from_f32(value(fill))
                                              : (uint16_t)(random_bits() & 0xfbffu);
}

static bool same_float(float a, float b)
{
    return float_bits(a) == float_bits(b) || (isnan(a) && isnan(b));
}

static void expect_floats(const char *what, const struct kernels *k, const float *got,
                          const float *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!same_float(got[i], want[i]))
            fail_msg("%s of %s: element %zu of %zu is %a, portable has %a", what, k->name, i, n,
                     (double)got[i], (double)want[i]);
}

/* For each other table of this machine. */
#define EACH_TABLE(k)                                                                              \
    for (int table_ = 1; kernels_nth(table_) != NULL; table_++)                                    \
        for (const struct kernels *k = kernels_nth(table_); k != NULL; k = NULL)

static float *floats(size_t n)
{
    float *p = mem_array(n + 2 * MARGIN, sizeof *p);
    assert_non_null(p);
    return p;
}

/* What "auto" is to be here: what the environment names, else the last, which is the best. */
static const char *as_wished(void)
{
    const char *wish = getenv("PRATTLE_KERNELS"), *best = "none";
    EACH_TABLE(k) best = k->name;
    return wish != NULL && *wish != '\0' ? wish : best;
}

static void test_tables(void **state)
{
    (void)state;
    static const char *const all[] = {"portable", "avx2", "avx512", "amx"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strstr(kernels_names(), all[i]) == NULL)
            printf("# left out: table %s, which this machine does not have\n", all[i]);
    assert_ok(kernels_select("portable"));
    assert_string_equal(kernels_active()->name, "portable");
    assert_int_equal(kernels_select("mmx"), ERR_RANGE);
    assert_non_null(strstr(err_text(), "kernels is mmx, this machine has: auto, portable"));
    assert_string_equal(kernels_active()->name, "portable");
    assert_ok(kernels_select(NULL));
    EACH_TABLE(k)
    {
        assert_ok(kernels_select(k->name));
        assert_ptr_equal(kernels_active(), k);
        /* An entry forgotten in one table would be NULL. */
        assert_true(
            k->matrix.tile_f16 && k->matrix.tile_f32 && k->matrix.tile_q8 && k->matrix.pack_rows &&
            k->matrix.row_f16 && k->matrix.row_f32 && k->matrix.row_q8 && k->matrix.epilogue &&
            k->row.layernorm && k->attention.softmax_block && k->row.add && k->row.scale &&
            k->row.divide && k->row.half_to_f32 && k->row.half_from_f32 && k->sampling.max &&
            k->sampling.sanitize && k->sampling.gather && k->sampling.keep && k->sampling.argmax &&
            k->sampling.exp_sum && k->sampling.select && k->sampling.sum_least &&
            k->peak.fma_loop && k->peak.sum_lines && k->optimizer.sum_squares &&
            k->optimizer.adam && k->optimizer.lamb_moments && k->optimizer.lamb_update &&
            k->optimizer.muon_direction && k->optimizer.muon_update && k->training.layernorm_grad &&
            k->training.activation_grad && k->attention.softmax_grad && k->training.dropout &&
            k->training.dot);
        assert_in_range(k->matrix.tile_rows, 1, TILE_MAX_ROWS);
        assert_true(k->matrix.tile_cols == 16 || k->matrix.tile_cols == 32);
        assert_in_range(k->matrix.part, 32, STRIP_FLOATS / k->matrix.tile_cols);
        assert_in_range(k->matrix.block_cols, 1, BLOCK_FLOATS / k->matrix.part);
        assert_int_equal(k->matrix.part % 32, 0);
        assert_int_equal(k->matrix.block_cols % k->matrix.tile_cols, 0);
    }
    assert_ok(kernels_select("auto"));
    assert_string_equal(kernels_name(), as_wished());
}

/* The optimizers' steps, weights w, gradients g and moments out of the fill. */
static void descent_against_portable(const struct kernels *k, const struct kernels *p,
                                     enum fill fill, size_t n, size_t shift)
{
    const struct adam_constants d = {.scale = 0.75f,
                                     .l2 = n % 2 ? 0.25f : 0,
                                     .beta1 = 0.9f,
                                     .rest1 = 0.1f,
                                     .beta2 = 0.99f,
                                     .rest2 = 0.01f,
                                     .correct_m = 1.25f,
                                     .correct_v = 1.5f,
                                     .eps = n % 3 ? 1e-8f : 0,
                                     .keep = 0.875f,
                                     .rate = 0.5f,
                                     .decay = 0.125f};
    const size_t all = n + MARGIN;
    float *start[4], *state[2][3]; /* w, m, v, and g */
    double sums[2][7];
    for (int i = 0; i < 4; i++) {
        start[i] = floats(n + shift) + shift;
        fill_floats(start[i], all, fill);
    }
    for (int t = 0; t < 2; t++) {
        const struct kernels *table = t == 0 ? p : k;
        float **s = state[t], *g = start[3];
        for (int i = 0; i < 3; i++) {
            s[i] = floats(n + shift) + shift;
            memcpy(s[i], start[i], all * sizeof **s);
        }
        table->optimizer.adam(NULL, s[0], s[1], s[2], g, n, &d);
        table->optimizer.adam(sums[t], s[0], s[1], s[2], g, n, &d);
        table->optimizer.lamb_moments(sums[t] + 2, s[1], s[2], s[0], g, n, &d);
        table->optimizer.lamb_update(s[0], s[1], s[2], n, &d, 0.25f);
        sums[t][4] = table->optimizer.sum_squares(g, n);
        table->optimizer.muon_direction(s[2], s[1], g, n, &d);
        table->optimizer.muon_update(sums[t] + 5, s[0], s[2], n, &d);
    }
    expect_floats("descent, weights", k, state[1][0], state[0][0], all);
    expect_floats("descent, m", k, state[1][1], state[0][1], all);
    expect_floats("descent, v", k, state[1][2], state[0][2], all);
    for (int i = 0; i < 7; i++)
        if (!(sums[1][i] == sums[0][i] || (isnan(sums[1][i]) && isnan(sums[0][i]))))
            fail_msg("descent of %s: sum %d of %zu is %a, portable has %a", k->name, i, n,
                     sums[1][i], sums[0][i]);
    for (int i = 0; i < 4; i++)
        mem_free(start[i] - shift);
    for (int i = 0; i < 6; i++)
        mem_free(state[i / 3][i % 3] - shift);
}

/* Inputs of n elements each, and what two tables make of them: n and MARGIN elements. */
struct row_case {
    const struct kernels *k, *portable;
    enum fill fill;
    size_t n;
    const float *x, *b;
    float *w, *got, *want;
};

/* The statement, in which t is a table, y its output and n the length, by both tables. */
#define BOTH(c, what, ...)                                                                         \
    do {                                                                                           \
        for (size_t i_ = 0; i_ < (c)->n + MARGIN; i_++)                                            \
            (c)->got[i_] = (c)->want[i_] = (float)(i_ % 7) - 3;                                    \
        {                                                                                          \
            const struct kernels *t = (c)->portable;                                               \
            float *y = (c)->want;                                                                  \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        {                                                                                          \
            const struct kernels *t = (c)->k;                                                      \
            float *y = (c)->got;                                                                   \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        expect_floats(what, (c)->k, (c)->got, (c)->want, (c)->n + MARGIN);                         \
    } while (0)

/* What lies behind n places is nobody's. */
static void guard_places(int32_t *index, size_t n)
{
    for (size_t i = 0; i < MARGIN; i++)
        index[n + i] = -7;
}

static void expect_guarded(const int32_t *index, size_t n)
{
    for (size_t i = 0; i < MARGIN; i++)
        assert_int_equal(index[n + i], -7);
}

static void rows_and_epilogues_against_portable(const struct row_case *c)
{
    const size_t n = c->n;
    const float *x = c->x, *w = c->w, *b = c->b;
    BOTH(c, "layernorm", t->row.layernorm(y, x, w, b, n, 1e-5f));
    BOTH(c, "add", t->row.add(y, x, n));
    BOTH(c, "scale", t->row.scale(y, n > 0 ? x[0] : 0, n));
    BOTH(c, "divide", t->row.divide(y, x, n > 0 ? w[0] : 1, n));
    BOTH(c, "finish store", t->matrix.epilogue(y, 0, x, 0, b, 1, n, EPILOGUE_STORE));
    BOTH(c, "finish without bias", t->matrix.epilogue(y, 0, x, 0, NULL, 1, n, EPILOGUE_STORE));
    BOTH(c, "finish add", t->matrix.epilogue(y, 0, x, 0, b, 1, n, EPILOGUE_ADD));
    for (int i = 0; i < N_ACTIVATIONS; i++) {
        const enum epilogue then = epilogue_activation((enum activation)i);
        BOTH(c, activation_name((enum activation)i), t->matrix.epilogue(y, 0, x, 0, b, 1, n, then));
    }
    BOTH(c, "narrow and widen", {
        uint16_t half[MAX + 1];
        half[n] = 77;
        t->row.half_from_f32(half, x, n);
        assert_int_equal(half[n], 77);
        t->row.half_to_f32(y, half, n);
    });
}

static void sampling_against_portable(const struct row_case *c)
{
    const size_t n = c->n;
    const struct kernels *k = c->k, *p = c->portable;
    const float *x = c->x;
    BOTH(c, "exp_sum", t->sampling.exp_sum(y, x, n, 0.5f, 1.25f));
    BOTH(c, "max", y[0] = t->sampling.max(x, n));
    BOTH(c, "admit", {
        float top = t->sampling.sanitize(y, x, n);
        assert_true(top == t->sampling.max(y, n));
        for (size_t i = 0; i < n; i++)
            assert_true(y[i] == (isnan(x[i]) ? -INFINITY : x[i] < FLT_MAX ? x[i] : FLT_MAX));
    });
    BOTH(c, "exp_sum's sum",
         y[0] = (float)t->sampling.exp_sum(NULL, x, n, n > 0 ? t->sampling.max(x, n) : 0, 1));
    double se = p->sampling.exp_sum(NULL, x, n, 1, 2), sk = k->sampling.exp_sum(NULL, x, n, 1, 2);
    assert_true(se == sk || (isnan(se) && isnan(sk)));
    assert_int_equal(k->sampling.argmax(x, n), p->sampling.argmax(x, n));
    BOTH(c, "select", {
        int32_t index[MAX + MARGIN];
        guard_places(index, n);
        size_t count = t->sampling.select(index, x, n, 0.25f, 1.5f);
        expect_guarded(index, n);
        y[0] = (float)count;
        for (size_t i = 0; i < count; i++)
            y[i] = (float)index[i];
    });
    BOTH(c, "gather", {
        int32_t index[MAX + 1];
        size_t count = t->sampling.select(index, x, n, -1, 1);
        memcpy(y, x, n * sizeof *y);
        t->sampling.gather(y, y, index, count);
        for (size_t i = 0; i < count; i++)
            assert_true(y[i] == x[index[i]]);
    });
    float keys[MAX];
    for (size_t i = 0; i < n; i++)
        keys[i] = isnan(x[i]) ? -INFINITY : x[i];
    BOTH(c, "keep", {
        int32_t index[MAX + MARGIN], selected[MAX];
        double sum = -1;
        memcpy(y, c->w, n * sizeof *y);
        guard_places(index, n);
        size_t count = t->sampling.keep(index, y, keys, n, 0.25f, &sum);
        expect_guarded(index, n);
        size_t below = t->sampling.select(selected, keys, n, 0.25f, INFINITY), infinite = 0;
        for (size_t i = 0, at = 0; i < count; i++) {
            assert_true(keys[index[i]] >= 0.25f && (i == 0 || index[i] > index[i - 1]));
            assert_memory_equal(&y[i], &c->w[index[i]], sizeof *y);
            infinite += keys[index[i]] == INFINITY;
            if (keys[index[i]] < INFINITY)
                assert_int_equal(index[i], selected[at++]);
        }
        assert_int_equal(count, below + infinite);
        double want = t->sampling.sum_least(c->w, keys, n, 0.25f);
        assert_true(sum == want || (isnan(sum) && isnan(want)));
        memset(y + count, 0, (n - count) * sizeof *y); /* whatever is left there */
    });
    if (c->fill != SPECIAL)
        BOTH(c, "sum_least", y[0] = (float)t->sampling.sum_least(c->w, x, n, 0.25f));
}

static void softmax_against_portable(const struct row_case *c)
{
    const size_t n = c->n;
    if (n >= 64)
        for (int seen = 1; seen <= 64; seen += 7)
            BOTH(c, "softmax_block", {
                float m = seen % 2 ? -INFINITY : 0.75f, sum = 2;
                memcpy(y, c->x, 64 * sizeof *y);
                float ratio = t->attention.softmax_block(y, seen, 0.125f, &m, &sum);
                y[64 % n] = ratio;
                y[(64 + 1) % n] = m;
                y[(64 + 2) % n] = sum;
            });
}

/* Rows of every length 0..70 and some longer, at every misalignment, nothing written past. */
static void rows_against_portable(const struct kernels *k, const struct kernels *p, enum fill fill,
                                  size_t n, size_t shift)
{
    float *block[5]; /* x, w, b, got, want */
    for (int i = 0; i < 5; i++)
        block[i] = floats(n + shift) + shift;
    for (int i = 0; i < 3; i++)
        fill_floats(block[i], n, fill);
    const struct row_case c = {k, p, fill, n, block[0], block[2], block[1], block[3], block[4]};
    rows_and_epilogues_against_portable(&c);
    sampling_against_portable(&c);
    softmax_against_portable(&c);
    for (int i = 0; i < 5; i++)
        mem_free(block[i] - shift);
}

static void test_rows(void **state)
{
    (void)state;
    static const size_t longer[] = {71, 127, 129, 333, 768};
    EACH_TABLE(k)
    for (int fill = 0; fill < N_FILLS; fill++) {
        for (size_t n = 0; n <= 70; n++)
            rows_against_portable(k, kernels_nth(0), (enum fill)fill, n, n % 5);
        for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
            rows_against_portable(k, kernels_nth(0), (enum fill)fill, longer[i], i % 3);
        for (size_t n = 0; n <= 70; n++)
            descent_against_portable(k, kernels_nth(0), (enum fill)fill, n, n % 5);
        descent_against_portable(k, kernels_nth(0), (enum fill)fill, 333, 1);
    }
}

/* All 65536 halves, and floats around every rounding boundary. */
static void test_halves(void **state)
{
    (void)state;
    static uint16_t all[65536], back[65536];
    static float wide[65536];
    for (int i = 0; i < 65536; i++)
        all[i] = (uint16_t)i;
    for (int i = 0; kernels_nth(i) != NULL; i++) {
        const struct kernels *k = kernels_nth(i);
        k->row.half_to_f32(wide, all, 65536);
        for (int j = 0; j < 65536; j++)
            assert_true(same_float(wide[j], half_to_f32((uint16_t)j)));
        for (int step = -1; step <= 1; step++) { /* halfway to the next half, and a bit beside */
            for (int j = 0; j < 65536; j++) {
                float next = half_to_f32((uint16_t)(j + 1)),
                      middle = wide[j] + (next - wide[j]) / 2;
                uint32_t bits = float_bits(isnan(middle) ? wide[j] : middle);
                back[j] = half_from_f32(float_of_bits(bits + (uint32_t)step));
                wide[j] = float_of_bits(bits + (uint32_t)step);
            }
            uint16_t got[65536 / 16];
            for (int j = 0; j < 65536; j += 4096) {
                k->row.half_from_f32(got, wide + j, 4096);
                for (int e = 0; e < 4096; e++)
                    if (got[e] != back[j + e] && !isnan(wide[j + e]))
                        fail_msg("%s narrows %a to %#x, should be %#x", k->name,
                                 (double)wide[j + e], got[e], back[j + e]);
            }
            k->row.half_to_f32(wide, all, 65536);
        }
    }
}

/* Every R of every table, K and columns of many sizes, both kinds, packed by the table itself. */
static void tiles_against_portable(const struct kernels *k, const struct kernels *p, enum fill fill,
                                   int R, int K, int cols, size_t ldp)
{
    const size_t ldw = (size_t)cols + (random_bits() % 2 ? 0 : 16), ldacc = (size_t)cols + 3;
    const size_t ldx = (size_t)K + 1;
    float *x = floats((size_t)R * ldx), *w32 = floats((size_t)K * ldw);
    float *packed = floats((size_t)R * (size_t)K);
    float *want = floats((size_t)R * ldacc), *got = floats((size_t)R * ldacc);
    float *fresh_wide = floats((size_t)K * (size_t)cols);
    uint16_t *w16 = mem_array((size_t)K * ldw, 2);
    assert_non_null(w16);
    fill_floats(x, (size_t)R * ldx, fill);
    fill_floats(w32, (size_t)K * ldw, fill);
    fill_halves(w16, (size_t)K * ldw, fill);
    k->matrix.pack_rows(packed, x, ldx, R, K);
    for (int i = 0; i < K; i++)
        for (int r = 0; r < R; r++)
            assert_true(same_float(packed[i * R + r], x[(size_t)r * ldx + (size_t)i]));
    assert_true(packed[R * K] == 0); /* nothing written past */
    float *apart = floats((size_t)K * ldp);
    for (int i = 0; i < K; i++)
        memcpy(apart + (size_t)i * ldp, packed + i * R, (size_t)R * sizeof *apart);
    for (int kind = 0; kind < 2; kind++)
        for (int fresh = 0; fresh < 2; fresh++) {
            for (size_t i = 0; i < (size_t)R * ldacc; i++)
                want[i] = got[i] = (float)i;
            struct prefetch ahead = {x, !fresh ? 0 : K % 2 != 0 ? 128 : 32};
            float *wide = cols <= k->matrix.tile_cols ? fresh_wide : NULL;
            if (kind == 0) {
                p->matrix.tile_f16(want, ldacc, fresh, apart, ldp, R, w16, ldw, K, cols, NULL,
                                   ahead);
                k->matrix.tile_f16(got, ldacc, fresh, apart, ldp, R, w16, ldw, K, cols, wide,
                                   ahead);
            } else {
                p->matrix.tile_f32(want, ldacc, fresh, apart, ldp, R, w32, ldw, K, cols, NULL,
                                   ahead);
                k->matrix.tile_f32(got, ldacc, fresh, apart, ldp, R, w32, ldw, K, cols, wide,
                                   ahead);
            }
            for (int i = 0; wide != NULL && i < K * cols; i++) {
                size_t at = (size_t)(i / cols) * ldw + (size_t)(i % cols);
                assert_true(same_float(wide[i], kind == 0 ? half_to_f32(w16[at]) : w32[at]));
            }
            expect_floats(kind == 0 ? "tile_f16" : "tile_f32", k, got, want, (size_t)R * ldacc);
        }
    mem_free(x);
    mem_free(w32);
    mem_free(w16);
    mem_free(packed);
    mem_free(apart);
    mem_free(fresh_wide);
    mem_free(want);
    mem_free(got);
}

/* One row against 1 to 7 whole panels. */
static void row_against_portable(const struct kernels *k, enum fill fill, int K, int panels)
{
    const size_t n = (size_t)K * 64 * (size_t)panels;
    float *x = floats((size_t)K), *w32 = floats(n), want[7 * 64], got[7 * 64];
    uint16_t *w16 = mem_array(n, 2);
    assert_non_null(w16);
    fill_floats(x, (size_t)K, fill);
    fill_floats(w32, n, fill);
    fill_halves(w16, n, fill);
    kernels_nth(0)->matrix.row_f16(want, x, w16, K, panels);
    k->matrix.row_f16(got, x, w16, K, panels);
    expect_floats("row_f16", k, got, want, 64 * (size_t)panels);
    kernels_nth(0)->matrix.row_f32(want, x, w32, K, panels);
    k->matrix.row_f32(got, x, w32, K, panels);
    expect_floats("row_f32", k, got, want, 64 * (size_t)panels);
    mem_free(x);
    mem_free(w32);
    mem_free(w16);
}

static void test_tiles(void **state)
{
    (void)state;
    static const int Ks[] = {0, 1, 2, 7, 12, 15, 16, 17, 33};
    EACH_TABLE(k)
    for (int R = 1; R <= k->matrix.tile_rows; R++)
        for (size_t i = 0; i < sizeof Ks / sizeof *Ks; i++)
            for (int cols = 16; cols <= 112; cols += cols == 64 ? 48 : 16) {
                const enum fill fill = (enum fill)((size_t)R + i + (size_t)cols / 16) % N_FILLS;
                tiles_against_portable(k, kernels_nth(0), fill, R, Ks[i], cols,
                                       (size_t)(R + Ks[i] % 3));
                tiles_against_portable(k, kernels_nth(0), fill, R, Ks[i], cols, 64);
            }
}

static void test_panel_rows(void **state)
{
    (void)state;
    EACH_TABLE(k)
    for (int panels = 1; panels <= 7; panels++)
        for (int K = 1; K <= 70; K += 3)
            row_against_portable(k, (enum fill)((panels + K) % N_FILLS), K, panels);
}

/* exp against float64. */
static void test_exp(void **state)
{
    (void)state;
    enum { N = 200000 };
    float *x = floats(N), *y = floats(N);
    const struct kernels *k = kernels_active();
    for (int i = 0; i < N; i++)
        x[i] = -104.0f + 193.0f * (float)i / N;
    k->sampling.exp_sum(y, x, N, 0, 1);
    for (int i = 0; i < N; i++) {
        double want = exp((double)x[i]);
        double ulp = ldexp(1, want < 0x1p-126 ? -149 : ilogb(want) - 23);
        if (want < 0x1.fffffep127 && fabs((double)y[i] - want) > 2 * ulp)
            fail_msg("exp(%a) is %a, should be %a", (double)x[i], (double)y[i], want);
    }
    float special[4] = {INFINITY, -INFINITY, NAN, -200}, out[4];
    k->sampling.exp_sum(out, special, 4, 0, 1);
    assert_true(out[0] == INFINITY && out[1] == 0 && isnan(out[2]) && out[3] == 0);
    mem_free(x);
    mem_free(y);
}

/* Each activation against float64: within 2 units of the last place of x, tanh of its own. */
static void test_activations(void **state)
{
    (void)state;
    enum { N = 200000 };
    float *x = floats(N), *y = floats(N);
    const struct kernels *k = kernels_active();
    for (int i = 0; i < N; i++)
        x[i] = i % 2 ? -12.0f + 24.0f * (float)i / N : ldexpf(1, i / 1000 - 110) * (float)(i % 999);
    for (int a = 0; a < N_ACTIVATIONS; a++) {
        const enum activation which = (enum activation)a;
        const char *name = activation_name(which);
        k->matrix.epilogue(y, 0, x, 0, NULL, 1, N, epilogue_activation(which));
        for (int i = 0; i < N; i++) {
            double want = activation_exact((double)x[i], which), of = (double)x[i];
            if (which == ACTIVATION_TANH)
                of = want;
            double ulp = of == 0 ? 0 : ldexp(1, ilogb(of) < -126 ? -149 : ilogb(of) - 23);
            if (!(fabs((double)y[i] - want) <= 2 * ulp))
                fail_msg("%s of %a is %a, should be %a", name, (double)x[i], (double)y[i], want);
        }
        const float special[] = {INFINITY, NAN, -200, -3e38f, 3e38f};
        const bool tanh_like = which == ACTIVATION_TANH;
        float out[5];
        k->matrix.epilogue(out, 0, special, 0, NULL, 1, 5, epilogue_activation(which));
        assert_true(out[0] == (tanh_like ? 1 : INFINITY) && isnan(out[1]));
        assert_true(out[2] == (tanh_like ? -1 : 0) && out[3] == (tanh_like ? -1 : 0));
        assert_true(out[4] == (tanh_like ? 1 : 3e38f));
    }
    mem_free(x);
    mem_free(y);
}

static void test_extremes(void **state)
{
    (void)state;
    float x[40];
    for (int i = 0; kernels_nth(i) != NULL; i++) {
        const struct kernels *k = kernels_nth(i);
        assert_true(k->sampling.max(x, 0) == -INFINITY);
        assert_int_equal(k->sampling.argmax(x, 0), 0);
        for (int n = 1; n <= 40; n++)
            for (int at = 0; at < n; at++) {
                for (int j = 0; j < n; j++)
                    x[j] = j % 3 == 0 ? NAN : -5;
                x[at] = x[n - 1] = 2;
                assert_true(k->sampling.max(x, (size_t)n) == 2);
                assert_int_equal(k->sampling.argmax(x, (size_t)n), at);
            }
        for (int j = 0; j < 40; j++)
            x[j] = NAN;
        assert_int_equal(k->sampling.argmax(x, 40), 0);
    }
}

/* ---- the multiply-add ---- */

/* Operands whose sum is all but halfway between two floats, so that rounding it to float64 on the
 * way changes it; also among subnormals and where floats end. */
static void near_halfway(float *a, float *b, float *c)
{
    static const int exponents[] = {0, 1, 60, -60, 126, 127, -126, -130, -148};
    const int e = exponents[random_bits() % 9];
    const float odd = 1 + 0x1p-23f * (float)(random_bits() % 4);
    *c = ldexpf(random_bits() & 1 ? odd : -odd, e);
    if (random_bits() % 8 == 0)
        *c = copysignf(FLT_MAX, *c);
    const int half = (fabsf(*c) >= FLT_MIN ? ilogbf(*c) - 23 : -149) - 1;
    const float sign = random_bits() & 1 ? 1 : -1;
    *a = sign * ldexpf(1 + 0x1p-23f * (float)(random_bits() % 3), half / 2);
    *b = ldexpf(1 - 0x1p-23f * (float)(random_bits() % 3), half - half / 2);
}

/* acc + x w in every lane, rounded once, as fmaf does; twice would be seen. */
static void test_multiply_add(void **state)
{
    (void)state;
    int told_apart = 0;
    for (int round = 0; round < 4000; round++) {
        float a, w[16], sum[16], got[16], want[16];
        for (int l = 0; l < 16; l++) {
            float x;
            if (round % 3 > 0) {
                x = l == 0 ? value((enum fill)(round % N_FILLS)) : a;
                w[l] = value((enum fill)((round / 3 + l) % N_FILLS));
                sum[l] = value((enum fill)((round / 5 + l) % N_FILLS));
            } else {
                near_halfway(&x, &w[l], &sum[l]);
                if (l > 0) { /* x is for all lanes: its power of two goes into w */
                    w[l] *= x / a;
                    x = a;
                }
            }
            a = x;
            want[l] = fmaf(a, w[l], sum[l]);
            told_apart +=
                want[l] != (float)((double)a * (double)w[l] + (double)sum[l]) && !isnan(want[l]);
        }
        for (int table = 0; kernels_nth(table) != NULL; table++) {
            memcpy(got, sum, sizeof got);
            kernels_nth(table)->matrix.tile_f32(got, 16, false, &a, 1, 1, w, 16, 1, 16, NULL,
                                                (struct prefetch){0});
            expect_floats("acc + x w", kernels_nth(table), got, want, 16);
        }
    }
    assert_true(told_apart > 100);
}

/* ---- matrices ---- */

struct product {
    const struct linear *w;
    float *y;
    const float *x;
    size_t ldx, ldy;
    int T;
    enum epilogue then;
    char *scratch;
    size_t scratch_bytes;
};

static void product_job(void *arg, int thread, int n_threads)
{
    struct product *p = arg;
    linear_rows(p->w, p->y, p->ldy, p->x, p->ldx, p->T, p->then, thread, n_threads,
                p->scratch + (size_t)thread * p->scratch_bytes);
}

/* The definition, element by element. */
static float element(const struct linear *w, const float *x, int n)
{
    float acc = 0;
    for (int k = 0; k < w->K; k++) {
        size_t at = ((size_t)(n / PANEL) * (size_t)w->K + (size_t)k) * PANEL + (size_t)(n % PANEL);
        float v = w->dtype == DTYPE_F16 ? half_to_f32(((const uint16_t *)w->data)[at])
                                        : ((const float *)w->data)[at];
        acc = fmaf(x[k], v, acc);
    }
    return w->bias == NULL ? acc : acc + w->bias[n];
}

/* One product: any number of rows at once, any threads and table = the definition. */
static void check_product(enum dtype kind, int K, int N, int T, int n_threads, enum epilogue then)
{
    struct linear w = {.dtype = kind, .K = K, .N = N};
    w.data = mem_alloc(linear_bytes(kind, K, N));
    float *bias = floats((size_t)N), *source = floats((size_t)K * (size_t)N);
    size_t ldx = (size_t)K + 5, ldy = (size_t)N + 3;
    float *x = floats((size_t)T * ldx), *want = floats((size_t)T * ldy);
    float *got = floats((size_t)T * ldy);
    struct product p = {&w, got, x, ldx, ldy, T, then, NULL, linear_scratch_bytes(K)};
    p.scratch = mem_alloc(p.scratch_bytes * (size_t)n_threads);
    assert_true(w.data != NULL && p.scratch != NULL);
    fill_floats(source, (size_t)K * (size_t)N, PLAIN);
    fill_floats(x, (size_t)T * ldx, PLAIN);
    fill_floats(bias, (size_t)N, PLAIN);
    w.bias = (K + N) % 3 == 0 ? NULL : bias;
    for (int k = 0; k < K; k += 3) /* in parts */
        linear_fill_in_major(&w, source + (size_t)k * (size_t)N, DTYPE_F32, k,
                             K - k < 3 ? K - k : 3);
    for (int t = 0; t < T; t++)
        for (int n = 0; n < N; n++) {
            float *y = want + (size_t)t * ldy + n;
            float v = element(&w, x + (size_t)t * ldx, n), old = (float)((t + n) % 5);
            kernels_nth(0)->matrix.epilogue(&v, 0, &v, 0, NULL, 1, 1,
                                            then == EPILOGUE_ADD ? EPILOGUE_STORE : then);
            *y = then == EPILOGUE_ADD ? old + v : v;
        }
    /* The portable one is slow: once is enough. */
    for (int table = n_threads != 2; kernels_nth(table) != NULL; table++) {
        assert_ok(kernels_select(kernels_nth(table)->name));
        for (int t = 0; t < T; t++)
            for (int n = 0; n < N; n++)
                got[(size_t)t * ldy + (size_t)n] = (float)((t + n) % 5);
        for (int t = 0; t < T; t++) /* the gap between rows stays as it is */
            want[(size_t)t * ldy + (size_t)N] = got[(size_t)t * ldy + (size_t)N] = 8;
        par_run(product_job, &p);
        for (int t = 0; t < T; t++)
            expect_floats("linear_rows", kernels_active(), got + (size_t)t * ldy,
                          want + (size_t)t * ldy, (size_t)N + 1);
    }
    mem_free(w.data);
    mem_free(p.scratch);
    mem_free(bias);
    mem_free(source);
    mem_free(x);
    mem_free(want);
    mem_free(got);
}

static void test_linear(void **state)
{
    (void)state;
    static const struct {
        int K, N, T;
    } shapes[] = {{1, 1, 1},     {8, 24, 1},    {8, 24, 5},     {32, 96, 3},   {64, 63, 2},
                  {65, 65, 17},  {48, 100, 30}, {300, 160, 45}, {520, 321, 7}, {257, 33, 29},
                  {16, 70, 300}, {513, 40, 16}, {400, 200, 40}, {24, 700, 1},  {40, 130, 257},
                  {24, 700, 1},  {40, 352, 1},  {40, 352, 1},   {9, 96, 1},    {70, 130, 1},
                  {33, 160, 1},  {20, 352, 2},  {20, 352, 3},   {20, 64, 4},   {1603, 70, 20},
                  {801, 90, 3}};
    for (int threads = 1; threads <= 5; threads++) {
        assert_ok(par_open(threads, false));
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            check_product(i % 3 == 0 ? DTYPE_F32 : DTYPE_F16, shapes[i].K, shapes[i].N, shapes[i].T,
                          threads, (enum epilogue)((i + (size_t)threads) % 4));
    }
    par_close();
    assert_ok(kernels_select("auto"));
}

/* Both orders of a file and both precisions fill the same panels; a column comes back. */
static void test_fill(void **state)
{
    (void)state;
    enum { K = 300, N = 130 };
    float *in = floats(K * N), *out = floats(K * N), column[K];
    uint16_t *in16 = mem_array(K * N, 2), *out16 = mem_array(K * N, 2);
    fill_floats(in, K * N, PLAIN);
    for (int k = 0; k < K; k++)
        for (int n = 0; n < N; n++) {
            in16[k * N + n] = half_from_f32(in[k * N + n]);
            out[n * K + k] = in[k * N + n];
            out16[n * K + k] = in16[k * N + n];
        }
    for (int kind = 0; kind < 2; kind++) {
        size_t bytes = linear_bytes((enum dtype)kind, K, N);
        struct linear a = {.dtype = (enum dtype)kind, .K = K, .N = N, .data = mem_alloc(bytes)};
        struct linear b = {.dtype = (enum dtype)kind, .K = K, .N = N, .data = mem_alloc(bytes)};
        for (int source = 0; source < 2; source++) {
            memset(a.data, 0, bytes);
            memset(b.data, 0, bytes);
            const void *src = source == DTYPE_F16 ? (void *)in16 : (void *)in;
            linear_fill_in_major(&a, src, (enum dtype)source, 0, 100);
            linear_fill_in_major(&a, (const char *)src + 100 * N * (source == DTYPE_F16 ? 2 : 4),
                                 (enum dtype)source, 100, K - 100);
            src = source == DTYPE_F16 ? (void *)out16 : (void *)out;
            linear_fill_out_major(&b, src, (enum dtype)source, 0, 67);
            linear_fill_out_major(&b, (const char *)src + 67 * K * (source == DTYPE_F16 ? 2 : 4),
                                  (enum dtype)source, 67, N - 67);
            assert_memory_equal(a.data, b.data, bytes);
            for (int n = 0; n < N; n++) {
                linear_column(&a, n, column);
                for (int k = 0; k < K; k++) {
                    float want = kind == DTYPE_F32 && source == DTYPE_F32
                                     ? in[k * N + n]
                                     : half_to_f32(in16[k * N + n]);
                    assert_true(column[k] == want);
                }
            }
        }
        mem_free(a.data);
        mem_free(b.data);
    }
    mem_free(in);
    mem_free(out);
    mem_free(in16);
    mem_free(out16);
}

/* ---- attention ---- */

enum { TEXT = 150, MAX_D = 200 };

/* Pages of one head, everything not stored holding `rest`. */
static void make_pages(struct attention *a, char **pages, enum dtype kind, int D, float rest)
{
    const size_t element = kind == DTYPE_F16 ? 2 : 4, D16 = ((size_t)D + 15) / 16 * 16;
    *a = (struct attention){.dtype = kind, .D = D, .scale = 1 / sqrtf((float)D), .pages = pages};
    a->key_offset = 64;
    a->value_offset = 64 + (size_t)D * 64 * element;
    size_t bytes = a->value_offset + 64 * D16 * element;
    for (int i = 0; i < TEXT / 64 + 1; i++) {
        pages[i] = mem_alloc(bytes);
        assert_non_null(pages[i]);
        for (size_t j = 0; j < bytes / element; j++)
            if (kind == DTYPE_F16)
                ((uint16_t *)pages[i])[j] = half_from_f32(rest);
            else
                ((float *)pages[i])[j] = rest;
    }
}

static void attention_text(float *out, const float *q, const float *k, const float *v, int D,
                           enum dtype kind, float rest, const int *cuts)
{
    char *pages[TEXT / 64 + 1];
    struct attention a;
    make_pages(&a, pages, kind, D, rest);
    void *scratch = mem_alloc(attention_scratch_bytes(D));
    assert_non_null(scratch);
    for (int from = 0; *cuts != 0; from += *cuts++) {
        size_t at = (size_t)from * (size_t)D;
        attention_store(&a, k + at, v + at, (size_t)D, *cuts, from);
        attention_rows(&a, out + at, (size_t)D, q + at, (size_t)D, *cuts, from, scratch);
    }
    for (int i = 0; i < TEXT / 64 + 1; i++)
        mem_free(pages[i]);
    mem_free(scratch);
}

/* Against float64 over what was stored; and the same bits however the text is cut, in
 * every table, whatever lies in slots not yet filled. */
static void test_attention(void **state)
{
    (void)state;
    static const int Ds[] = {1, 3, 4, 8, 24, 64, 65, 80, 96, 200};
    static const int cuts[][8] = {{TEXT}, {1, 1, 62, 1, 70, 1, 14}, {63, 65, 9, 13}, {5, 128, 17}};
    static float q[TEXT * MAX_D], k[TEXT * MAX_D], v[TEXT * MAX_D];
    static float first[TEXT * MAX_D], out[TEXT * MAX_D];
    for (size_t i = 0; i < sizeof Ds / sizeof *Ds; i++)
        for (int kind = 0; kind < 2; kind++) {
            const int D = Ds[i];
            const size_t n = (size_t)(TEXT * D);
            fill_floats(q, n, PLAIN);
            fill_floats(k, n, PLAIN);
            fill_floats(v, n, PLAIN);
            assert_ok(kernels_select("portable"));
            attention_text(first, q, k, v, D, (enum dtype)kind, 0, cuts[0]);
            for (int t = 0; t < TEXT; t++) {
                double p[TEXT], sum = 0, want[MAX_D] = {0};
                for (int j = 0; j <= t; j++) {
                    double s = 0;
                    for (int d = 0; d < D; d++)
                        s += (double)q[t * D + d] *
                             (double)(kind == DTYPE_F16 ? half_to_f32(half_from_f32(k[j * D + d]))
                                                        : k[j * D + d]);
                    sum += p[j] = exp(s / sqrt(D));
                }
                for (int j = 0; j <= t; j++)
                    for (int d = 0; d < D; d++)
                        want[d] +=
                            p[j] / sum *
                            (double)(kind == DTYPE_F16 ? half_to_f32(half_from_f32(v[j * D + d]))
                                                       : v[j * D + d]);
                for (int d = 0; d < D; d++)
                    if (fabs((double)first[t * D + d] - want[d]) > 1e-5)
                        fail_msg("attention D %d row %d: %g, should be %g", D, t,
                                 (double)first[t * D + d], want[d]);
            }
            for (int table = 0; kernels_nth(table) != NULL; table++)
                for (size_t c = table == 0; c < (table == 0 ? 2 : sizeof cuts / sizeof *cuts);
                     c++) {
                    assert_ok(kernels_select(kernels_nth(table)->name));
                    attention_text(out, q, k, v, D, (enum dtype)kind, c % 2 ? NAN : INFINITY,
                                   cuts[c]);
                    expect_floats("attention", kernels_active(), out, first, n);
                }
        }
    assert_ok(kernels_select("auto"));
}

/* ---- the rest ---- */

static void test_peak_and_blas(void **state)
{
    (void)state;
    enum { N = 4096 };
    uint16_t *x = mem_array(N, 2);
    fill_halves(x, N, PLAIN);
    enum { LINES = 2 * N / 64 - 1 };
    uint64_t sum = 0, words[8];
    for (int i = 0; i < LINES; i++) {
        memcpy(words, x + 32 * i, sizeof words);
        for (int word = 0; word < 8; word++)
            sum += words[word];
    }
    for (int i = 0; kernels_nth(i) != NULL; i++) {
        assert_true(kernels_nth(i)->peak.fma_loop(10) > 0);
        for (int prefetch = 0; prefetch < 2; prefetch++)
            assert_true(kernels_nth(i)->peak.sum_lines(x, LINES, prefetch) == sum);
    }
    assert_true(peak_fma_flops() > 1e6);
    assert_true(peak_stream_bytes(x, 2 * N) > 1e3);
    par_close();
    mem_free(x);
    const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 2, 1, 0, 3};
    float c[4] = {1, 1, 1, 1};
    assert_ok(blas_open());
    blas_gemm(false, false, 2, 2, 3, 1, a, 3, b, 2, 2, c, 2);
    assert_true(c[0] == 7 && c[1] == 13 && c[2] == 16 && c[3] == 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_halves),        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_exp),           cmocka_unit_test(test_activations),
        cmocka_unit_test(test_extremes),      cmocka_unit_test(test_panel_rows),
        cmocka_unit_test(test_multiply_add),  cmocka_unit_test(test_linear),
        cmocka_unit_test(test_fill),          cmocka_unit_test(test_attention),
        cmocka_unit_test(test_peak_and_blas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
