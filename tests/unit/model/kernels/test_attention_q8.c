#include "model/kernels/attention.h"

#include "model/base/half.h"
#include "model/base/mem.h"
#include "model/base/rng.h"
#include "model/kernels/attention_q8.h"
#include "model/kernels/kernels.h"
#include "model/kernels/kernels_tables.h"
#include "tests/lib/normal.h"
#include "tests/lib/test.h"

#include <math.h>
#include <string.h>

/* Keys and values in q8: stored by the formula, multiplied in the order of attention_q8.h. */

enum { TEXT = 150, MAX_D = 200, PAGES = TEXT / 64 + 1 };

static const int head_sizes[] = {1, 3, 8, 24, 31, 32, 33, 64, 65, 80, 96, 128, 200};
enum { N_SIZES = sizeof head_sizes / sizeof *head_sizes };

static float q[TEXT * MAX_D], k[TEXT * MAX_D], v[TEXT * MAX_D];

/* Rows whose sizes differ by the block, as those of heads do. */
static void fill_text(int D, uint64_t seed)
{
    for (int i = 0; i < TEXT * D; i++) {
        const float size = ldexpf(1, (int)(rng_uniform(seed, 7, (uint64_t)(i / 32)) * 8) - 5);
        q[i] = normal_number(seed, 1, (uint64_t)i);
        k[i] = size * normal_number(seed, 2, (uint64_t)i);
        v[i] = size * normal_number(seed, 3, (uint64_t)i);
    }
}

/* ---- pages ---- */

struct text {
    struct attention a;
    char *pages[PAGES];
    size_t bytes; /* of a page */
};

/* What is not stored holds bytes `rest`. */
static void open_text(struct text *t, int D, int rest)
{
    const size_t keys = attention_key_bytes(DTYPE_Q8, D), before = 64;
    t->bytes = before + keys + attention_value_bytes(DTYPE_Q8, D);
    t->a = (struct attention){.dtype = DTYPE_Q8,
                              .D = D,
                              .scale = 1 / sqrtf((float)D),
                              .pages = t->pages,
                              .key_offset = before,
                              .value_offset = before + keys};
    for (int i = 0; i < PAGES; i++) {
        t->pages[i] = mem_alloc(t->bytes);
        assert_non_null(t->pages[i]);
        memset(t->pages[i], rest, t->bytes);
    }
}

static void close_text(struct text *t)
{
    for (int i = 0; i < PAGES; i++)
        mem_free(t->pages[i]);
}

/* An element as the layout has it: its scale and its integer. */
static uint16_t key_scale(const struct text *t, int position, int d)
{
    const char *keys = t->pages[position / 64] + t->a.key_offset + d / 32 * 34 * 64;
    return ((const uint16_t *)(const void *)keys)[position % 64];
}
static int8_t key_integer(const struct text *t, int position, int d)
{
    const char *keys = t->pages[position / 64] + t->a.key_offset + d / 32 * 34 * 64;
    return (int8_t)keys[128 + d % 32 * 64 + position % 64];
}
static uint16_t value_scale(const struct text *t, int position, int d)
{
    const char *values = t->pages[position / 64] + t->a.value_offset;
    return ((const uint16_t *)(const void *)values)[d / 32 * 64 + position % 64];
}
static int8_t value_integer(const struct text *t, int position, int d)
{
    const int blocks = (t->a.D + 31) / 32, D16 = (t->a.D + 15) / 16 * 16;
    const char *values = t->pages[position / 64] + t->a.value_offset + blocks * 128;
    return (int8_t)values[position % 64 * D16 + d];
}

/* Of the block of n elements: d = max |x| / 127 in binary16, and x / d to nearest. */
static void expect_block(const float *x, int n, int i, uint16_t scale, int8_t integer)
{
    float largest = 0;
    for (int j = 0; j < n; j++)
        largest = fabsf(x[j]) > largest ? fabsf(x[j]) : largest;
    const float d = largest / 127, inverse = d == 0 || isinf(1 / d) ? 0 : 1 / d;
    assert_int_equal(scale, half_from_f32(d));
    assert_int_equal(integer, (int)roundf(x[i] * inverse));
}

