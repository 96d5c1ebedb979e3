#include "model/params.h"

#include "model/base/half.h"
#include "model/base/par.h"
#include "tests/lib/tiny.h"

#include <math.h>

/* A tensor of a file, kept in memory: element i is a function of i. */
struct stored {
    enum dtype dtype;
    int rows, cols; /* of the table */
    bool out_major;
    uint64_t fail_from; /* reads that reach this element fail; UINT64_MAX: none */
};

/* Of element [row,col]: finite, distinct for neighbours, exact in all three types. */
static float value_at(uint64_t row, uint64_t col)
{
    return (float)((int)((row * 31 + col * 7) % 251) - 125) / 64.0f;
}

static int read_stored(void *user, void *dst, uint64_t first, size_t n)
{
    const struct stored *s = user;
    if (first + n > s->fail_from)
        return err_set(ERR_IO, "element %d cannot be read", (int)s->fail_from);
    for (size_t i = 0; i < n; i++) {
        uint64_t at = first + i, rows = (uint64_t)s->rows, cols = (uint64_t)s->cols;
        float x = s->out_major ? value_at(at % rows, at / rows) : value_at(at / cols, at % cols);
        if (s->dtype == DTYPE_F32)
            ((float *)dst)[i] = x;
        else
            ((uint16_t *)dst)[i] = s->dtype == DTYPE_F16 ? half_from_f32(x) : bf16_from_f32(x);
    }
    return 0;
}

static void fill_and_check(struct params *p, enum dtype dtype, bool out_major)
{
    for (int i = 0; i < p->n_tensors; i++) {
        struct param_tensor *t = &p->tensors[i];
        struct stored s = {.dtype = dtype,
                           .rows = t->rows,
                           .cols = t->cols,
                           .out_major = out_major && t->kind == PARAM_CONV1D,
                           .fail_from = UINT64_MAX};
        struct tensor_reader r = {
            .read = read_stored, .user = &s, .dtype = dtype, .out_major = s.out_major};
        uint64_t n_bad = 99;
        assert_ok(params_fill(t, &r, 1, &n_bad, NULL));
        assert_int_equal(n_bad, 0);
        size_t n = (size_t)t->rows * (size_t)t->cols;
        float *back = mem_array(n, sizeof *back);
        params_read(t, back, 0, n);
        for (size_t k = 0; k < n; k++) {
            float want = value_at(k / (size_t)t->cols, k % (size_t)t->cols), one;
            if (back[k] != want)
                fail_msg("%s %s%s: element %zu is %g, expected %g", t->name, dtype_name(dtype),
                         s.out_major ? " [out,in]" : "", k, (double)back[k], (double)want);
            params_read(t, &one, k, 1);
            assert_float_equal(one, want, 0);
        }
        mem_free(back);
    }
}

/* Every type, orientation, precision and number of threads puts each element in its place. */
static void what_is_filled_reads_back(void **state)
{
    (void)state;
    struct config c = tiny_config();
    c.n_embd = 132; /* several panels, the last one in part */
    c.tie_word_embeddings = false;
    unsigned char first[32], hash[32];
    for (int kind = DTYPE_F32; kind <= DTYPE_F16; kind++)
        for (int threads = 1; threads <= 5; threads += 2) {
            assert_ok(par_open(threads, false));
            for (int dtype = DTYPE_F32; dtype <= DTYPE_BF16; dtype++)
                for (int out_major = 0; out_major < 2; out_major++) {
                    struct params p;
                    assert_ok(params_init(&p, &c, (enum dtype)kind));
                    fill_and_check(&p, (enum dtype)dtype, out_major != 0);
                    params_hash(&p, hash);
                    if (threads == 1 && dtype == DTYPE_F32 && out_major == 0)
                        memcpy(first, hash, sizeof first);
                    assert_memory_equal(hash, first, sizeof first);
                    params_release(&p);
                }
        }
    par_close();
}

static void a_changed_weight_changes_the_hash(void **state)
{
    (void)state;
    struct config c = tiny_config();
    struct model m;
    tiny_init(&m, &c, DTYPE_F16, 1);
    unsigned char before[32], after[32];
    params_hash(&m.params, before);
    float *last = &m.params.ln_f_bias[c.n_embd - 1], kept = *last;
    *last = kept + 1;
    params_hash(&m.params, after);
    assert_memory_not_equal(before, after, 32);
    *last = kept;
    params_hash(&m.params, after);
    assert_memory_equal(before, after, 32);
    m.params.config.scale_attn_weights = false;
    params_hash(&m.params, after);
    assert_memory_not_equal(before, after, 32);

    memcpy(before, model_fingerprint(&m), 32);
    m.params.ln_f_bias[0] += 1;
    assert_memory_equal(model_fingerprint(&m), before, 32); /* nothing said that it changed */
    m.version++;
    assert_memory_not_equal(model_fingerprint(&m), before, 32);
    tiny_release(&m);
}

static int read_bad(void *user, void *dst, uint64_t first, size_t n)
{
    const float *all = user;
    memcpy(dst, all + first, n * sizeof *all);
    return 0;
}

