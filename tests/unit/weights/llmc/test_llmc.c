/* llm.c's files: what is written is what its own programs write, and what is wrong is said. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "weights/llmc/llmc.h"
#include "weights/load.h"
#include "weights/open.h"
#include "weights/save.h"

#include <unistd.h>

#define GOLDEN(version) "tests/golden/foreign/llmc-" version "/model.bin"

static void assert_same_file(const char *a, const char *b)
{
    struct buf x = {0}, y = {0};
    assert_ok(file_read_all(&x, a, UINT64_MAX));
    assert_ok(file_read_all(&y, b, UINT64_MAX));
    assert_int_equal(x.n, y.n);
    assert_memory_equal(x.data, y.data, x.n);
    buf_release(&x);
    buf_release(&y);
}

/* To a folder or GGUF and back, and from memory: bit for bit llm.c's own file. */
static void round_trips_are_bit_for_bit(void **state)
{
    (void)state;
    static const char *const files[] = {GOLDEN("3"), GOLDEN("5")}, *const between[] = {"x",
                                                                                       "x.gguf"};
    struct save_config how = {.force = true};
    struct scratch s;
    scratch_open(&s);
    for (int i = 0; i < 4; i++) {
        const char *middle = scratch_path(&s, between[i / 2]);
        assert_ok(weights_convert(files[i % 2], middle, 0, &how, NULL));
        assert_ok(weights_convert(middle, scratch_path(&s, "back.bin"), 0, &how, NULL));
        assert_same_file(scratch_path(&s, "back.bin"), files[i % 2]);
    }
    struct load_config load = {.dtype = DTYPE_F32};
    struct model *m = NULL;
    assert_ok(model_load(&m, GOLDEN("3"), &load, NULL));
    assert_string_equal(m->name, "model");
    m->changed = true;
    assert_ok(model_save(m, scratch_path(&s, "memory.bin"), &how, NULL));
    assert_false(m->changed);
    assert_same_file(scratch_path(&s, "memory.bin"), GOLDEN("3"));
    model_free(m);
    scratch_close(&s);
}

/* The old version is written in today's, and the type is the one asked for. */
static void types_and_versions(void **state)
{
    (void)state;
    struct scratch s;
    struct llmc h;
    struct file f;
    scratch_open(&s);
    static const struct {
        const char *from;
        struct save_config how;
        int version;
    } rows[] = {{GOLDEN("1"), {0}, 3},
                {GOLDEN("3"), {.convert = true, .dtype = DTYPE_BF16}, 5},
                {GOLDEN("5"), {.convert = true, .dtype = DTYPE_F32}, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[16];
        snprintf(name, sizeof name, "%zu.bin", i);
        assert_ok(weights_convert(rows[i].from, scratch_path(&s, name), 0, &rows[i].how, NULL));
        assert_ok(file_open(&f, scratch_path(&s, name)));
        assert_ok(llmc_read(&h, &f));
        file_close(&f);
        assert_int_equal(h.version, rows[i].version);
        assert_int_equal(h.padded, 128);
        assert_int_equal(h.config.n_vocab, 37);
    }
    struct save_config half = {.convert = true, .dtype = DTYPE_F16};
    assert_fails(weights_convert(GOLDEN("3"), scratch_path(&s, "half.bin"), 0, &half, NULL),
                 ERR_UNSUPPORTED, "llm.c has no fp16 files: --dtype fp32 or bf16");
    assert_false(file_exists(scratch_path(&s, "half.bin")));
    scratch_close(&s);
}

static void what_llmc_cannot_compute_is_not_written(void **state)
{
    (void)state;
    static const struct {
        const char *model, *what;
    } rows[] = {
        {"tests/golden/tiny-neo-narrow", "another model than GPT-2"},
        {"tests/golden/tiny-erf", "an untied head"},
        {"tests/golden/tiny-relu", "another activation than tanh GELU"},
        {"tests/golden/tiny-half", "a feed-forward width other than 4 n_embd"},
        {"tests/golden/tiny-plain", "an untied head"},
    };
    struct scratch s;
    struct save_config how = {0};
    scratch_open(&s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char sentence[160];
        snprintf(sentence, sizeof sentence, "llm.c cannot compute %s: name a folder%s",
                 rows[i].what, i == 0 ? "" : " or a file that ends in .gguf");
        assert_fails(weights_convert(rows[i].model, scratch_path(&s, "x.bin"), 0, &how, NULL),
                     ERR_UNSUPPORTED, sentence);
        assert_false(file_exists(scratch_path(&s, "x.bin")));
    }
    /* A name that Hugging Face gives a meaning is none of llm.c's. */
    assert_fails(weights_convert(GOLDEN("3"), scratch_path(&s, "pytorch_model.bin"), 0, &how, NULL),
                 ERR_RANGE, "name a folder");
    scratch_write(&s, "there.bin", "x", 1);
    assert_fails(weights_convert(GOLDEN("3"), scratch_path(&s, "there.bin"), 0, &how, NULL),
                 ERR_EXISTS, "exists already");
    scratch_close(&s);
}

/* ---- hostile files ---- */

static void open_fails(const struct scratch *s, const struct buf *b, size_t n, const char *sentence)
{
    struct source source;
    char full[300];
    scratch_write(s, "model.bin", b->data, n);
    snprintf(full, sizeof full, "cannot load DIR/model.bin: %s", sentence);
    assert_int_not_equal(source_open(&source, scratch_path(s, "model.bin"), 0, true, NULL), 0);
    assert_string_equal(scratch_sentence(s, err_text()), full);
}

static void set_header(struct buf *b, int at, int32_t value)
{
    memcpy(b->data + 4 * at, &value, sizeof value);
}

static void wrong_headers_are_refused(void **state)
{
    (void)state;
    static const struct {
        int at;
        int32_t value;
        const char *sentence;
    } rows[] = {
        {0, 20240520, "it is not a model but token data of llm.c, which :train reads"},
        {0, 20240328, "it is not a model but llm.c's tokenizer"},
        {0, 20240527,
         "it is not a model but llm.c's optimizer state; the model is in the file that begins with "
         "model_"},
        {1, 2, "it has version 2 of llm.c's format; 1 and 3 (fp32) and 5 (bf16) are read"},
        {1, -1, "it has version -1 of llm.c's format; 1 and 3 (fp32) and 5 (bf16) are read"},
        {1, 5, "the file has 23296 bytes, its header says 12160"},
        {2, 0, "n_positions is 0, must be 1 to 16777216"},
        {2, 21, "the file has 23296 bytes, its header says 23344"},
        {3, -1, "vocab_size is -1, must be 1 to 16777216"},
        {3, 129, "the padded vocabulary is 128, must be 129 to 16777216"},
        {4, INT32_MAX, "n_layer is 2147483647, must be 1 to 4096"},
        {5, 5, "n_head 5 does not divide n_embd 12"},
        {5, 0, "n_head is 0, must be 1 to 12"},
        {6, 1 << 30, "n_embd is 1073741824, must be 1 to 131072"},
        {7, INT32_MAX, "the padded vocabulary is 2147483647, must be 37 to 16777216"},
        {7, 36, "the padded vocabulary is 36, must be 37 to 16777216"},
        {7, 129, "the file has 23296 bytes, its header says 23344"},
    };
    struct scratch s;
    struct buf b = {0};
    scratch_open(&s);
    assert_ok(file_read_all(&b, GOLDEN("3"), UINT64_MAX));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t before;
        memcpy(&before, b.data + 4 * rows[i].at, sizeof before);
        set_header(&b, rows[i].at, rows[i].value);
        open_fails(&s, &b, b.n, rows[i].sentence);
        set_header(&b, rows[i].at, before);
    }
    open_fails(&s, &b, 4, "the file has 4 bytes, llm.c's header has 1024");
    open_fails(&s, &b, 1023, "the file has 1023 bytes, llm.c's header has 1024");
    open_fails(&s, &b, b.n - 1, "the file has 23295 bytes, its header says 23296");
    assert_ok(buf_char(&b, 0));
    open_fails(&s, &b, b.n, "the file has 23297 bytes, its header says 23296");
    buf_release(&b);
    scratch_close(&s);
}