static void rows_are_stored_by_the_formula(void **state)
{
    (void)state;
    for (int i = 0; i < N_SIZES; i++) {
        const int D = head_sizes[i];
        struct text t;
        fill_text(D, (uint64_t)i);
        memset(k, 0, sizeof *k * (size_t)D); /* a row of zeros */
        for (int d = 0; d < D; d++)
            v[D + d] = d % 2 ? -0x1p-130f : 0x1p-140f; /* one that has no scale */
        open_text(&t, D, 0x55);
        attention_store(&t.a, k, v, (size_t)D, TEXT, 0);
        for (int at = 0; at < TEXT; at++)
            for (int d = 0; d < D; d++) {
                const int first = d / 32 * 32, n = D - first < 32 ? D - first : 32;
                expect_block(k + at * D + first, n, d - first, key_scale(&t, at, d),
                             key_integer(&t, at, d));
                expect_block(v + at * D + first, n, d - first, value_scale(&t, at, d),
                             value_integer(&t, at, d));
            }
        close_text(&t);
    }
}

static void a_page_is_half_of_binary16(void **state)
{
    (void)state;
    assert_int_equal(attention_key_bytes(DTYPE_Q8, 64), 64 * 68);
    assert_int_equal(attention_value_bytes(DTYPE_Q8, 64), 64 * 68);
    assert_int_equal(attention_key_bytes(DTYPE_Q8, 12), 64 * 14);
    assert_int_equal(attention_value_bytes(DTYPE_Q8, 12), 64 * 18);
    assert_int_equal(attention_key_bytes(DTYPE_F16, 64), 64 * 128);
    assert_int_equal(attention_value_bytes(DTYPE_F32, 12), 64 * 64);
}

static void a_copy_has_the_first_positions(void **state)
{
    (void)state;
    for (int i = 0; i < N_SIZES; i++) {
        const int D = head_sizes[i];
        for (int n = 1; n <= 64; n += 21) {
            struct text from, to;
            fill_text(D, (uint64_t)i);
            open_text(&from, D, 0x11);
            open_text(&to, D, 0x55);
            attention_store(&from.a, k, v, (size_t)D, 64, 0);
            attention_page_copy(DTYPE_Q8, D, to.pages[0] + to.a.key_offset,
                                to.pages[0] + to.a.value_offset, from.pages[0] + from.a.key_offset,
                                from.pages[0] + from.a.value_offset, n);
            for (int at = 0; at < 64; at++)
                for (int d = 0; d < D; d++) {
                    const struct text *as = at < n ? &from : NULL;
                    assert_int_equal(key_scale(&to, at, d), as ? key_scale(as, at, d) : 0x5555);
                    assert_int_equal(key_integer(&to, at, d), as ? key_integer(as, at, d) : 0x55);
                    assert_int_equal(value_scale(&to, at, d), as ? value_scale(as, at, d) : 0x5555);
                    assert_int_equal(value_integer(&to, at, d),
                                     as ? value_integer(as, at, d) : 0x55);
                }
            close_text(&from);
            close_text(&to);
        }
    }
}

/* ---- the one order ---- */

static float score_of(const struct text *t, const float *row, int position)
{
    float s = 0;
    for (int first = 0; first < t->a.D; first += 32) {
        float part = 0;
        for (int d = first; d < t->a.D && d < first + 32; d++)
            part = fmaf(row[d], key_integer(t, position, d), part);
        s = fmaf(half_to_f32(key_scale(t, position, first)), part, s);
    }
    return s;
}

