/* The BPE trainer against BpeTrainer's algorithm written out in Python. */
#include "tests/lib/notes.h"
#include "tests/lib/test.h"

#include "model/base/rng.h"
#include "model/tokenizer/bpe_train.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tokenizer_golden.h"
#include "weights/hf/vocab_write.h"

#include <openssl/evp.h>

#define LEARNED "tests/golden/bpe_train/"

static struct buf corpus;

static int read_corpus(void **state)
{
    (void)state;
    return file_read_all(&corpus, LEARNED "corpus.txt", 1 << 20);
}

static int drop_corpus(void **state)
{
    (void)state;
    buf_release(&corpus);
    return 0;
}

static struct tokenizer *learn(const char *text, size_t n, int vocab_size, int64_t min_frequency,
                               struct notes *notes)
{
    struct bpe_words words = {0};
    struct tokenizer *t = NULL;
    struct progress p = {.note = notes_take, .user = notes};
    struct bpe_train_config c = {vocab_size, min_frequency};
    assert_ok(bpe_words_add(&words, text, n));
    assert_ok(bpe_train(&t, &words, &c, notes == NULL ? NULL : &p));
    assert_int_equal(words.n, 0);
    return t;
}

/* SHA-256 of lines with "\n" between them. */
static void sha256(char hex[65], const struct tokenizer *t, int n,
                   const char *line(const struct tokenizer *t, int i))
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    struct buf text = {0};
    for (int i = 0; i < n; i++) {
        assert_ok(i > 0 ? buf_char(&text, '\n') : 0);
        assert_ok(buf_str(&text, line(t, i)));
    }
    assert_true(EVP_Digest(text.data, text.n, hash, NULL, EVP_sha256(), NULL));
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    buf_release(&text);
}

static void same_sha256(const json_t *expected, const struct tokenizer *t, int n,
                        const char *line(const struct tokenizer *t, int i))
{
    char hex[65];
    sha256(hex, t, n, line);
    assert_string_equal(hex, json_string_value(expected));
}

static const char *token_line(const struct tokenizer *t, int i)
{
    return tokenizer_text(t, i);
}

static void merges_as_the_reference(void **state)
{
    (void)state;
    json_t *runs = golden_json(LEARNED "merges.json"), *run;
    size_t i;
    assert_int_equal(json_array_size(runs), 7);
    json_array_foreach(runs, i, run)
    {
        char expected[128] = "";
        struct notes notes = {0};
        int asked = (int)json_integer_value(json_object_get(run, "vocab_size"));
        int made = (int)json_integer_value(json_object_get(run, "n_tokens"));
        int64_t least = json_integer_value(json_object_get(run, "min_frequency"));
        const json_t *merges = json_object_get(run, "merges");
        struct tokenizer *t = learn(corpus.data, corpus.n, asked, least, &notes);
        assert_int_equal(tokenizer_merges(t), json_array_size(merges));
        for (int k = 0; k < tokenizer_merges(t); k++)
            assert_string_equal(tokenizer_merge(t, k),
                                json_string_value(json_array_get(merges, (size_t)k)));
        assert_int_equal(tokenizer_size(t), made);
        same_sha256(json_object_get(run, "tokens_sha256"), t, made, token_line);
        if (made < asked)
            snprintf(expected, sizeof expected,
                     "the text gives a vocabulary of %d tokens; %d were asked for", made, asked);
        assert_string_equal(notes.last, expected);
        tokenizer_free(t);
    }
    json_decref(runs);
}

static void learns_tinyshakespeare(void **state)
{
    (void)state;
    const char *data = golden_data("what is learned from tinyshakespeare");
    if (data == NULL)
        return;
    json_t *golden = golden_json(LEARNED "data.json");
    struct buf text = {0};
    char *path = file_join(data, "corpus/tinyshakespeare.txt");
    assert_ok(file_read_all(&text, path, 1 << 24));
    int size = (int)json_integer_value(json_object_get(golden, "vocab_size"));
    struct tokenizer *t = learn(text.data, text.n, size, 0, NULL);
    assert_int_equal(tokenizer_merges(t), json_integer_value(json_object_get(golden, "merges")));
    same_sha256(json_object_get(golden, "tokens_sha256"), t, size, token_line);
    same_sha256(json_object_get(golden, "merges_sha256"), t, tokenizer_merges(t), tokenizer_merge);
    tokenizer_free(t);
    buf_release(&text);
    mem_free(path);
    json_decref(golden);
}

static int same_merges(const struct tokenizer *a, const struct tokenizer *b)
{
    int n = tokenizer_merges(a);
    if (n != tokenizer_merges(b))
        return 0;
    for (int i = 0; i < n; i++)
        if (strcmp(tokenizer_merge(a, i), tokenizer_merge(b, i)) != 0)
            return 0;
    return 1;
}

