#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "model/base/words.h"

#include <string.h>

static void test_parse(void **state)
{
    (void)state;
    struct words w;
    assert_ok(words_parse(&w, "\\n, User:,a\\,b,\\x41\\0z,\\\\"));
    assert_int_equal(w.n, 5);
    assert_string_equal(w.list[0].bytes, "\n");
    assert_string_equal(w.list[1].bytes, " User:");
    assert_string_equal(w.list[2].bytes, "a,b");
    assert_int_equal(w.list[3].n, 3);
    assert_memory_equal(w.list[3].bytes, "A\0z", 3);
    assert_string_equal(w.list[4].bytes, "\\");
    words_release(&w);
    assert_ok(words_parse(&w, ""));
    assert_int_equal(w.n, 0);
    assert_ok(words_parse(&w, NULL));
    assert_int_equal(w.n, 0);
}

/* Many words take no more than their bytes: each once had room for all that follow. */
static void test_parse_many(void **state)
{
    (void)state;
    enum { WORDS = 100000 };
    struct words w;
    char *text = mem_alloc(4 * WORDS);
    assert_non_null(text);
    for (int i = 0; i < WORDS; i++)
        memcpy(text + 4 * i, "a\\,,", 4);
    text[4 * WORDS - 1] = '\0';
    assert_ok(words_parse(&w, text));
    assert_int_equal(w.n, WORDS);
    assert_int_equal(w.list[0].n, 2);
    assert_memory_equal(w.list[WORDS - 1].bytes, "a,", 2);
    words_release(&w);
    mem_free(text);
}

static void test_unquote(void **state)
{
    (void)state;
    static const struct {
        const char *text, *list;
    } cases[] = {
        {"\"blue\", \"fish\"", "blue,fish"},
        {"'a,b','don\"t'", "a\\,b,don\"t"},
        {"\"a\\\"b\" , \"c\\,d\"", "a\\\"b,c\\,d"},
        {"\"\", \"fish\"", ",fish"},
        {"'a\\', 'b'", NULL},
        {"\"a\", \"b\",", NULL},
        {"\"one\"", NULL},
        {"one, \"two\"", NULL},
        {"\"one\", two", NULL},
        {"\"one\", ", NULL},
        {"\"one\" he said", NULL},
        {"\"one", NULL},
        {"\"", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *list = NULL;
        /* Not a byte beyond it is read. */
        const size_t n = strlen(cases[i].text);
        char *text = mem_alloc(n + 1);
        assert_non_null(text);
        memcpy(text, cases[i].text, n);
        text[n] = '"';
        assert_ok(words_unquote(&list, text, n));
        if (cases[i].list == NULL)
            assert_null(list);
        else
            assert_string_equal(list, cases[i].list);
        mem_free(list);
        mem_free(text);
    }
    char *list = NULL;
    assert_fails(words_unquote(&list, "'a' 'b'", 7), ERR_RANGE,
                 "a comma is missing between words in quotes");
    assert_null(list);
}

static void test_parse_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } bad[] = {
        {",", "empty word in \",\": write \\, for a comma inside a word"},
        {"a,", "empty word in \"a,\": write \\, for a comma inside a word"},
        {"a,,b", "empty word in \"a,,b\": write \\, for a comma inside a word"},
        {"a\\q", "unknown escape \\q in \"a\\q\": write \\\\ for a backslash"},
        {"a\\", "unknown escape \\ in \"a\\\": write \\\\ for a backslash"},
        {"\\x4", "unknown escape \\x in \"\\x4\": write \\\\ for a backslash"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct words w;
        assert_int_equal(words_parse(&w, bad[i].text), ERR_RANGE);
        assert_string_equal(err_text(), bad[i].sentence);
        assert_int_equal(w.n, 0);
        assert_null(w.list);
    }
}

static void test_parse_without_memory(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        struct words w;
        mem_fail_at(k);
        int rc = words_parse(&w, "one,two,three");
        mem_fail_at(0);
        if (rc == 0) {
            assert_int_equal(k, 5);
            words_release(&w);
            return;
        }
        assert_int_equal(rc, ERR_NOMEM);
        assert_null(w.list);
    }
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const names[] = {"temperature", "top_k", "top_p", "min_p", "xtc"};
    assert_string_equal(words_nearest("temprature", names, 5), "temperature");
    assert_string_equal(words_nearest("tempreature", names, 5), "temperature");
    assert_string_equal(words_nearest("top-p", names, 5), "top_p");
    assert_string_equal(words_nearest("topk", names, 5), "top_k");
    assert_string_equal(words_nearest("xct", names, 5), "xtc");
    assert_string_equal(words_nearest("xt", names, 5), "xtc");
    assert_null(words_nearest("mirostat", names, 5));
    /* Two letters of three are another word. */
    assert_null(words_nearest("foc", names, 5));
    assert_null(words_nearest("tap", names + 4, 1));
    static const char *const top[] = {"top"};
    assert_null(words_nearest("foo", top, 1));
    assert_null(words_nearest("nope", top, 1));
    assert_string_equal(words_nearest("tpo", top, 1), "top");
    assert_null(words_nearest("zz", names, 5));
    assert_null(words_nearest("", names, 5));
}

static void escapes_of_a_text_are_undone(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a\\nb\\tc\\r", "a\nb\tc\r"}, {"\\\\n", "\\n"}, {"\\section{\\begin", "\\section{\\begin"},
        {"a, b\\", "a, b\\"},          {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *undone = words_undo_escapes(cases[i][0]);
        assert_string_equal(undone, cases[i][1]);
        mem_free(undone);
    }
}

static void controls_are_written_as_escapes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a\nb\tc\r", "a\\nb\\tc\\r"},
        {"a\\nb\\,\\\\n\\", "a\\nb\\,\\\\n\\"},
        {"\\\n", "\\\\\\n"},   /* a backslash before a new line */
        {"\\\\\n", "\\\\\\n"}, /* the same, the backslash being escaped already */
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *escaped = words_escape(cases[i][0]), *was = words_undo_escapes(cases[i][0]),
             *is = words_undo_escapes(escaped);
        assert_string_equal(escaped, cases[i][1]);
        assert_string_equal(is, was);
        mem_free(escaped);
        mem_free(was);
        mem_free(is);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_parse_many),
        cmocka_unit_test(test_unquote),
        cmocka_unit_test(test_parse_refuses),
        cmocka_unit_test(test_parse_without_memory),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(escapes_of_a_text_are_undone),
        cmocka_unit_test(controls_are_written_as_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