static void no_memory_leaks_nothing(void **state)
{
    (void)state;
    for (int k = 1, rc = ERR_NOMEM; rc != 0; k++) {
        struct source s;
        mem_fail_at((uint64_t)k);
        rc = source_open(&s, GOLDEN("3"), 0, true, NULL);
        mem_fail_at(0);
        if (rc == 0)
            source_close(&s);
        else
            assert_int_equal(rc, ERR_NOMEM);
    }
}

/* A folder of llm.c's has no name of its own for its model. */
static void folders_have_a_model(void **state)
{
    (void)state;
    static const struct {
        const char *adds, *opens; /* opens NULL: several */
    } rows[] = {{"gpt2_124M.bin", "gpt2_124M"},
                {"model_00000500.bin", NULL},
                {"model_00010000.bin", "model_00010000"},
                {"model_00002000.bin", "model_00010000"}};
    struct scratch s;
    struct source source;
    struct buf bytes = {0};
    scratch_open(&s);
    assert_ok(file_read_all(&bytes, GOLDEN("3"), UINT64_MAX));
    scratch_write(&s, "state_00000500_0.bin", "\217\330\064\001", 4);
    scratch_write(&s, "short.bin", "x", 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scratch_write(&s, rows[i].adds, bytes.data, bytes.n);
        if (rows[i].opens == NULL) {
            assert_fails(source_open(&source, s.folder, 0, true, NULL), ERR_UNSUPPORTED,
                         " has 2 models of llm.c, from gpt2_124M.bin to model_00000500.bin: name "
                         "the file");
            assert_ok(unlink(scratch_path(&s, "gpt2_124M.bin")));
            continue;
        }
        assert_ok(source_open(&source, s.folder, 0, true, NULL));
        assert_string_equal(source.name, rows[i].opens);
        source_close(&source);
    }
    buf_release(&bytes);
    scratch_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips_are_bit_for_bit),
        cmocka_unit_test(types_and_versions),
        cmocka_unit_test(what_llmc_cannot_compute_is_not_written),
        cmocka_unit_test(wrong_headers_are_refused),
        cmocka_unit_test(folders_have_a_model),
        cmocka_unit_test(no_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
