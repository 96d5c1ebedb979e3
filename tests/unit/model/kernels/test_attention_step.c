#include "model/kernels/attention.h"

#include "model/base/mem.h"
#include "model/kernels/kernels.h"
#include "tests/lib/normal.h"
#include "tests/lib/test.h"
#include "tests/lib/thin.h"

#include <math.h>
#include <string.h>

/* A step, one new row of several heads at once, has the bits of its heads alone and leaves the same
 * cache, in every table of kernels. */

enum { TEXT = 150, PAGES = TEXT / 64 + 1, MAX_D = 65, FIRST = 2 /* heads of a page before a's */ };

struct cache {
    struct attention a; /* of head FIRST */
    char *pages[PAGES];
    size_t bytes; /* of a page */
};

/* What is not stored is NaN in each type. */
static void open_cache(struct cache *c, enum dtype dtype, int D, int heads, int window)
{
    const size_t keys = attention_key_bytes(dtype, D), values = attention_value_bytes(dtype, D);
    const size_t n = (size_t)heads + FIRST;
    c->bytes = n * (keys + values);
    c->a = (struct attention){.dtype = dtype,
                              .D = D,
                              .scale = 1 / sqrtf((float)D),
                              .window = window,
                              .pages = c->pages,
                              .key_offset = FIRST * keys,
                              .value_offset = n * keys + FIRST * values};
    for (int i = 0; i < PAGES; i++) {
        c->pages[i] = mem_alloc(c->bytes);
        assert_non_null(c->pages[i]);
        memset(c->pages[i], 0xff, c->bytes);
    }
}

static void close_cache(struct cache *c)
{
    for (int i = 0; i < PAGES; i++)
        mem_free(c->pages[i]);
}

/* The row at `position`, head by head. */
static void attend_alone(const struct cache *c, float *out, const struct attention_row *new, int n,
                         int position, void *scratch)
{
    const size_t D = (size_t)c->a.D;
    for (size_t h = 0; h < (size_t)n; h++) {
        struct attention a = c->a;
        a.key_offset += h * attention_key_bytes(a.dtype, a.D);
        a.value_offset += h * attention_value_bytes(a.dtype, a.D);
        attention_store(&a, new->k + h *D, new->v + h *D, D, 1, position);
        attention_rows(&a, out + h * D, D, new->q + h *D, D, 1, position, scratch);
    }
}

static void check_text(enum dtype dtype, int D, int heads, int window)
{
    static float row[3][ATTENTION_HEADS * MAX_D];
    static float out[ATTENTION_HEADS * MAX_D], want[ATTENTION_HEADS * MAX_D];
    const struct attention_row new = {row[0], row[1], row[2]};
    const size_t n = (size_t)(heads * D);
    struct cache steps, alone;
    void *scratch = mem_alloc(attention_scratch_bytes(D));
    assert_non_null(scratch);
    open_cache(&steps, dtype, D, heads, window);
    open_cache(&alone, dtype, D, heads, window);
    for (int position = 0; position < TEXT; position++) {
        for (size_t i = 0; i < 3 * n; i++)
            row[i / n][i % n] =
                normal_number((uint64_t)(D + heads), (uint64_t)position, (uint64_t)i);
        attention_step(&steps.a, out, &new, heads, position, scratch);
        attend_alone(&alone, want, &new, heads, position, scratch);
        if (memcmp(out, want, n * sizeof *out) != 0)
            fail_msg("%s: a step at %d of %d heads of %d in type %d is not that of its heads",
                     kernels_name(), position, heads, D, (int)dtype);
    }
    for (int i = 0; i < PAGES; i++)
        assert_memory_equal(steps.pages[i], alone.pages[i], steps.bytes);
    close_cache(&steps);
    close_cache(&alone);
    mem_free(scratch);
}

static void step_is_its_heads_alone(void **state)
{
    (void)state;
    static const int sizes[] = {3, 64, MAX_D}, heads[] = {1, 3, ATTENTION_HEADS};
    static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_F16, DTYPE_Q8};
    int n_cases = 0;
    for (int table = 0; kernels_nth(table) != NULL; table++) {
        assert_ok(kernels_select(kernels_nth_name(table)));
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (size_t j = 0; j < sizeof heads / sizeof *heads; j++)
                for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
                    if (thin_runs(n_cases++, 4))
                        check_text(dtypes[d], sizes[i], heads[j], (i + j) % 2 == 0 ? 0 : 70);
    }
    assert_ok(kernels_select("auto"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(step_is_its_heads_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
