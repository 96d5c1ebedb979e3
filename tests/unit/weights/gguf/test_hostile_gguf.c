/* One bad GGUF file a line, and the whole sentence it must give. */
#include "tests/lib/gguf_open.h"
#include "tests/lib/scratch.h"
#include "tests/lib/spell.h"

#include "model/base/mem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ "F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K and IQ4_NL"

static const struct {
    const char *what, *file;
    int code;
    const char *sentence; /* behind "cannot load PATH: " */
} table[] = {
    {"empty", "", ERR_FORMAT, "magic number at byte 0 needs 4 bytes, the file has 0 more"},
    {"7 bytes", "'GGUF 0*3", ERR_FORMAT, "version at byte 4 needs 4 bytes, the file has 3 more"},
    {"8 bytes", "'GGUF 4:3", ERR_FORMAT,
     "number of tensors at byte 8 needs 8 bytes, the file has 0 more"},
    {"another magic", "'GGML 4:3 8:0 8:0", ERR_FORMAT,
     "begins with bytes 47 47 4d 4c, a GGUF file with GGUF"},
    {"version 0", "'GGUF 4:0 8:0 8:0", ERR_UNSUPPORTED, "GGUF version 0, only 2 and 3 are read"},
    {"version 1", "'GGUF 4:1 4:0 4:0", ERR_UNSUPPORTED, "GGUF version 1, only 2 and 3 are read"},
    {"version 99", "'GGUF 4:99 8:0 8:0", ERR_UNSUPPORTED, "GGUF version 99, only 2 and 3 are read"},
    {"big-endian", "'GGUF 4:0x03000000 8:0 8:0", ERR_UNSUPPORTED,
     "a big-endian GGUF file (version 3), only little-endian ones are read"},
    {"2^63 keys", "'GGUF 4:3 8:0 8:2^63", ERR_FORMAT,
     "says it has 9223372036854775808 keys, its 24 bytes have room for 0"},
    {"2^63 tensors", "'GGUF 4:3 8:2^63 8:0", ERR_FORMAT,
     "says it has 9223372036854775808 tensors, its 24 bytes have room for 0"},
    {"one key more than fit", GGUF(0, 2) "0*25", ERR_FORMAT,
     "says it has 2 keys, its 49 bytes have room for 1"},
    {"no keys", GGUF(0, 0), ERR_MISSING, "key general.architecture is missing"},
    {"a key beyond the file", GGUF(0, 1) "8:2^40 0*20", ERR_FORMAT,
     "key at byte 32 needs 1099511627776 bytes, the file has 20 more"},
    {"a key of 2^64-1 bytes", GGUF(0, 1) "8:-1 0*20", ERR_FORMAT,
     "key at byte 32 needs 18446744073709551615 bytes, the file has 20 more"},
    {"a key with a NUL", GGUF(0, 1) "8:3 'a 1:0 'b 4:4 4:1", ERR_FORMAT,
     "key at byte 32 contains a NUL byte"},
    {"a string beyond the file", GGUF(0, 1) "\"x 4:8 8:99 'abc", ERR_FORMAT,
     "key x: string at byte 45 needs 99 bytes, the file has 3 more"},
    {"a value type 13", GGUF(0, 1) "\"x 4:13 8:0", ERR_FORMAT, "key x: type 13, expected 0 to 12"},
    {"a value cut short", GGUF(0, 1) "\"xyz 4:10 4:0", ERR_FORMAT,
     "key xyz: value at byte 39 needs 8 bytes, the file has 4 more"},
    {"an array of arrays", GGUF(0, 1) "\"x 4:9 4:9 8:1 0*20", ERR_FORMAT,
     "key x: an array of type 9, expected 0 to 12 without 9"},
    {"an array of unknown type", GGUF(0, 1) "\"x 4:9 4:77 8:1 0*20", ERR_FORMAT,
     "key x: an array of type 77, expected 0 to 12 without 9"},
    {"an array of 2^62 numbers", GGUF(0, 1) "\"x 4:9 4:4 8:2^62 0*20", ERR_FORMAT,
     "key x: an array of 4611686018427387904 elements at byte 49, the file has 20 more bytes"},
    {"an array of 2^61 strings", GGUF(0, 1) "\"x 4:9 4:8 8:2^61 0*20", ERR_FORMAT,
     "key x: an array of 2305843009213693952 elements at byte 49, the file has 20 more bytes"},
    {"an array's string beyond the file", GGUF(0, 1) "\"x 4:9 4:8 8:2 \"a 8:50 'b", ERR_FORMAT,
     "key x: string at byte 66 needs 50 bytes, the file has 1 more"},
    {"a key twice", GGUF(0, 3) ARCH INT("x", 1) INT("x", 1), ERR_FORMAT, "key x: occurs twice"},
    {"an escape in a key", GGUF(0, 1) "\"\33[2J 4:13 0*8", ERR_FORMAT,
     "key \\x1b[2J: type 13, expected 0 to 12"},

    {"alignment 0", GGUF(0, 2) ARCH INT("general.alignment", 0), ERR_FORMAT,
     "general.alignment is 0, must be a power of two from 8 to 65536"},
    {"alignment 3", GGUF(0, 2) ARCH INT("general.alignment", 3), ERR_FORMAT,
     "general.alignment is 3, must be a power of two from 8 to 65536"},
    {"alignment 2^31", GGUF(0, 2) ARCH INT("general.alignment", 0x80000000), ERR_FORMAT,
     "general.alignment is 2147483648, must be a power of two from 8 to 65536"},
    {"an alignment in words", GGUF(0, 2) ARCH TEXT("general.alignment", "many"), ERR_RANGE,
     "key general.alignment is a string, expected an integer"},

    {"5 dimensions", GGUF(1, 1) ARCH "\"t 4:5 8:1 8:1 8:1 8:1 8:1 4:0 8:0", ERR_FORMAT,
     "tensor t: 5 dimensions, at most 4 are allowed"},
    {"a dimension of 2^42+1", GGUF(1, 1) ARCH "\"t 4:1 8:2^42+1 4:0 8:0 align", ERR_FORMAT,
     "tensor t: 17592186044420 bytes at offset 0, the data section has 0"},
    {"dimensions that wrap", GGUF(1, 1) ARCH "\"t 4:2 8:2^42+1 8:2^22 4:0 8:0 align 0*64",
     ERR_FORMAT, "tensor t: shape [4398046511105,4194304,1,1] has more bytes than a file can hold"},
    {"bytes that wrap", GGUF(1, 1) ARCH "\"t 4:1 8:2^62 4:0 8:0 align 0*64", ERR_FORMAT,
     "tensor t: shape [4611686018427387904,1,1,1] has more bytes than a file can hold"},
    {"bytes that would wrap when padded",
     GGUF(2, 1) ARCH "\"t 4:1 8:0x3fffffffffffffff 4:0 8:0 \"u 4:1 8:1 4:0 8:0 align 0*64",
     ERR_FORMAT, "tensor t: 18446744073709551612 bytes at offset 0, the data section has 64"},
    {"an offset past the end", GGUF(1, 1) ARCH VECTOR("t", 1, 0x1000000000000000) "align 0*64",
     ERR_FORMAT, "tensor t: 4 bytes at offset 1152921504606846976, the data section has 64"},
    {"an offset of 2^64-32", GGUF(1, 1) ARCH "\"t 4:1 8:16 4:0 8:-32 align 0*64", ERR_FORMAT,
     "tensor t: 64 bytes at offset 18446744073709551584, the data section has 64"},
    {"an offset of 12", GGUF(1, 1) ARCH VECTOR("t", 1, 12) "align 0*64", ERR_FORMAT,
     "tensor t: offset 12 is not a multiple of the alignment, 32"},
    {"a truncated tensor", GGUF(1, 1) ARCH VECTOR("t", 16, 0) "align 0*63", ERR_FORMAT,
     "tensor t: 64 bytes at offset 0, the data section has 63"},
    {"overlapping tensors", GGUF(2, 1) ARCH VECTOR("t", 9, 0) VECTOR("u", 1, 32) "align 0*64",
     ERR_FORMAT, "tensor u: overlaps tensor t"},
    {"a tensor twice", GGUF(2, 1) ARCH VECTOR("t", 1, 0) VECTOR("t", 1, 32) "align 0*64",
     ERR_FORMAT, "tensor t: occurs twice"},
    {"Q8_K", GGUF(1, 1) ARCH "\"token_embd.weight 4:2 8:256 8:1 4:15 8:0 align 0*292",
     ERR_UNSUPPORTED, "tensor token_embd.weight: type Q8_K is not read; " READ " are"},
    {"a withdrawn tensor type", GGUF(1, 1) ARCH "\"t 4:1 8:32 4:4 8:0 align 0*576", ERR_UNSUPPORTED,
     "tensor t: type Q4_2 is not read; " READ " are"},
    {"a tensor type of a later time", GGUF(1, 1) ARCH "\"t 4:1 8:32 4:41 8:0 align 0*576",
     ERR_FORMAT, "tensor t: unknown type 41; " READ " are read"},
    {"an unknown tensor type", GGUF(1, 1) ARCH "\"t 4:1 8:32 4:2^31 8:0 align 0*576", ERR_FORMAT,
     "tensor t: unknown type 2147483648; " READ " are read"},
    {"a row that ends within a block", GGUF(1, 1) ARCH "\"t 4:2 8:48 8:32 4:2 8:0 align 0*864",
     ERR_FORMAT, "tensor t: rows of 48 elements, Q4_0 needs a multiple of 32"},
    {"rows that fill blocks together", GGUF(1, 1) ARCH "\"t 4:2 8:128 8:2 4:14 8:0 align 0*210",
     ERR_FORMAT, "tensor t: rows of 128 elements, Q6_K needs a multiple of 256"},
    {"a quantized number", GGUF(1, 1) ARCH "\"t 4:0 4:8 8:0 align 0*64", ERR_FORMAT,
     "tensor t: rows of 1 element, Q8_0 needs a multiple of 32"},
    {"blocks cut short", GGUF(1, 1) ARCH "\"t 4:2 8:32 8:32 4:2 8:0 align 0*575", ERR_FORMAT,
     "tensor t: 576 bytes at offset 0, the data section has 575"},
    {"blocks that overlap",
     GGUF(2, 1) ARCH "\"t 4:1 8:256 4:12 8:0 \"u 4:1 8:32 4:8 8:128 align 0*192", ERR_FORMAT,
     "tensor u: overlaps tensor t"},
    {"blocks whose bytes wrap", GGUF(1, 1) ARCH "\"t 4:1 8:-32 4:8 8:0 align 0*64", ERR_FORMAT,
     "tensor t: shape [18446744073709551584,1,1,1] has more bytes than a file can hold"},
    {"blocks of dimensions that wrap", GGUF(1, 1) ARCH "\"t 4:2 8:2^42 8:2^22 4:2 8:0 align 0*64",
     ERR_FORMAT, "tensor t: shape [4398046511104,4194304,1,1] has more bytes than a file can hold"},
    {"a tensor list cut short", GGUF(1, 1) ARCH "\"tensor 4:2 8:32 4:7", ERR_FORMAT,
     "tensor tensor: dimension at byte 94 needs 8 bytes, the file has 4 more"},

    {"another architecture", GGUF(0, 1) TEXT("general.architecture", "llama"), ERR_UNSUPPORTED,
     "key general.architecture is llama, only gpt2 is read"},
    {"an architecture that is a number", GGUF(0, 1) INT("general.architecture", 2), ERR_RANGE,
     "key general.architecture is a 32-bit unsigned integer, expected a string"},
    {"no block count", GGUF(0, 1) ARCH, ERR_MISSING, "key gpt2.block_count is missing"},
    {"a block count in words", GGUF(0, 2) ARCH TEXT("gpt2.block_count", "two"), ERR_RANGE,
     "key gpt2.block_count is a string, expected an integer"},
    {"a block count that is a float", GGUF(0, 2) ARCH "\"gpt2.block_count 4:6 f:2", ERR_RANGE,
     "key gpt2.block_count is a 32-bit float, expected an integer"},
    {"a negative block count", GGUF(0, 2) ARCH "\"gpt2.block_count 4:5 4:-2", ERR_RANGE,
     "key gpt2.block_count is -2, must be 1 to 2147483647"},
    {"0 blocks", GGUF(0, 2) ARCH INT("gpt2.block_count", 0), ERR_RANGE,
     "key gpt2.block_count is 0, must be 1 to 2147483647"},
    {"10^9 blocks", GGUF(0, 7) SHAPE(1000000000, 4, 4, 1) AB, ERR_RANGE,
     "n_layer is 1000000000, must be 1 to 4096"},
    {"a block count of 2^64-1", GGUF(0, 2) ARCH "\"gpt2.block_count 4:10 8:-1", ERR_RANGE,
     "key gpt2.block_count is 9223372036854775807, must be 1 to 2147483647"},
    {"context 0", GGUF(0, 5) SHAPE(1, 0, 4, 1), ERR_RANGE,
     "key gpt2.context_length is 0, must be 1 to 2147483647"},
    {"heads that do not divide", GGUF(0, 7) SHAPE(1, 4, 4, 3) AB, ERR_RANGE,
     "n_head 3 does not divide n_embd 4"},
    {"grouped heads", GGUF(0, 6) SHAPE(1, 4, 4, 2) INT("gpt2.attention.head_count_kv", 1),
     ERR_UNSUPPORTED, "gpt2.attention.head_count_kv is 1, expected 2"},
    {"an epsilon of nan",
     GGUF(0, 8) SHAPE(1, 4, 4, 1) AB "\"gpt2.attention.layer_norm_epsilon 4:6 f:nan", ERR_RANGE,
     "layer_norm_epsilon is nan, must be positive and finite"},
    {"an epsilon in words",
     GGUF(0, 6) SHAPE(1, 4, 4, 1) TEXT("gpt2.attention.layer_norm_epsilon", "small"), ERR_RANGE,
     "key gpt2.attention.layer_norm_epsilon is a string, expected a float"},
    {"an activation of its own", GGUF(0, 6) SHAPE(1, 4, 4, 1) TEXT("prattle.activation", "mish"),
     ERR_UNSUPPORTED,
     "key prattle.activation is mish, must be gelu_new, gelu_pytorch_tanh, gelu_fast, "
     "gelu_accurate, gelu_python_tanh, gelu, gelu_python, relu, silu, swish, quick_gelu or tanh"},
    {"a bool of two bytes", GGUF(0, 6) SHAPE(1, 4, 4, 1) "\"prattle.scale_attn_weights 4:2 1:1 1:0",
     ERR_RANGE, "key prattle.scale_attn_weights is a 16-bit unsigned integer, expected a bool"},

    {"neither tokens nor tensors", GGUF(0, 5) SHAPE(1, 4, 4, 1), ERR_MISSING,
     "there is no token_embd.weight and no tokenizer.ggml.tokens"},
    {"another tokenizer", GGUF(0, 6) SHAPE(1, 4, 4, 1) TEXT("tokenizer.ggml.model", "llama"),
     ERR_UNSUPPORTED, "key tokenizer.ggml.model is llama, only gpt2 is read"},
    {"tokens that are one string",
     GGUF(0, 7) SHAPE(1, 4, 4, 1) TEXT("tokenizer.ggml.model", "gpt2")
         TEXT("tokenizer.ggml.tokens", "abc"),
     ERR_RANGE, "key tokenizer.ggml.tokens is a string, expected an array"},
    {"tokens that are numbers",
     GGUF(0, 7) SHAPE(1, 4, 4, 1)
         TEXT("tokenizer.ggml.model", "gpt2") "\"tokenizer.ggml.tokens 4:9 4:4 8:1 4:7",
     ERR_RANGE,
     "key tokenizer.ggml.tokens is an array, each element a 32-bit unsigned integer, expected "
     "strings"},
    {"too few token types",
     GGUF(0, 8) SHAPE(1, 4, 4, 1) AB "\"tokenizer.ggml.token_type 4:9 4:5 8:1 4:1", ERR_FORMAT,
     "tokenizer.ggml.token_type has 1 elements, tokenizer.ggml.tokens 2"},
    {"an end token out of range",
     GGUF(0, 8) SHAPE(1, 4, 4, 1) AB INT("tokenizer.ggml.eos_token_id", 2), ERR_RANGE,
     "key tokenizer.ggml.eos_token_id is 2, must be 0 to 1"},
    {"more tokens than rows",
     GGUF(1, 7) SHAPE(1, 4, 4, 1) AB MATRIX("token_embd.weight", 4, 1, 0) "align 0*16",
     ERR_MISMATCH, "the tokenizer has 2 tokens, token_embd.weight has 1 rows"},
    {"2^40 rows",
     GGUF(1, 7) SHAPE(1, 4, 4, 1) AB "\"token_embd.weight 4:2 8:0 8:2^40 4:0 8:0 align", ERR_FORMAT,
     "tensor token_embd.weight has 1099511627776 rows, at most 2147483647"},

    {"a vocabulary alone", GGUF(0, 7) SHAPE(1, 4, 4, 1) AB, ERR_MISSING,
     "the file has a vocabulary but no weights"},
    {"more blocks than tensors",
     GGUF(1, 7) SHAPE(4096, 4, 4, 1) AB MATRIX("token_embd.weight", 4, 2, 0) "align 0*32",
     ERR_FORMAT, "gpt2.block_count is 4096, the file has 1 tensors"},
    {"a missing tensor",
     GGUF(1, 7) SHAPE(1, 4, 4, 1) AB MATRIX("token_embd.weight", 4, 2, 0) "align 0*32", ERR_MISSING,
     "tensor position_embd.weight is missing"},
    {"another shape",
     GGUF(2, 7) SHAPE(1, 4, 4, 1) AB MATRIX("token_embd.weight", 4, 2, 0)
         MATRIX("position_embd.weight", 5, 4, 32) "align 0*128",
     ERR_FORMAT, "tensor position_embd.weight: shape [4,5], expected [4,4]"},
    {"another width",
     GGUF(1, 7) SHAPE(1, 4, 8, 1) AB MATRIX("token_embd.weight", 4, 2, 0) "align 0*128", ERR_FORMAT,
     "tensor token_embd.weight: shape [2,4], expected [2,8]"},
    {"another rank",
     GGUF(2, 7) SHAPE(1, 4, 4, 1)
         AB MATRIX("token_embd.weight", 4, 2,
                   0) "\"position_embd.weight 4:3 8:4 8:4 8:2 4:0 8:32 align 0*160",
     ERR_FORMAT, "tensor position_embd.weight: shape [2,4,4], expected [4,4]"},
};

