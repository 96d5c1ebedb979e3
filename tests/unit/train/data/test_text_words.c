/* Counting the words of files and folders. */
#include "tests/lib/test.h"

#include "tests/lib/scratch.h"
#include "train/data/text_words.h"

#include <sys/stat.h>

static uint64_t count_of(struct bpe_words *w, const char *word)
{
    size_t index;
    assert_ok(bpe_words_find(w, &index, word, strlen(word)));
    return w->list[index].count;
}

static void put(const struct scratch *s, const char *name, const char *text)
{
    scratch_write(s, name, text, strlen(text));
}

static void reads_a_file_in_parts(void **state)
{
    (void)state;
    enum { LINES = 300000 };
    struct scratch s;
    struct bpe_words words = {0};
    struct buf text = {0};
    scratch_open(&s);
    for (int i = 0; i < LINES; i++)
        assert_ok(buf_printf(&text, "It's \xe6\xb5\xb7 %d\n", i % 10));
    scratch_write(&s, "text", text.data, text.n);
    assert_true(text.n > 3 << 20);
    assert_ok(text_words_read(&words, scratch_path(&s, "text"), NULL));
    assert_int_equal(words.n, 14);
    assert_int_equal(count_of(&words, "It"), LINES);
    assert_int_equal(count_of(&words, "'s"), LINES);
    assert_int_equal(count_of(&words, " \xe6\xb5\xb7"), LINES);
    assert_int_equal(count_of(&words, " 7"), LINES / 10);
    assert_int_equal(count_of(&words, "\n"), LINES);
    assert_int_equal(words.n, 14);
    bpe_words_release(&words);
    buf_release(&text);
    scratch_close(&s);
}

/* A word longer than several parts. */
static void reads_a_word_of_many_parts(void **state)
{
    (void)state;
    enum { BYTES = 5 << 20 };
    struct scratch s;
    struct bpe_words words = {0};
    char *text = malloc(BYTES);
    scratch_open(&s);
    memset(text, 'a', BYTES);
    scratch_write(&s, "text", text, BYTES);
    assert_ok(text_words_read(&words, scratch_path(&s, "text"), NULL));
    assert_int_equal(words.n, 1);
    assert_int_equal(words.list[0].n, BYTES);
    bpe_words_release(&words);
    free(text);
    scratch_close(&s);
}

static void reads_a_folder(void **state)
{
    (void)state;
    struct scratch s;
    struct bpe_words words = {0};
    scratch_open(&s);
    assert_int_equal(mkdir(scratch_path(&s, "deep"), 0777), 0);
    assert_int_equal(mkdir(scratch_path(&s, ".git"), 0777), 0);
    put(&s, "b.txt", "two<|endoftext|>two");
    put(&s, "a.txt", "one");
    put(&s, "empty", "");
    put(&s, "deep/c", "two");
    put(&s, "d.jsonl", "{\"text\": \"one\"}\n{\"text\": \"one\"}\n");
    put(&s, ".hidden", "no");
    put(&s, ".git/x", "no");
    assert_ok(text_words_read(&words, s.folder, NULL));
    assert_int_equal(words.n, 2); /* a file's end is a text's end: no "twotwo", no "onetwo" */
    assert_int_equal(count_of(&words, "one"), 3);
    assert_int_equal(count_of(&words, "two"), 3);
    bpe_words_release(&words);
    scratch_close(&s);
}

static void refuses_what_is_no_text(void **state)
{
    (void)state;
    static const struct {
        const char *name, *bytes, *sentence;
    } rows[] = {
        {"empty", "", "DIR/empty is empty"},
        {"x",
         "\xfd"
         "7zXZ",
         "DIR/x is cut off after 5 bytes: copy or download it again"},
        {"t.bin", "1234", "DIR/t.bin has tokens; a tokenizer is trained on text"},
        {"j.json", "{\"text\": 1}",
         "DIR/j.json line 1: expected an object whose field text is a string, not a number"},
    };
    struct scratch s;
    struct bpe_words words = {0};
    scratch_open(&s);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put(&s, rows[i].name, rows[i].bytes);
        assert_int_equal(text_words_read(&words, scratch_path(&s, rows[i].name), NULL), ERR_FORMAT);
        assert_string_equal(scratch_sentence(&s, err_text()), rows[i].sentence);
        assert_int_equal(words.n, 0);
    }
    assert_int_equal(text_words_read(&words, scratch_path(&s, "none"), NULL), ERR_MISSING);
    assert_int_equal(text_words_read(&words, "/dev/zero", NULL), ERR_FORMAT);
    assert_int_equal(mkdir(scratch_path(&s, "hollow"), 0777), 0);
    assert_int_equal(text_words_read(&words, scratch_path(&s, "hollow"), NULL), ERR_MISSING);
    put(&s, "text", "a b c");
    interrupt_raise();
    assert_int_equal(text_words_read(&words, scratch_path(&s, "text"), NULL), ERR_INTERRUPTED);
    interrupt_clear();
    bpe_words_release(&words);
    scratch_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_file_in_parts), cmocka_unit_test(reads_a_word_of_many_parts),
        cmocka_unit_test(reads_a_folder), cmocka_unit_test(refuses_what_is_no_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
