#include "model/base/json.h"

#include "model/base/mem.h"
#include "tests/lib/test.h"
#include "tests/lib/scratch.h"

#include <math.h>

static json_t *read_ok(const char *text)
{
    json_t *o = NULL;
    assert_ok(json_read_text(&o, text, strlen(text)));
    return o;
}

/* First: before anything is read. */
static void values_are_of_our_memory(void **state)
{
    (void)state;
    uint64_t before = mem_count();
    json_t *o = json_object();
    assert_true(mem_count() > before);
    json_decref(o);
}

static void printing_appends_or_leaves_alone(void **state)
{
    (void)state;
    struct buf out = {0};
    json_t *o = read_ok("{\"a\": [1, 0.5]}");
    assert_ok(buf_str(&out, "x "));
    assert_ok(json_print(&out, o, JSON_COMPACT));
    assert_ok(json_print(&out, json_true(), 0));
    assert_string_equal(buf_text(&out), "x {\"a\":[1,0.5]}true");
    assert_int_equal(json_print(&out, NULL, 0), ERR_NOMEM);
    uint64_t k = 1, rc = 1;
    for (; rc != 0; k++) {
        struct buf b = {0};
        assert_ok(buf_str(&b, "kept"));
        b.cap = b.n + 1; /* the next byte needs memory */
        mem_fail_at(k);
        rc = (uint64_t)(json_print(&b, o, 0) != 0);
        mem_fail_at(0);
        assert_string_equal(buf_text(&b), rc != 0 ? "kept" : "kept{\"a\": [1, 0.5]}");
        buf_release(&b);
    }
    assert_true(k > 2);
    buf_release(&out);
    json_decref(o);
}

static void wrong_text_is_refused_with_its_line(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int line;
    } rows[] = {
        {"", 1},
        {"{", 1},
        {"{\n\"a\": 1,\n\"a\": 2}", 3}, /* a name twice */
        {"{\"a\":\n18446744073709551616}", 2},
        {"{\"a\": 1e999}", 1},
        {"{\"a\": NaN}", 1},
        {"{\"a\": 01}", 1},
        {"{\"a\": \"\xff\"}", 1},
        {"{\"a\": \"\xc0\xaf\"}", 1}, /* overlong */
        {"\n{} x", 2},
        {"{\"a\": \"\\u0000\"}", 1},
        {"{\"a\": \"\\ud800\"}", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *o = NULL;
        char begin[40];
        snprintf(begin, sizeof begin, "not JSON: line %d: ", rows[i].line);
        assert_int_equal(json_read_text(&o, rows[i].text, strlen(rows[i].text)), ERR_FORMAT);
        assert_null(o);
        if (strncmp(err_text(), begin, strlen(begin)) != 0)
            fail_msg("%s: \"%s\" does not begin with \"%s\"", rows[i].text, err_text(), begin);
    }
}

/* Numbers that are too large are texts for who asks; nothing else changes. */
static void numbers_may_be_of_any_size(void **state)
{
    (void)state;
    static const char text[] =
        "{\"1e999\": [-1E999, \"\\\"1e999\", 9223372036854775808], \"b\": 1e-999}";
    static const char bad[] = "{\"a\": 1e999,\n}";
    json_t *o = NULL;
    struct buf out = {0};
    assert_ok(json_read_any_numbers(&o, text, strlen(text)));
    assert_ok(json_print(&out, o, JSON_COMPACT));
    assert_string_equal(buf_text(&out), "{\"1e999\":[\"-1E999\",\"\\\"1e999\","
                                        "\"9223372036854775808\"],\"b\":0.0}");
    const json_t *list = json_object_get(o, "1e999");
    assert_true(json_is_huge_number(json_array_get(list, 0)));
    assert_false(json_is_huge_number(json_array_get(list, 1)));
    assert_true(json_is_huge_number(json_array_get(list, 2)));
    json_decref(o);
    o = NULL;
    assert_int_equal(json_read_any_numbers(&o, bad, strlen(bad)), ERR_FORMAT);
    assert_non_null(strstr(err_text(), "line 2"));
    buf_release(&out);
}