/* Scores and weighted values of R rows with the first page, by the formulas and by the kernels. */
static void check_products(const struct text *t, int R, int begin, int end, void *scratch)
{
    const int D = t->a.D, D16 = (D + 15) / 16 * 16;
    static float packed[MAX_D * 16], scores[16 * 64], acc[16 * (MAX_D + 8)];
    const struct prefetch ahead = {t->pages[0], R % 2 ? 128 : 0};
    matrix_kernels()->pack_rows(packed, q, (size_t)D, R, D);
    attention_q8_scores(scores, packed, R, t->pages[0] + t->a.key_offset, D, ahead, scratch);
    for (int r = 0; r < R; r++)
        for (int j = 0; j < 64; j++) {
            const float want = score_of(t, q + r * D, j);
            assert_memory_equal(&scores[r * 64 + j], &want, sizeof want);
        }
    for (int i = 0; i < R * D16; i++)
        acc[i] = (float)(i % 11);
    attention_q8_values(acc, scores, R, t->pages[0] + t->a.value_offset, D16, begin, end, ahead,
                        scratch);
    for (int r = 0; r < R; r++)
        for (int d = 0; d < D; d++) {
            float want = (float)((r * D16 + d) % 11);
            for (int j = begin; j < end; j++)
                want = fmaf(scores[r * 64 + j] * half_to_f32(value_scale(t, j, d)),
                            value_integer(t, j, d), want);
            assert_memory_equal(&acc[r * D16 + d], &want, sizeof want);
        }
}

static void products_are_in_the_one_order(void **state)
{
    (void)state;
    void *scratch = mem_alloc(attention_q8_scratch_bytes());
    assert_non_null(scratch);
    for (int i = 0; i < N_SIZES; i++) {
        struct text t;
        fill_text(head_sizes[i], (uint64_t)i);
        open_text(&t, head_sizes[i], 0);
        attention_store(&t.a, k, v, (size_t)head_sizes[i], 64, 0);
        for (int table = 0; kernels_nth(table) != NULL; table++) {
            assert_ok(kernels_select(kernels_nth_name(table)));
            for (int R = 1; R <= matrix_kernels()->tile_rows; R++) {
                check_products(&t, R, 0, 64, scratch);
                check_products(&t, R, R, 63 - R, scratch);
            }
        }
        close_text(&t);
    }
    mem_free(scratch);
    assert_ok(kernels_select("auto"));
}

/* ---- attention ---- */

static void attend_text(float *out, int D, int window, int rest, const int *cuts)
{
    struct text t;
    void *scratch = mem_alloc(attention_scratch_bytes(D));
    assert_non_null(scratch);
    open_text(&t, D, rest);
    t.a.window = window;
    for (int from = 0; *cuts != 0; from += *cuts++) {
        const size_t at = (size_t)(from * D);
        attention_store(&t.a, k + at, v + at, (size_t)D, *cuts, from);
        attention_rows(&t.a, out + at, (size_t)D, q + at, (size_t)D, *cuts, from, scratch);
    }
    close_text(&t);
    mem_free(scratch);
}

static const int whole[] = {TEXT, 0};

/* Against float64 over the numbers that are stored. */
static void expect_near(const float *out, int D, int window)
{
    static double keys[TEXT * MAX_D], values[TEXT * MAX_D];
    struct text t;
    open_text(&t, D, 0);
    attention_store(&t.a, k, v, (size_t)D, TEXT, 0);
    for (int i = 0; i < TEXT * D; i++) {
        const int at = i / D, d = i % D;
        keys[i] = (double)half_to_f32(key_scale(&t, at, d)) * key_integer(&t, at, d);
        values[i] = (double)half_to_f32(value_scale(&t, at, d)) * value_integer(&t, at, d);
    }
    close_text(&t);
    for (int row = 0; row < TEXT; row++) {
        const int first = window == 0 || row < window ? 0 : row - window + 1;
        double p[TEXT], sum = 0, want[MAX_D] = {0}, largest = 0;
        for (int j = first; j <= row; j++) {
            p[j] = 0;
            for (int d = 0; d < D; d++)
                p[j] += (double)q[row * D + d] * keys[j * D + d];
            p[j] /= sqrt(D);
            largest = j == first || p[j] > largest ? p[j] : largest;
        }
        for (int j = first; j <= row; j++)
            sum += p[j] = exp(p[j] - largest);
        for (int j = first; j <= row; j++)
            for (int d = 0; d < D; d++)
                want[d] += p[j] / sum * values[j * D + d];
        for (int d = 0; d < D; d++)
            if (fabs((double)out[row * D + d] - want[d]) > 1e-4)
                fail_msg("D %d row %d: %g, should be %g", D, row, (double)out[row * D + d],
                         want[d]);
    }
}