/* The sentence of one file; returns the code. */
static int load(const char *path, bool need_weights)
{
    struct source s;
    err_clear();
    int rc = gguf_open_source(&s, path, need_weights);
    if (rc == 0)
        source_close(&s);
    return rc;
}

static char *path;

static void each_bad_file_gives_its_sentence(void **state)
{
    (void)state;
    int bad = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char expected[1024];
        spell_file(path, table[i].file);
        snprintf(expected, sizeof expected, "cannot load %s: %s", path, table[i].sentence);
        /* A vocabulary that nothing can be read from is bad without weights too. */
        bool need_weights = strstr(table[i].sentence, "vocabulary but no weights") != NULL ||
                            strstr(table[i].file, "token_embd") != NULL;
        int rc = load(path, need_weights);
        if (rc != table[i].code || strcmp(err_text(), expected) != 0) {
            bad++;
            print_error("%s: code %d, expected %d\n    %s\n    expected\n    %s\n", table[i].what,
                        rc, table[i].code, err_text(), expected);
        }
    }
    assert_int_equal(bad, 0);
}

/* Cut anywhere, a good file gives a sentence. */
static void a_file_cut_anywhere_is_refused(void **state)
{
    (void)state;
    struct stat st;
    spell_file(path, GGUF(0, 7) SHAPE(1, 4, 4, 1) AB);
    assert_ok(load(path, false));
    assert_int_equal(stat(path, &st), 0);
    for (off_t n = st.st_size; n-- > 0;) {
        assert_int_equal(truncate(path, n), 0);
        assert_int_not_equal(load(path, false), 0);
        assert_true(strlen(err_text()) > 20);
    }
}