/* A line's number is its reader's to say; a NUL is refused where texts are C strings. */
static void a_line_says_the_column(void **state)
{
    (void)state;
    static const struct {
        const char *line, *says;
    } names[] = {{"not JSON", "invalid token near 'not' at column 1"},
                 {"{\"\xc3\xa9\": wrong}", "invalid token near 'wrong' at column 7"},
                 {"{\"a\" 12}", "':' expected near '12' at column 6"}};
    static const char bad[] = "{\"a\": 1", nul[] = "{\"a\": \"b\\u0000c\"}";
    json_t *o = NULL;
    int (*const readers[])(json_t **, const char *, size_t) = {json_read_line,
                                                               json_read_plain_line};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(readers[i](&o, bad, strlen(bad)), ERR_FORMAT);
        assert_string_equal(err_text(), "not JSON: '}' expected near end of file at column 7");
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(json_read_line(&o, names[i].line, strlen(names[i].line)), ERR_FORMAT);
        assert_string_equal(err_text() + strlen("not JSON: "), names[i].says);
    }
    assert_int_equal(json_read_plain_line(&o, nul, strlen(nul)), ERR_FORMAT);
    assert_non_null(strstr(err_text(), "\\u0000 is not allowed"));
    assert_null(o);
    assert_ok(json_read_line(&o, nul, strlen(nul)));
    assert_int_equal(json_string_length(json_object_get(o, "a")), 3);
    json_decref(o);
}

/* Half a surrogate pair has no UTF-8: U+FFFD stands for it, where that is asked for. */
static void half_a_surrogate_pair_is_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *line, *text; /* NULL: refused */
        bool replaced;
    } rows[] = {
        {"{\"a\": \"x\\ud800y\"}", "x\xef\xbf\xbdy", true},
        {"{\"a\": \"\\uDFFF\"}", "\xef\xbf\xbd", true},
        {"{\"a\": \"\\uDBFF\\uD83D\\uDE00\"}", "\xef\xbf\xbd\xf0\x9f\x98\x80", true},
        {"{\"a\": \"\\ud83d\\u0041\\ude00\"}",
         "\xef\xbf\xbd"
         "A\xef\xbf\xbd",
         true},
        {"{\"\\ud800\": 1, \"a\": \"\\\\ud800\"}", "\\ud800", true},
        {"{\"a\": \"\\\\ud800 \\ud83d\\ude00\"}", "\\ud800 \xf0\x9f\x98\x80", false},
        {"{\"a\": \"\\ud800\\ud8", NULL, true},
        {"{\"a\": \"\\ud8", NULL, false},
        {"{\"a\": \"\\", NULL, false},
        {"{\"a\": \"\\ud8zz\"}", NULL, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *o = NULL;
        bool replaced;
        const int rc = json_read_any_line(&o, rows[i].line, strlen(rows[i].line), &replaced);
        assert_int_equal(rc, rows[i].text == NULL ? ERR_FORMAT : 0);
        assert_int_equal(replaced, rows[i].replaced);
        if (rc == 0)
            assert_string_equal(json_string_value(json_object_get(o, "a")), rows[i].text);
        json_decref(o);
        o = NULL;
        if (replaced)
            assert_int_equal(json_read_line(&o, rows[i].line, strlen(rows[i].line)), ERR_FORMAT);
    }
}

static void nesting_is_limited(void **state)
{
    (void)state;
    enum { DEEP = 100000 };
    char *text = mem_alloc(DEEP + 1);
    memset(text, '[', DEEP);
    json_t *o = NULL;
    assert_int_equal(json_read_text(&o, text, DEEP), ERR_FORMAT);
    assert_non_null(strstr(err_text(), "depth"));
    mem_free(text);
}

static void look_ups_check_type_and_range(void **state)
{
    (void)state;
    json_t *o = read_ok("{\"e\": 1e3, \"f\": 1.0, \"m\": -1, \"t\": \"x\", \"l\": [], \"o\": {}, "
                        "\"b\": true, \"n\": null, \"i\": 7, \"esc\": \"\\u001b[2J\"}");
    int64_t i = 5;
    assert_ok(json_take_int(o, "nothing", 0, 9, &i));
    assert_ok(json_take_int(o, "n", 0, 9, &i));
    assert_int_equal(i, 5);
    assert_ok(json_take_int(o, "i", 0, 9, &i));
    assert_int_equal(i, 7);
    const struct {
        const char *key, *shown;
    } wrong[] = {{"e", "1000.0"}, {"f", "1.0"},    {"m", "-1"},
                 {"t", "\"x\""},  {"l", "a list"}, {"o", "an object"},
                 {"b", "true"},   {"i", "7"},      {"esc", "\"\\u001B[2J\""}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        char sentence[200];
        assert_int_equal(json_take_int(o, wrong[k].key, 0, 6, &i), ERR_RANGE);
        snprintf(sentence, sizeof sentence, "%s is %s, must be a whole number 0 to 6", wrong[k].key,
                 wrong[k].shown);
        assert_string_equal(err_text(), sentence);
        assert_int_equal(i, 7);
    }
    double x = 0.5;
    assert_ok(json_take_number(o, "e", 0, 1e4, &x));
    assert_float_equal(x, 1000, 0);
    assert_ok(json_take_number(o, "i", 0, 1e4, &x));
    assert_float_equal(x, 7, 0);
    assert_int_equal(json_take_number(o, "t", 0, 1, &x), ERR_RANGE);
    assert_string_equal(err_text(), "t is \"x\", must be a number 0 to 1");
    assert_int_equal(json_take_number(o, "m", 0, 1, &x), ERR_RANGE);
    bool b = false;
    assert_ok(json_take_bool(o, "b", &b));
    assert_true(b);
    assert_int_equal(json_take_bool(o, "i", &b), ERR_RANGE);
    assert_string_equal(err_text(), "i is 7, must be true or false");
    const char *text = NULL;
    assert_ok(json_take_text(o, "t", &text));
    assert_string_equal(text, "x");
    assert_int_equal(json_take_text(o, "i", &text), ERR_RANGE);
    assert_string_equal(err_text(), "i is 7, must be a text");
    json_decref(o);
}

