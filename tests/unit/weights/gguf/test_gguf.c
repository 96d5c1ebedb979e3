/* Good GGUF files: whatever the specification allows is read. */
#include "tests/lib/gguf_open.h"
#include "tests/lib/scratch.h"
#include "tests/lib/spell.h"

#include "model/base/mem.h"
#include "weights/gguf/gguf.h"
#include "weights/hf/vocab.h"

#include <limits.h>
#include <unistd.h>

static char *path;

static void open_values(struct gguf *g)
{
    spell_file(
        path,
        GGUF(0, 15) "\"u8 4:0 1:200 \"i8 4:1 1:-3 \"u16 4:2 1:0 1:128 \"i16 4:3 1:-2 1:-1 "
                    "\"u32 4:4 4:0xffffffff \"i32 4:5 4:-7 \"f32 4:6 f:1.5 \"bool 4:7 1:1 "
                    "\"s 4:8 \"text \"u64 4:10 8:2^62 \"i64 4:11 8:-9 \"f64 4:12 4:0 4:0xbff80000 "
                    "\"none 4:9 4:8 8:0 \"words 4:9 4:8 8:3 \"a 8:0 \"ccc "
                    "\"ints 4:9 4:5 8:2 4:-1 4:77");
    assert_ok(gguf_open(g, path));
    assert_int_equal(g->n_values, 15);
}

static void numbers_of_every_type_are_read(void **state)
{
    (void)state;
    struct gguf g;
    int64_t i;
    float f;
    bool b = false;
    const int64_t least = INT64_MIN, most = INT64_MAX;
    open_values(&g);
    const struct {
        const char *key;
        int64_t value;
    } whole[] = {{"u8", 200},
                 {"i8", -3},
                 {"u16", 32768},
                 {"i16", -2},
                 {"u32", 4294967295},
                 {"i32", -7},
                 {"u64", (int64_t)1 << 62},
                 {"i64", -9}};
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++) {
        assert_ok(gguf_int(&g, whole[k].key, true, least, most, &i));
        assert_true(i == whole[k].value);
    }
    assert_ok(gguf_float(&g, "f32", true, &f));
    assert_true(f == 1.5f);
    assert_ok(gguf_float(&g, "f64", true, &f));
    assert_true(f == -1.5f);
    assert_ok(gguf_bool(&g, "bool", &b));
    assert_true(b);
    gguf_close(&g);
}

static void texts_and_arrays_are_read(void **state)
{
    (void)state;
    struct gguf g;
    char *text;
    const char **words;
    const unsigned char *ints;
    int n;
    open_values(&g);
    assert_ok(gguf_text(&g, "s", true, &text));
    assert_string_equal(text, "text");
    mem_free(text);
    assert_ok(gguf_texts(&g, "words", &words, &n));
    assert_int_equal(n, 3);
    assert_string_equal(words[0], "a");
    assert_string_equal(words[1], "");
    assert_string_equal(words[2], "ccc");
    mem_free(words);
    assert_ok(gguf_texts(&g, "none", &words, &n));
    assert_int_equal(n, 0);
    mem_free(words);
    assert_ok(gguf_ints(&g, "ints", &ints, &n));
    assert_int_equal(n, 2);
    assert_memory_equal(ints, "\xff\xff\xff\xff\x4d\0\0\0", 8);
    gguf_close(&g);
}

static void what_is_not_there_leaves_the_answer_alone(void **state)
{
    (void)state;
    struct gguf g;
    int64_t i = 5;
    open_values(&g);
    assert_ok(gguf_int(&g, "absent", false, 0, 9, &i));
    assert_int_equal(i, 5);
    assert_int_equal(gguf_int(&g, "absent", true, 0, 9, &i), ERR_MISSING);
    assert_int_equal(gguf_int(&g, "u8", true, 0, 199, &i), ERR_RANGE);
    assert_string_equal(err_text(), "key u8 is 200, must be 0 to 199");
    gguf_close(&g);
}

/* Version 2, alignment 64, gaps, the order of data not that of the list, an empty
 * tensor, a single number, four dimensions, bytes after the last one. */
