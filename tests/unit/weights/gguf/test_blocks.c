/* Quantized blocks have the values of the reference, bit for bit (blocks_reference.py). */
#include "tests/lib/gguf_open.h"
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "weights/gguf/gguf.h"

static unsigned char *read_data(const struct gguf *g, const struct gguf_tensor *t)
{
    assert_non_null(t);
    unsigned char *data = mem_alloc(t->bytes);
    assert_non_null(data);
    assert_ok(file_read_at(&g->file, data, t->at, t->bytes));
    return data;
}

/* Returns how many elements of tensor NAME differ from those of NAME.f32. */
static int count_wrong(const struct gguf *g, const struct block_format *f)
{
    char name[32];
    snprintf(name, sizeof name, "%s.f32", f->name);
    const struct gguf_tensor *t = gguf_find_tensor(g, f->name), *values = gguf_find_tensor(g, name);
    unsigned char *blocks = read_data(g, t), *expected = read_data(g, values);
    assert_ptr_equal(t->format, f);
    assert_int_equal(t->dims[0], f->elements);
    assert_int_equal(values->bytes, t->dims[1] * (size_t)f->elements * sizeof(float));
    int wrong = 0;
    for (size_t i = 0; i < t->dims[1]; i++) {
        float got[BLOCK_MAX_ELEMENTS];
        f->dequantize(got, blocks + i * (size_t)f->bytes);
        for (int e = 0; e < f->elements; e++)
            wrong +=
                memcmp(&got[e], expected + (i * (size_t)f->elements + (size_t)e) * sizeof(float),
                       sizeof(float)) != 0;
    }
    mem_free(blocks);
    mem_free(expected);
    return wrong;
}

static void each_type_has_the_values_of_the_reference(void **state)
{
    (void)state;
    struct gguf g;
    size_t n = 0;
    assert_ok(gguf_open(&g, "tests/golden/blocks/blocks.gguf"));
    for (uint32_t type = 0; type < 100; type++) {
        const struct block_format *f = block_format_of(type);
        if (f == NULL || f->dequantize == NULL)
            continue;
        n++;
        int wrong = count_wrong(&g, f);
        if (wrong > 0)
            fail_msg("%s: %d elements differ", f->name, wrong);
    }
    assert_int_equal(n, 11);
    assert_int_equal(g.n_tensors, 2 * n);
    gguf_close(&g);
}

static void a_type_is_read_or_has_another_name_or_is_unknown(void **state)
{
    (void)state;
    for (uint32_t type = 0; type < 100; type++) {
        const struct block_format *f = block_format_of(type);
        assert_false(f != NULL && block_unread_name(type) != NULL);
        if (f == NULL)
            continue;
        assert_true(f->elements <= BLOCK_MAX_ELEMENTS && f->bytes <= BLOCK_MAX_BYTES);
        if (f->name[0] != 'Q' || f->name[3] != 'K' || type == 10 || type == 14)
            assert_non_null(strstr(block_names_read(), f->name));
    }
    assert_null(block_format_of(UINT32_MAX));
    assert_null(block_unread_name(UINT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_has_the_values_of_the_reference),
        cmocka_unit_test(a_type_is_read_or_has_another_name_or_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
