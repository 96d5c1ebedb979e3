/* An adapter knows the weights that it was trained with, in whatever precision they come. */
#include "tests/lib/notes.h"
#include "tests/lib/random_adapter.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

#include "model/base/half.h"
#include "weights/hf/adapter_file.h"
#include "weights/model_source.h"
#include "weights/tensors/weights_sample.h"

#include <string.h>

static struct config c;

static struct weights_sample sample_of(const struct model *m)
{
    struct weights_sample out;
    struct source s;
    struct model named = *m;
    named.name = (char[]){"tiny"};
    assert_ok(source_open_model(&s, &named));
    assert_ok(weights_sample_take(&out, &s));
    source_close(&s);
    return out;
}

static struct weights_sample sample_in(enum dtype dtype, uint64_t seed)
{
    struct model m = {0};
    tiny_init(&m, &c, dtype, seed);
    const struct weights_sample out = sample_of(&m);
    tiny_release(&m);
    return out;
}

static void precisions_match(void **state)
{
    (void)state;
    const enum dtype all[] = {DTYPE_F32, DTYPE_F16, DTYPE_Q8};
    for (size_t i = 0; i < 3; i++) {
        const struct weights_sample a = sample_in(all[i], 1);
        assert_int_equal(a.n, WEIGHTS_SAMPLE);
        assert_int_equal(a.dtype, all[i]);
        for (size_t j = 0; j < 3; j++) {
            const struct weights_sample b = sample_in(all[j], 1), other = sample_in(all[j], 2);
            assert_true(weights_sample_match(&a, &b));
            assert_false(weights_sample_match(&a, &other));
        }
    }
    /* bfloat16 keeps 8 bits. */
    struct weights_sample a = sample_in(DTYPE_F32, 1), b = a;
    for (int i = 0; i < b.n; i++)
        b.values[i] = half_from_f32(half_to_f32(b.values[i]) * (1 + 0x1p-9f));
    assert_false(weights_sample_match(&a, &b));
    b.dtype = DTYPE_BF16;
    assert_true(weights_sample_match(&a, &b));
    b.n = 0;
    assert_true(weights_sample_match(&a, &b));
}

/* What was widened from bfloat16 has no more bits than that. */
static void widened_values_stay_coarse(void **state)
{
    (void)state;
    struct model m = {0};
    tiny_init(&m, &c, DTYPE_F32, 1);
    const struct weights_sample exact = sample_of(&m);
    for (int i = 0; i < m.params.n_tensors; i++) {
        const struct param_tensor *t = &m.params.tensors[i];
        if (t->kind != PARAM_CONV1D)
            continue;
        uint32_t *w = t->linear->data;
        const size_t n = (size_t)t->rows * (size_t)linear_panels(t->cols) * PANEL;
        for (size_t k = 0; k < n; k++)
            w[k] = (w[k] + 0x8000) & 0xffff0000u;
    }
    const struct weights_sample widened = sample_of(&m);
    assert_int_equal(exact.dtype, DTYPE_F32);
    assert_int_equal(widened.dtype, DTYPE_BF16);
    assert_true(weights_sample_match(&exact, &widened));
    tiny_release(&m);
}

/* Each kind of matrix in each layer counts, since an adapter that was merged changes only some. */
static void every_matrix_counts(void **state)
{
    (void)state;
    struct model m = {0};
    tiny_init(&m, &c, DTYPE_F32, 1);
    const struct weights_sample before = sample_of(&m);
    for (int i = 0, at = 0; at < c.n_layer * 4; i++) {
        const struct param_tensor *t = &m.params.tensors[i];
        if (t->kind != PARAM_CONV1D)
            continue;
        float *w = t->linear->data;
        const size_t n = (size_t)t->rows * (size_t)linear_panels(t->cols) * PANEL;
        for (size_t k = 0; k < n; k++)
            w[k] *= 1.01f;
        const struct weights_sample after = sample_of(&m);
        assert_false(weights_sample_match(&before, &after));
        for (size_t k = 0; k < n; k++)
            w[k] /= 1.01f;
        at++;
    }
    tiny_release(&m);
}

static void the_file_keeps_it(void **state)
{
    (void)state;
    struct scratch s;
    struct adapter *a = random_adapter(&c, "c_attn", 2, false), *b;
    struct notes notes = {0};
    const struct progress p = {.note = notes_take, .user = &notes};
    scratch_open(&s);
    a->base = sample_in(DTYPE_F16, 1);
    assert_ok(adapter_save(a, scratch_path(&s, "ad"), "random:gpt2", false));
    assert_ok(adapter_read(&b, scratch_path(&s, "ad"), &c));
    assert_int_equal(b->base.n, WEIGHTS_SAMPLE);
    assert_int_equal(b->base.dtype, DTYPE_F16);
    assert_memory_equal(b->base.values, a->base.values, sizeof a->base.values);
    weights_sample_note(b, &a->base, "same", &p);
    assert_int_equal(notes.n, 0);
    const struct weights_sample other = sample_in(DTYPE_F16, 2);
    weights_sample_note(b, &other, "other", &p);
    assert_int_equal(notes.n, 1);
    assert_non_null(strstr(notes.first, "ad was trained with other weights than those of other: "));
    /* One without, as PEFT's. */
    a->base.n = 0;
    assert_ok(adapter_save(a, scratch_path(&s, "ad"), "random:gpt2", true));
    adapter_free(b);
    assert_ok(adapter_read(&b, scratch_path(&s, "ad"), &c));
    assert_int_equal(b->base.n, 0);
    adapter_free(b);
    adapter_free(a);
    scratch_close(&s);
}

static void other_texts_are_none(void **state)
{
    (void)state;
    const struct weights_sample a = sample_in(DTYPE_F32, 1);
    struct weights_sample b;
    struct buf text = {0};
    assert_ok(weights_sample_write(&text, &a));
    weights_sample_read(&b, text.data);
    assert_int_equal(b.n, WEIGHTS_SAMPLE);
    static const char *const spoiled[] = {"",  "F32",      "F32 ",   "F32 0000",
                                          " ", "F64 3c00", "F32 zz", "F3200000000"};
    for (size_t i = 0; i < sizeof spoiled / sizeof *spoiled; i++) {
        weights_sample_read(&b, spoiled[i]);
        assert_int_equal(b.n, 0);
    }
    text.data[2] = '4'; /* F34 */
    weights_sample_read(&b, text.data);
    assert_int_equal(b.n, 0);
    text.data[2] = '2';
    text.data[text.n - 1] = 'g';
    weights_sample_read(&b, text.data);
    assert_int_equal(b.n, 0);
    buf_release(&text);
}

int main(void)
{
    c = config_of(3, 2, 64, 128, 32, 96);
    assert_ok(config_check(&c));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(precisions_match), cmocka_unit_test(widened_values_stay_coarse),
        cmocka_unit_test(every_matrix_counts), cmocka_unit_test(the_file_keeps_it),
        cmocka_unit_test(other_texts_are_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