static void unusual_layouts_are_legal(void **state)
{
    (void)state;
    spell_file(path,
               "'GGUF 4:2 8:5 8:1 \"general.alignment 4:4 4:64 "
               "\"late 4:1 8:3 4:0 8:192 \"early 4:2 8:2 8:1 4:1 8:0 \"empty 4:2 8:0 8:7 4:30 8:64 "
               "\"number 4:0 4:0 8:64 \"deep 4:4 8:1 8:2 8:1 8:1 4:1 8:128 "
               "align 0*32 1:1 1:2 1:3 1:4 0*60 1:5 1:6 1:7 1:8 0*60 1:9 0*63 1:10 0*40");
    struct gguf g;
    assert_ok(gguf_open(&g, path));
    assert_int_equal(g.n_tensors, 5);
    const struct {
        const char *name;
        uint64_t bytes, dim1;
        int first;
    } tensors[] = {{"early", 4, 1, 1}, {"number", 4, 1, 5}, {"deep", 4, 2, 9}, {"late", 12, 1, 10}};
    for (size_t i = 0; i < 4; i++) {
        const struct gguf_tensor *t = gguf_find_tensor(&g, tensors[i].name);
        unsigned char byte;
        assert_non_null(t);
        assert_int_equal(t->bytes, tensors[i].bytes);
        assert_int_equal(t->dims[1], tensors[i].dim1);
        assert_ok(file_read_at(&g.file, &byte, t->at, 1));
        assert_int_equal(byte, tensors[i].first);
    }
    assert_int_equal(gguf_find_tensor(&g, "empty")->bytes, 0);
    assert_int_equal(gguf_find_tensor(&g, "empty")->format->dtype, DTYPE_BF16);
    assert_null(gguf_find_tensor(&g, "earl"));
    assert_null(gguf_find(&g, "general.alignment2"));
    gguf_close(&g);
}

static void a_vocabulary_alone_opens_where_no_weights_are_needed(void **state)
{
    (void)state;
    struct source s;
    spell_file(path,
               GGUF(0, 10) SHAPE(12, 8, 6, 2) TEXT("general.name", "words")
                   TEXT("tokenizer.ggml.model",
                        "gpt2") "\"tokenizer.ggml.tokens 4:9 4:8 8:4 \"a \"b \"<end> \"[PAD3] "
                                "\"tokenizer.ggml.token_type 4:9 4:5 8:4 4:1 4:1 4:3 4:5 " INT(
                                    "tokenizer.ggml.eos_token_id", 2));
    assert_ok(gguf_open_source(&s, path, false));
    assert_int_equal(s.table.n_tensors, 0);
    assert_int_equal(s.config.n_vocab, 4);
    assert_int_equal(s.config.n_inner, 24);
    assert_int_equal(s.config.eos_token_id, 2);
    assert_int_equal(s.config.bos_token_id, TOKEN_NONE);
    assert_string_equal(s.name, "words");
    assert_int_equal(tokenizer_size(s.tokenizer), 3);
    assert_true(tokenizer_is_special(s.tokenizer, 2));
    source_close(&s);
    assert_int_equal(gguf_open_source(&s, path, true), ERR_MISSING);
}

static void gpt2s_own_vocabulary_is_the_one_of_its_json(void **state)
{
    (void)state;
    const char *data = getenv("DATA");
    if (data == NULL || *data == '\0') {
        puts("# left out: the vocabulary of vocab-only.gguf against vocab.json");
        return;
    }
    char folder[PATH_MAX], file[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/tokenizer", data);
    snprintf(file, sizeof file, "%s/tokenizer/vocab-only.gguf", data);
    struct tokenizer *t;
    struct source s;
    assert_ok(vocab_open_folder(&t, folder, NULL, NULL));
    assert_ok(gguf_open_source(&s, file, false));
    assert_int_equal(tokenizer_size(s.tokenizer), 50257);
    assert_int_equal(tokenizer_size(t), 50257);
    for (int i = 0; i < 50257; i++) {
        assert_string_equal(tokenizer_text(s.tokenizer, i), tokenizer_text(t, i));
        assert_int_equal(tokenizer_is_special(s.tokenizer, i), tokenizer_is_special(t, i));
    }
    assert_int_equal(tokenizer_merges(s.tokenizer), 50000);
    assert_int_equal(tokenizer_merges(t), 50000);
    for (int i = 0; i < 50000; i++)
        assert_string_equal(tokenizer_merge(s.tokenizer, i), tokenizer_merge(t, i));
    assert_int_equal(tokenizer_eos(s.tokenizer), 50256);
    assert_string_equal(s.name, "gpt-2");
    assert_int_equal(s.config.n_layer, 12);
    tokenizer_free(t);
    source_close(&s);
    assert_int_equal(gguf_open_source(&s, file, true), ERR_MISSING);
}

int main(void)
{
    path = mem_strdup(scratch_path(scratch_of_process(), "good.gguf"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_every_type_are_read),
        cmocka_unit_test(texts_and_arrays_are_read),
        cmocka_unit_test(what_is_not_there_leaves_the_answer_alone),
        cmocka_unit_test(unusual_layouts_are_legal),
        cmocka_unit_test(a_vocabulary_alone_opens_where_no_weights_are_needed),
        cmocka_unit_test(gpt2s_own_vocabulary_is_the_one_of_its_json),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    mem_free(path);
    return rc;
}