static void files_are_named_and_limited(void **state)
{
    (void)state;
    struct scratch s;
    scratch_open(&s);
    scratch_write(&s, "a.json", "[1, 2", 5);
    json_t *o = NULL;
    assert_int_equal(json_read_file(&o, scratch_path(&s, "a.json"), 100), ERR_FORMAT);
    assert_non_null(
        strstr(scratch_sentence(&s, err_text()), "cannot load DIR/a.json: not JSON: line 1: "));
    assert_int_equal(json_read_file(&o, scratch_path(&s, "a.json"), 4), ERR_RANGE);
    assert_string_equal(scratch_sentence(&s, err_text()),
                        "DIR/a.json has 5 bytes, at most 4 are read");
    scratch_close(&s);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    const char *text = "{\"a\": [1, 2.5, \"x\", null], \"b\": {\"c\": true}}";
    for (uint64_t k = 1;; k++) {
        json_t *o = NULL;
        mem_fail_at(k);
        int rc = json_read_text(&o, text, strlen(text));
        mem_fail_at(0);
        if (rc == 0) {
            assert_true(k > 5);
            json_decref(o);
            return;
        }
        assert_int_equal(rc, ERR_NOMEM);
    }
}

static void numbers_are_as_short_as_they_can_be(void **state)
{
    (void)state;
    static const float floats[] = {0.05f,  0.1f,  1.0f / 3, -1e-5f,       3e38f,
                                   1e-45f, -0.0f, 16777216, 0.600000024f, 123456.789f};
    struct buf out = {0};
    char expected[256];
    json_t *list =
        read_ok("[0.05, \"0.050000000000000003 \\\" 0.10000000000000001\", 7, true, "
                "false, 1.0, 2.5e+22, -0.1, 1e-05, 0.30000000000000004, {\"1.5\": null}]");
    json_array_append_new(list, json_of_float(0.05f));
    json_array_append_new(list, json_of_float(NAN));
    assert_ok(json_print(&out, list, JSON_COMPACT));
    /* Since jansson 2.15 exponents are shorter too. */
    const bool shorter = strstr(buf_text(&out), "2.5e22") != NULL;
    snprintf(expected, sizeof expected,
             "[0.05,\"0.050000000000000003 \\\" 0.10000000000000001\",7,true,false,1.0,%s,-0.1,%s,"
             "0.30000000000000004,{\"1.5\":null},0.05,null]",
             shorter ? "2.5e22" : "2.5e+22", shorter ? "1e-5" : "1e-05");
    assert_string_equal(buf_text(&out), expected);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        json_t *v = json_of_float(floats[i]);
        out.n = 0;
        assert_ok(json_print(&out, v, 0));
        assert_true(strtof(buf_text(&out), NULL) == floats[i]);
        assert_true(out.n <= 14);
        json_decref(v);
    }
    json_decref(list);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_of_our_memory),
        cmocka_unit_test(printing_appends_or_leaves_alone),
        cmocka_unit_test(wrong_text_is_refused_with_its_line),
        cmocka_unit_test(numbers_may_be_of_any_size),
        cmocka_unit_test(a_line_says_the_column),
        cmocka_unit_test(half_a_surrogate_pair_is_replaced),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(look_ups_check_type_and_range),
        cmocka_unit_test(files_are_named_and_limited),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(numbers_are_as_short_as_they_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
