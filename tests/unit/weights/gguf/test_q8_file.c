/* Q8_0 in files and in memory: quantized once, its blocks stay what they are. */
#include "tests/lib/gguf_open.h"
#include "tests/lib/notes.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "model/base/par.h"
#include "model/kernels/q8.h"
#include "model/schema.h"
#include "train/step/weights_init.h"
#include "weights/load.h"
#include "weights/model_source.h"
#include "weights/open.h"
#include "weights/save.h"
#include "weights/tensors/half_exact.h"

static const char even[] = "random:gpt2,n_layer=2,n_head=3,n_embd=96,n_inner=160,n_positions=64,"
                           "vocab_size=300";
static const char uneven[] = "random:gpt2,n_layer=2,n_head=3,n_embd=96,n_inner=70,n_positions=64,"
                             "vocab_size=300,tie_word_embeddings=off";
static const char narrow[] = "random:gpt2,n_layer=2,n_head=3,n_embd=36,n_positions=64,"
                             "vocab_size=300";
static const struct save_config as_q8 = {.convert = true, .dtype = DTYPE_Q8, .force = true};
static const struct save_config as_it_is = {.force = true};

static struct model *load(const char *path, enum dtype dtype, struct notes *notes)
{
    struct model *m;
    const struct progress p = {.note = notes_take, .user = notes};
    assert_ok(
        model_load(&m, path, &(struct load_config){.dtype = dtype}, notes == NULL ? NULL : &p));
    return m;
}

static void expect_same_weights(const struct model *a, const struct model *b)
{
    unsigned char one[32], two[32];
    params_hash(&a->params, one);
    params_hash(&b->params, two);
    assert_memory_equal(one, two, sizeof one);
}

static void expect_same_files(const char *a, const char *b)
{
    struct buf one = {0}, two = {0};
    assert_ok(file_read_all(&one, a, 1 << 24));
    assert_ok(file_read_all(&two, b, 1 << 24));
    assert_int_equal(one.n, two.n);
    assert_memory_equal(one.data, two.data, one.n);
    buf_release(&one);
    buf_release(&two);
}

/* x [out,in] = a matrix of a source, whose Conv1D are [in,out]. */
static float *read_turned(const struct source *s, int i)
{
    const struct param_tensor *t = &s->table.tensors[i];
    const size_t rows = (size_t)t->rows, cols = (size_t)t->cols;
    float *x = mem_array(rows * cols, sizeof *x), *turned = mem_array(rows * cols, sizeof *x);
    assert_ok(s->readers[i].read(s->readers[i].user, x, 0, rows * cols));
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            turned[t->kind == PARAM_CONV1D ? c * rows + r : r * cols + c] = x[r * cols + c];
    mem_free(x);
    return turned;
}

/* Each block in the file is that of 32 numbers of the source. */
static void a_file_has_the_blocks_of_its_source(void **state)
{
    (void)state;
    struct source from, to;
    const char *path = scratch_path(scratch_of_process(), "blocks.gguf");
    assert_ok(weights_convert(even, path, 0, &as_q8, NULL));
    assert_ok(source_open(&from, even, 0, true, NULL));
    assert_ok(gguf_open_source(&to, path, true));
    assert_true(source_is_q8(&to) && !source_is_q8(&from));
    for (int i = 0; i < to.table.n_tensors; i++) {
        const struct param_tensor *t = &to.table.tensors[i];
        const size_t n = (size_t)t->rows * (size_t)t->cols;
        const bool matrix = t->kind == PARAM_CONV1D || t->kind == PARAM_EMBEDDING;
        assert_int_equal(to.readers[i].read_q8 != NULL, matrix);
        if (!matrix)
            continue;
        assert_string_equal(to.readers[i].stored, "Q8_0");
        float *x = read_turned(&from, i), *back = mem_array(n, sizeof *back), want[32];
        struct q8_block *blocks = mem_array(n / 32, sizeof *blocks), block;
        assert_ok(to.readers[i].read_q8(to.readers[i].user, blocks, 0, 5));
        assert_ok(to.readers[i].read_q8(to.readers[i].user, blocks + 5, 5, n / 32 - 5));
        assert_ok(to.readers[i].read(to.readers[i].user, back, 0, n));
        for (size_t b = 0; b < n / 32; b++) {
            q8_quantize(&block, x + 32 * b);
            assert_memory_equal(&block, &blocks[b], sizeof block);
            q8_dequantize(want, &block);
            assert_memory_equal(back + 32 * b, want, sizeof want);
        }
        mem_free(x);
        mem_free(back);
        mem_free(blocks);
    }
    source_close(&from);
    source_close(&to);
}