static void values_that_are_no_numbers_are_counted(void **state)
{
    (void)state;
    struct config c = tiny_config();
    size_t n = (size_t)c.n_vocab * (size_t)c.n_embd;
    float *all = mem_array(n, sizeof *all);
    all[0] = NAN;
    all[1] = 65519; /* rounds to 65504 */
    all[2] = -65520;
    all[3] = 1e30f;
    all[n - 1] = -INFINITY;
    struct tensor_reader r = {.read = read_bad, .user = all, .dtype = DTYPE_F32};
    const uint64_t expected[] = {[DTYPE_F16] = 4, [DTYPE_F32] = 2};
    for (int kind = DTYPE_F32; kind <= DTYPE_F16; kind++) {
        struct params p;
        uint64_t n_bad;
        assert_ok(params_init(&p, &c, (enum dtype)kind));
        assert_ok(params_fill(params_find(&p, "wte.weight"), &r, 1, &n_bad, NULL));
        assert_int_equal(n_bad, expected[kind]);
        params_release(&p);
    }
    mem_free(all);
}

static int read_bad_halfs(void *user, void *dst, uint64_t first, size_t n)
{
    const uint16_t *all = user;
    memcpy(dst, all + first, n * sizeof *all);
    return 0;
}

/* Wherever they stand: the counting goes block by block. */
static void bad_halfs_are_counted(void **state)
{
    (void)state;
    struct config c = tiny_config();
    size_t n = (size_t)c.n_vocab * (size_t)c.n_embd;
    uint16_t *all = mem_array(n, sizeof *all);
    struct tensor_reader r = {.read = read_bad_halfs, .user = all, .dtype = DTYPE_F16};
    struct params p;
    assert_ok(params_init(&p, &c, DTYPE_F16));
    for (size_t i = 0; i < n; i++)
        all[i] = 0x7bff; /* 65504 */
    for (size_t at = 0; at < n; at += 1 + at / 7) {
        uint64_t n_bad;
        all[at] = at % 2 ? 0x7c00 : 0xfe01; /* infinity, NaN */
        assert_ok(params_fill(params_find(&p, "wte.weight"), &r, 1, &n_bad, NULL));
        assert_int_equal(n_bad, 1);
        all[at] = 0xfbff;
    }
    params_release(&p);
    mem_free(all);
}

static void an_error_of_the_reader_comes_back(void **state)
{
    (void)state;
    struct config c = tiny_config();
    for (int threads = 1; threads <= 3; threads++) {
        assert_ok(par_open(threads, false));
        struct params p;
        assert_ok(params_init(&p, &c, DTYPE_F16));
        struct param_tensor *t = params_find(&p, "h.1.mlp.c_fc.weight");
        assert_non_null(t);
        struct stored s = {.rows = t->rows, .cols = t->cols, .fail_from = 1000};
        struct tensor_reader r = {.read = read_stored, .user = &s};
        uint64_t n_bad;
        err_clear();
        assert_int_equal(params_fill(t, &r, 1, &n_bad, NULL), ERR_IO);
        assert_string_equal(err_text(),
                            "cannot load tensor h.1.mlp.c_fc.weight: element 1000 cannot be read");
        params_release(&p);
    }
    par_close();
}

static void the_table_alone_has_the_same_names(void **state)
{
    (void)state;
    for (int tied = 0; tied < 2; tied++) {
        struct config c = tiny_config();
        c.tie_word_embeddings = tied;
        struct params table, p;
        assert_ok(params_describe(&table, &c));
        assert_ok(params_init(&p, &c, DTYPE_F32));
        assert_null(table.block);
        assert_int_equal(table.n_tensors, p.n_tensors);
        uint64_t elements = 0;
        for (int i = 0; i < p.n_tensors; i++) {
            const struct param_tensor *a = &table.tensors[i], *b = &p.tensors[i];
            assert_string_equal(a->name, b->name);
            assert_true(a->kind == b->kind && a->rows == b->rows && a->cols == b->cols);
            assert_true(a->data == NULL && a->linear == NULL);
            assert_true((b->data == NULL) == (b->linear != NULL));
            elements += (uint64_t)a->rows * (uint64_t)a->cols;
        }
        assert_int_equal(elements, config_params(&p.config));
        assert_int_equal(p.block_bytes, params_bytes(&p.config, DTYPE_F32));
        assert_true((params_find(&p, "lm_head.weight") == NULL) == tied);
        assert_true((p.lm_head.data == p.wte.data) == tied);
        params_release(&table);
        params_release(&p);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct config c;
    struct params p;
    config_init(&c);
    c.n_layer = 1000000000;
    assert_int_equal(params_init(&p, &c, DTYPE_F16), ERR_RANGE);
    assert_int_equal(params_describe(&p, &c), ERR_RANGE);
    config_init(&c);
    c.n_layer = 4096;
    c.n_embd = 16384;
    c.n_head = 1;
    assert_int_equal(params_init(&p, &c, DTYPE_F16), ERR_NOMEM);
    assert_non_null(strstr(err_text(), "the weights need "));
    c = tiny_config();
    for (uint64_t k = 1; k <= 3; k++) {
        mem_fail_at(k);
        assert_int_equal(params_init(&p, &c, DTYPE_F16), ERR_NOMEM);
        mem_fail_at(0);
    }
    params_release(&p);
    params_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_filled_reads_back),
        cmocka_unit_test(a_changed_weight_changes_the_hash),
        cmocka_unit_test(values_that_are_no_numbers_are_counted),
        cmocka_unit_test(bad_halfs_are_counted),
        cmocka_unit_test(an_error_of_the_reader_comes_back),
        cmocka_unit_test(the_table_alone_has_the_same_names),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