/* The corpus, and the same lines with those of the end first: many texts in any order. */
static void order_makes_no_difference(void **state)
{
    (void)state;
    struct bpe_words forth = {0}, back = {0};
    struct tokenizer *a = NULL, *b = NULL;
    const struct bpe_train_config c = {700, 0};
    for (size_t at = 0, n; at < corpus.n; at += n) {
        const char *line = memchr(corpus.data + at, '\n', corpus.n - at);
        n = line == NULL ? corpus.n - at : (size_t)(line + 1 - (corpus.data + at));
        assert_ok(bpe_words_add(&forth, corpus.data + at, n));
    }
    for (size_t end = corpus.n, at; end > 0; end = at) {
        const char *line = memrchr(corpus.data, '\n', end - 1);
        at = line == NULL ? 0 : (size_t)(line + 1 - corpus.data);
        assert_ok(bpe_words_add(&back, corpus.data + at, end - at));
    }
    assert_ok(bpe_train(&a, &forth, &c, NULL));
    assert_ok(bpe_train(&b, &back, &c, NULL));
    assert_true(same_merges(a, b));
    tokenizer_free(a);
    tokenizer_free(b);
}

static void encodes_and_comes_back(void **state)
{
    (void)state;
    struct tokenizer *t = learn(corpus.data, corpus.n, 900, 0, NULL), *back = NULL;
    struct scratch s;
    scratch_open(&s);
    assert_ok(vocab_write_folder(t, TOKEN_NONE, s.folder, false));
    assert_int_equal(vocab_check_folder(s.folder, false), ERR_EXISTS);
    assert_ok(vocab_check_folder(s.folder, true));
    assert_ok(vocab_open_folder(&back, s.folder, NULL, NULL));
    assert_true(same_merges(t, back));
    for (int i = 0; i < 60; i++) {
        char random[200];
        size_t n = i == 0 ? corpus.n : sizeof random;
        const char *text = i == 0 ? corpus.data : random;
        for (size_t k = 0; k < sizeof random; k++)
            random[k] = i % 2 == 0 ? (char)(rng_uniform(3, (uint64_t)i, k) * 256)
                                   : corpus.data[(size_t)(rng_uniform(3, (uint64_t)i, k) * 5000)];
        struct ids a = {0}, b = {0};
        struct buf decoded = {0};
        assert_ok(tokenizer_encode(t, &a, text, n, ENCODE_SPECIAL));
        assert_ok(tokenizer_encode(back, &b, text, n, ENCODE_SPECIAL));
        assert_int_equal(a.n, b.n);
        assert_memory_equal(a.data, b.data, a.n * sizeof *a.data);
        assert_ok(tokenizer_decode(t, &decoded, a.data, a.n));
        assert_int_equal(decoded.n, n);
        assert_memory_equal(decoded.data, text, n);
        assert_true(i > 0 || a.n < n / 2);
        ids_release(&a);
        ids_release(&b);
        buf_release(&decoded);
    }
    assert_int_equal(tokenizer_find(t, "<|endoftext|>", 13), 0);
    assert_true(tokenizer_is_special(t, 0));
    assert_int_equal(tokenizer_eos(t), 0);
    tokenizer_free(t);
    tokenizer_free(back);
    scratch_close(&s);
}

static void refuse(const char *text, int vocab_size, const char *sentence)
{
    struct bpe_words words = {0};
    struct tokenizer *t = NULL;
    struct bpe_train_config c = {vocab_size, 0};
    assert_ok(bpe_words_add(&words, text, strlen(text)));
    assert_true(bpe_train(&t, &words, &c, NULL) < 0);
    assert_string_equal(err_text(), sentence);
    assert_null(t);
}

static void refuses_what_cannot_be(void **state)
{
    (void)state;
    refuse("", 300, "there is no text to learn from");
    refuse("<|endoftext|><|endoftext|>", 300, "there is no text to learn from");
    refuse("text", 256,
           "vocab_size must be 257 (the 256 bytes and <|endoftext|>) to 10000000, not 256");
    refuse("text", 10000001,
           "vocab_size must be 257 (the 256 bytes and <|endoftext|>) to 10000000, not 10000001");
    interrupt_raise();
    refuse("text", 300, "interrupted");
    interrupt_clear();
}

/* A run of one letter: pairs that overlap themselves. */
static void long_words(void **state)
{
    (void)state;
    static const char *const merges[] = {"a a", "aa aa", "aaaa aaaa", "aaaaaaaa aaaaaaaa"};
    char *text = malloc(100000);
    memset(text, 'a', 100000);
    struct tokenizer *t = learn(text, 100000, 261, 0, NULL);
    for (int i = 0; i < 4; i++)
        assert_string_equal(tokenizer_merge(t, i), merges[i]);
    tokenizer_free(t);
    free(text);
}

static void survives_no_memory(void **state)
{
    (void)state;
    const struct bpe_train_config c = {400, 0};
    int rc = ERR_NOMEM;
    uint64_t k = 0;
    while (rc == ERR_NOMEM) {
        struct bpe_words words = {0};
        struct tokenizer *t = NULL;
        mem_fail_at(++k);
        rc = bpe_words_add(&words, corpus.data, corpus.n);
        if (rc == 0)
            rc = bpe_train(&t, &words, &c, NULL);
        mem_fail_at(0);
        bpe_words_release(&words);
        assert_true(rc == 0 || t == NULL);
        tokenizer_free(t);
    }
    assert_int_equal(rc, 0);
    assert_true(k > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_as_the_reference),   cmocka_unit_test(learns_tinyshakespeare),
        cmocka_unit_test(order_makes_no_difference), cmocka_unit_test(encodes_and_comes_back),
        cmocka_unit_test(refuses_what_cannot_be),    cmocka_unit_test(long_words),
        cmocka_unit_test(survives_no_memory)};
    return cmocka_run_group_tests(tests, read_corpus, drop_corpus);
}