static void what_is_no_regular_file_is_refused(void **state)
{
    (void)state;
    const struct scratch *s = scratch_of_process();
    const char *pipe = scratch_path(s, "pipe"), *loop = scratch_path(s, "loop");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(symlink(loop, loop), 0);
    assert_int_equal(load(pipe, true), ERR_FORMAT);
    assert_int_equal(load("/dev/zero", true), ERR_FORMAT);
    assert_int_equal(load(s->folder, true), ERR_FORMAT);
    assert_int_equal(load(loop, true), ERR_IO);
    assert_int_equal(load("/no/such/file.gguf", true), ERR_MISSING);
}

/* Allocation k fails, for all k: one sentence, nothing leaks (under ASan). */
static void no_memory_is_survived(void **state)
{
    (void)state;
    spell_file(path, GGUF(0, 7) SHAPE(1, 4, 4, 1) AB);
    int rc = ERR_NOMEM;
    uint64_t k = 1;
    for (; rc == ERR_NOMEM && k < 1000; k++) {
        mem_fail_at(k);
        rc = load(path, false);
        mem_fail_at(0);
    }
    assert_true(k > 10);
    assert_ok(rc);
}

int main(void)
{
    path = mem_strdup(scratch_path(scratch_of_process(), "bad.gguf"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_bad_file_gives_its_sentence),
        cmocka_unit_test(a_file_cut_anywhere_is_refused),
        cmocka_unit_test(what_is_no_regular_file_is_refused),
        cmocka_unit_test(no_memory_is_survived),
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    mem_free(path);
    return rc;
}