static void a_round_trip_keeps_the_bits(void **state)
{
    (void)state;
    const struct scratch *s = scratch_of_process();
    const char *const names[] = {even, uneven};
    for (int i = 0; i < 2; i++) {
        struct notes notes = {0};
        assert_ok(weights_convert(names[i], scratch_path(s, "a.gguf"), 0, &as_q8, NULL));
        struct model *direct = load(names[i], DTYPE_Q8, NULL);
        struct model *m = load(scratch_path(s, "a.gguf"), LOAD_DTYPE_AUTO, NULL);
        assert_int_equal(m->params.dtype, DTYPE_Q8);
        assert_string_equal(model_precision(m), "q8");
        assert_string_equal(m->file_types, i == 0 ? "Q8_0" : "Q8_0 and F16");
        expect_same_weights(m, direct);

        /* From the file, from memory, and quantized once more: the same file. */
        const struct progress p = {.note = notes_take, .user = &notes};
        assert_ok(model_save(m, scratch_path(s, "b.gguf"), &as_it_is, &p));
        expect_same_files(scratch_path(s, "a.gguf"), scratch_path(s, "b.gguf"));
        assert_int_equal(notes.n, 0);
        m->narrower = true; /* saved from memory */
        assert_ok(model_save(m, scratch_path(s, "b.gguf"), &as_it_is, &p));
        expect_same_files(scratch_path(s, "a.gguf"), scratch_path(s, "b.gguf"));
        assert_string_equal(m->file_types, i == 0 ? "Q8_0" : "Q8_0 and F16");
        assert_ok(
            weights_convert(scratch_path(s, "a.gguf"), scratch_path(s, "b.gguf"), 0, &as_q8, NULL));
        expect_same_files(scratch_path(s, "a.gguf"), scratch_path(s, "b.gguf"));

        /* A folder holds the same numbers as F32, and quantizes to the same blocks. */
        const int before = notes.n;
        assert_ok(
            weights_convert(scratch_path(s, "a.gguf"), scratch_path(s, "hf"), 0, &as_it_is, &p));
        assert_int_equal(notes.n, before + 1);
        assert_non_null(strstr(notes.last, "quantized weights (Q8_0) are written as F32"));
        struct model *back = load(scratch_path(s, "hf"), DTYPE_Q8, NULL);
        expect_same_weights(back, m);
        model_free(back);
        model_free(m);
        model_free(direct);
    }
}