static void attention_is_near_float64_and_one(void **state)
{
    (void)state;
    static const int cuts[][8] = {{TEXT}, {1, 1, 62, 1, 70, 1, 14}, {63, 65, 9, 13}, {5, 128, 17}};
    static const int windows[] = {0, 5, 64, 100};
    static float first[TEXT * MAX_D], out[TEXT * MAX_D];
    for (int i = 0; i < N_SIZES; i++) {
        const int D = head_sizes[i], window = windows[i % 4];
        const size_t bytes = (size_t)(TEXT * D) * sizeof *out;
        fill_text(D, 20 + (uint64_t)i);
        assert_ok(kernels_select("portable"));
        attend_text(first, D, window, 0, whole);
        expect_near(first, D, window);
        for (int table = 0; kernels_nth(table) != NULL; table++) {
            assert_ok(kernels_select(kernels_nth_name(table)));
            for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
                attend_text(out, D, window, c % 2 ? 0x7f : 0xff, cuts[c]); /* NaN as a scale */
                assert_memory_equal(out, first, bytes);
            }
        }
    }
    assert_ok(kernels_select("auto"));
}

/* ---- what no model should make ---- */

enum { BAD = 70 }; /* the position whose keys or values are bad */

static void attend_bad(float *out, int D, float *where, float bad)
{
    fill_text(D, 50);
    where[BAD * D + D / 2] = bad;
    attend_text(out, D, 0, 0, whole);
}

/* NaN and infinities show in the rows that see them, and nowhere else; so does a value beyond the
 * scales. */
static void what_is_not_finite_shows(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY, 1e30f};
    static const int sizes[] = {24, 64};
    static float good[TEXT * MAX_D], out[TEXT * MAX_D];
    for (int i = 0; i < 8; i++) {
        const int D = sizes[i / 4];
        for (int table = 0; kernels_nth(table) != NULL; table++) {
            assert_ok(kernels_select(kernels_nth_name(table)));
            fill_text(D, 50);
            attend_text(good, D, 0, 0, whole);
            for (int in_values = 0; in_values < 2; in_values++) {
                attend_bad(out, D, in_values ? v : k, bad[i % 4]);
                assert_memory_equal(out, good, (size_t)(BAD * D) * sizeof *out);
                for (int row = BAD; row < TEXT && (in_values || i % 4 < 3); row++)
                    assert_false(isfinite(out[row * D + D / 2]));
            }
        }
    }
    assert_ok(kernels_select("auto"));
}

/* Zeros and what is below the smallest scale are zeros; the largest that is finite stays so. */
static void small_and_large_rows_stay_finite(void **state)
{
    (void)state;
    enum { D = 40 };
    static float out[TEXT * D];
    static const float sizes[] = {0, 0x1p-149f, 0x1p-126f, 1e-12f, 1e-6f, 60000, 8e6f};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const float size = sizes[i];
        fill_text(D, 60);
        for (int j = 0; j < TEXT * D; j++) {
            q[j] = 0; /* equal weights */
            k[j] = j % 2 ? size : -size;
            v[j] = size;
        }
        attend_text(out, D, 0, 0, whole);
        for (int j = 0; j < TEXT * D; j++)
            assert_true(size < 1e-8f ? out[j] == 0 : fabsf(out[j] - size) <= 0.001f * size + 4e-6f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_stored_by_the_formula),
        cmocka_unit_test(a_page_is_half_of_binary16),
        cmocka_unit_test(a_copy_has_the_first_positions),
        cmocka_unit_test(products_are_in_the_one_order),
        cmocka_unit_test(attention_is_near_float64_and_one),
        cmocka_unit_test(what_is_not_finite_shows),
        cmocka_unit_test(small_and_large_rows_stay_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