/* auto keeps Q8_0 alone; another precision is had by name. */
static void auto_is_fp16_but_for_q8(void **state)
{
    (void)state;
    const struct scratch *s = scratch_of_process();
    const struct save_config fp16 = {.convert = true, .dtype = DTYPE_F16, .force = true};
    assert_ok(weights_convert(even, scratch_path(s, "q8.gguf"), 0, &as_q8, NULL));
    assert_ok(weights_convert(even, scratch_path(s, "f16.gguf"), 0, &fp16, NULL));
    const char *const q8 = scratch_path(s, "q8.gguf"), *const f16 = scratch_path(s, "f16.gguf");
    const struct {
        const char *path;
        enum dtype asked, got;
    } cases[] = {{q8, LOAD_DTYPE_AUTO, DTYPE_Q8},
                 {q8, DTYPE_F16, DTYPE_F16},
                 {q8, DTYPE_F32, DTYPE_F32},
                 {f16, LOAD_DTYPE_AUTO, DTYPE_F16},
                 {f16, DTYPE_Q8, DTYPE_Q8},
                 {even, LOAD_DTYPE_AUTO, DTYPE_F16},
                 {"tests/golden/blocks/mixed.gguf", LOAD_DTYPE_AUTO, DTYPE_F16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model *m = load(cases[i].path, cases[i].asked, NULL);
        assert_int_equal(m->params.dtype, cases[i].got);
        model_free(m);
    }
}

static void what_q8_cannot_hold_stays_fp16_and_is_said(void **state)
{
    (void)state;
    const struct scratch *s = scratch_of_process();
    const char *path = scratch_path(s, "uneven.gguf");
    struct notes notes = {0};
    const struct progress p = {.note = notes_take, .user = &notes};
    assert_ok(weights_convert(uneven, path, 0, &as_q8, &p));
    assert_string_equal(notes.first,
                        "2 matrices are written as F16, the first blk.0.ffn_down.weight: "
                        "Q8_0 needs a multiple of 32 inputs");
    notes = (struct notes){0};
    model_free(load(path, LOAD_DTYPE_AUTO, &notes));
    assert_string_equal(notes.first, "2 of 10 matrices stay fp16, the first h.0.mlp.c_proj.weight: "
                                     "its 70 inputs are not a multiple of q8's 32");
    notes = (struct notes){0};
    assert_ok(weights_convert(narrow, path, 0, &as_q8, &p));
    struct model *m = load(path, LOAD_DTYPE_AUTO, NULL);
    assert_int_equal(m->params.dtype, DTYPE_F16);
    assert_string_equal(m->file_types, "F16");
    model_free(m);
}

static void only_gguf_files_are_written_in_q8(void **state)
{
    (void)state;
    const struct scratch *s = scratch_of_process();
    const char *path = scratch_path(s, "folder");
    assert_fails(weights_convert(even, path, 0, &as_q8, NULL), ERR_RANGE,
                 "q8 is written to GGUF files only; name a file that ends in .gguf, or choose "
                 "another dtype");
    assert_false(file_exists(path));
    struct model *m = load(even, DTYPE_Q8, NULL);
    assert_fails(model_save(m, path, &as_q8, NULL), ERR_RANGE, "q8 is written to GGUF files only");
    assert_false(file_exists(path));
    model_free(m);
}

/* Blocks that no quantization makes, as they are: small numbers, -128, any scale. */
static void blocks_of_others_are_kept(void **state)
{
    (void)state;
    const struct scratch *s = scratch_of_process();
    const char *path = scratch_path(s, "others.gguf");
    assert_ok(weights_convert(even, path, 0, &as_q8, NULL));
    struct source source;
    struct buf whole = {0};
    struct q8_block first, *block, got[3 * 96 / 32];
    assert_ok(gguf_open_source(&source, path, true));
    const int at =
        (int)(params_find(&source.table, "h.1.attn.c_attn.weight") - source.table.tensors);
    assert_ok(source.readers[at].read_q8(source.readers[at].user, &first, 0, 1));
    source_close(&source);
    assert_ok(file_read_all(&whole, path, 1 << 24));
    block = memmem(whole.data, whole.n, &first, sizeof first);
    assert_non_null(block);
    block->d = 0x3456;
    memset(block->q, -128, 8);
    memset(block->q + 8, 1, 24);
    first = *block;
    scratch_write(s, "others.gguf", whole.data, whole.n);
    struct model *m = load(path, LOAD_DTYPE_AUTO, NULL);
    assert_true(linear_element(&m->params.layers[1].c_attn, 3, 0) == half_to_f32(0x3456) * -128.0f);
    m->narrower = true; /* saved from memory */
    assert_ok(model_save(m, scratch_path(s, "again.gguf"), &as_it_is, NULL));
    expect_same_files(path, scratch_path(s, "again.gguf"));
    linear_read_q8(&m->params.layers[1].c_attn, 0, 0, 3, got);
    assert_memory_equal(&got[0], &first, sizeof first);
    buf_release(&whole);
    model_free(m);
}

/* Training starts from the file's own numbers, and what it publishes is quantized as a file is. */
static void training_has_the_files_precision(void **state)
{
    (void)state;
    const struct scratch *s = scratch_of_process();
    const char *folder = scratch_path(s, "trained");
    assert_ok(weights_convert(even, folder, 0, &as_it_is, NULL));
    struct model *q8 = load(folder, DTYPE_Q8, NULL), *full = load(folder, DTYPE_F32, NULL);
    for (int kind = DTYPE_F32; kind <= DTYPE_F16; kind++) {
        struct weights w, want;
        assert_ok(weights_init(&w, q8, NULL, (enum dtype)kind, NULL));
        assert_ok(weights_init(&want, full, NULL, (enum dtype)kind, NULL));
        assert_int_equal(w.n, want.n);
        assert_memory_equal(w.view.block, want.view.block, w.view.block_bytes);
        weights_release(&want);
        if (kind == DTYPE_F32)
            for (size_t i = 0; i < w.n; i++)
                w.data[i] *= 1.0625f;
        for (int threads = 1; threads <= 3; threads++) {
            assert_ok(par_open(threads, false));
            weights_publish(&w, q8);
            struct source own;
            assert_ok(source_open_params(&own, &w.view, q8));
            const char *path = scratch_path(s, "published.gguf");
            assert_ok(source_save(&own, path, &as_q8, NULL));
            source_close(&own);
            struct model *saved = load(path, LOAD_DTYPE_AUTO, NULL);
            expect_same_weights(saved, q8);
            model_free(saved);
        }
        par_close();
        weights_release(&w);
        q8->changed = false;
    }
    model_free(q8);
    model_free(full);
}

/* Whatever allocation fails, nothing is left behind. */
static void no_memory_leaves_nothing(void **state)
{
    (void)state;
    const struct scratch *s = scratch_of_process();
    const char *path = scratch_path(s, "memory.gguf");
    struct model *m = load(even, DTYPE_Q8, NULL);
    m->narrower = true; /* saved from memory */
    int k = 1, rc = -1;
    for (; rc != 0; k++) {
        mem_fail_at((uint64_t)k);
        rc = model_save(m, path, &as_it_is, NULL);
        mem_fail_at(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        assert_int_equal(file_exists(path), rc == 0);
    }
    assert_true(k > 5);
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_the_blocks_of_its_source),
        cmocka_unit_test(a_round_trip_keeps_the_bits),
        cmocka_unit_test(auto_is_fp16_but_for_q8),
        cmocka_unit_test(what_q8_cannot_hold_stays_fp16_and_is_said),
        cmocka_unit_test(only_gguf_files_are_written_in_q8),
        cmocka_unit_test(blocks_of_others_are_kept),
        cmocka_unit_test(training_has_the_files_precision),
        cmocka_unit_test(no_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
