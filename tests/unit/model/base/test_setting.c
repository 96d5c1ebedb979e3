#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "model/base/setting.h"
#include "model/base/yaml_pairs.h"

#include <string.h>

struct thing {
    bool flag;
    int count, choice;
    int64_t wide;
    uint64_t seed;
    float narrow;
    double exact;
    char *text;
};

#define AT(field) offsetof(struct thing, field)

static const char *const colours[] = {"red|crimson", "green", "blue", NULL};
static const struct setting rows[] = {
    {.name = "flag", .type = SETTING_BOOL, .offset = AT(flag)},
    {.name = "count", .type = SETTING_INT, .offset = AT(count), .min = -3, .max = 1000},
    {.name = "wide", .type = SETTING_INT64, .offset = AT(wide), .max = 1e15},
    {.name = "seed", .type = SETTING_UINT64, .offset = AT(seed)},
    {.name = "narrow", .type = SETTING_FLOAT, .offset = AT(narrow), .max = 1e6},
    {.name = "exact", .type = SETTING_DOUBLE, .offset = AT(exact), .min = -1, .max = 1e6},
    {.name = "choice", .type = SETTING_CHOICE, .offset = AT(choice), .choices = colours},
    {.name = "text", .type = SETTING_STRING, .offset = AT(text)},
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };

static const struct setting *row(const char *name)
{
    for (int i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

static void values_come_back_as_they_went_in(void **state)
{
    (void)state;
    struct thing t = {0};
    static const char *const cases[][3] = {
        {"flag", "yes", "on"},
        {"flag", "0", "off"},
        {"count", "-3", "-3"},
        {"count", "+7", "7"},
        {"count", "1e2", "100"},
        {"count", "1.25E+2", "125"},
        {"wide", "1e15", "1000000000000000"},
        {"seed", "3e6", "3000000"},
        {"wide", "1000000000000000", "1000000000000000"},
        {"seed", "18446744073709551615", "18446744073709551615"},
        {"narrow", "6e-4", "0.0006"},
        {"narrow", "0.1", "0.1"},
        {"narrow", "20", "20"},
        {"narrow", "5e4", "50000"},
        {"narrow", "1e6", "1e6"},
        {"exact", "-1", "-1"},
        {"exact", "0.1", "0.1"},
        {"exact", "6e-4", "0.0006"},
        {"exact", "0.30000000000000004", "0.30000000000000004"},
        {"choice", "crimson", "red"},
        {"choice", "blue", "blue"},
        {"text", "a b, c", "a b, c"},
        {"text", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = {0};
        assert_ok(setting_parse(row(cases[i][0]), &t, cases[i][1]));
        assert_ok(setting_format(row(cases[i][0]), &t, &out));
        assert_string_equal(buf_text(&out), cases[i][2]);
        buf_release(&out);
    }
    assert_true(t.exact == 0.1 + 0.2);
    settings_free_texts(rows, N_ROWS, &t);
}

static void what_is_out_of_range_changes_nothing(void **state)
{
    (void)state;
    struct thing t = {.count = 5, .exact = 0.5, .choice = 1};
    static const char *const cases[][3] = {
        {"count", "-4", "count must be a whole number, -3 to 1000, not -4"},
        {"count", "1e4", "count must be a whole number, -3 to 1000, not 1e4"},
        {"count", "1.5e0", "count must be a whole number"},
        {"count", "1e-2", "count must be a whole number"},
        {"count", "1e", "count must be a whole number"},
        {"count", "e2", "count must be a whole number"},
        {"count", "1e400", "count must be a whole number"},
        {"count", "1.0", "count must be a whole number"},
        {"count", "", ", -3 to 1000, not empty"},
        {"exact", "nan", "exact must be -1 to 1e6, not nan"},
        {"exact", "1e7", ", not 1e7"},
        {"exact", "0x10", ", not 0x10"},
        {"choice", "yellow", "choice must be red, green or blue, not yellow"},
        {"choice", "red|crimson", "must be red"},
        {"flag", "\033[2J", "flag must be on or off, not \\x1b[2J"},
        {"seed", "1e19", "must be a whole number, 0 or more, not 1e19"},
        {"seed", "-1", "must be a whole number, 0 or more, not -1"},
        {"seed", "18446744073709551616", "a whole number, 0 or more, at most 18446744073709551615"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(setting_parse(row(cases[i][0]), &t, cases[i][1]), ERR_RANGE);
        if (strstr(err_text(), cases[i][2]) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err_text(), cases[i][2]);
    }
    assert_int_equal(t.count, 5);
    assert_true(t.exact == 0.5 && t.choice == 1 && !t.flag && t.seed == 0);
}

static void names_of_values_are_in_any_case(void **state)
{
    (void)state;
    struct thing t = {0};
    static const char *const on[] = {"True", "Yes", "ON"}, *const off[] = {"False", "No", "OFF"};
    for (size_t i = 0; i < sizeof on / sizeof *on; i++) {
        assert_ok(setting_parse(row("flag"), &t, on[i]));
        assert_true(t.flag);
        assert_ok(setting_parse(row("flag"), &t, off[i]));
        assert_false(t.flag);
    }
    assert_ok(setting_parse(row("choice"), &t, "Green"));
    assert_int_equal(t.choice, 1);
}

static void copies_own_their_texts(void **state)
{
    (void)state;
    struct thing a = {0}, b;
    assert_ok(setting_parse(row("text"), &a, "one"));
    b = a;
    assert_ok(settings_own_texts(rows, N_ROWS, &b, &a));
    assert_ok(setting_parse(row("text"), &a, "two"));
    assert_string_equal(b.text, "one");
    struct thing c = a;
    mem_fail_at(1);
    assert_int_equal(settings_own_texts(rows, N_ROWS, &c, &a), ERR_NOMEM);
    mem_fail_at(0);
    assert_null(c.text);
    settings_free_texts(rows, N_ROWS, &a);
    settings_free_texts(rows, N_ROWS, &b);
}

static void dashes_are_underscores(void **state)
{
    (void)state;
    assert_true(setting_same_name("top-k", "top_k"));
    assert_false(setting_same_name("top_k", "top_kk"));
    struct setting s = {.name = "top_k", .letter = 'k', .also = "topk|best-of"};
    static const char *const yes[] = {"top_k", "top-k", "k", "topk", "best_of"};
    static const char *const no[] = {"", "top", "K", "kk", "best", "topk|best-of", "topk|"};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        assert_true(setting_called(&s, yes[i]));
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        assert_false(setting_called(&s, no[i]));
    s.letter = 0;
    assert_false(setting_called(&s, ""));
    assert_false(setting_called(&s, "k"));
    static const char *const names[] = {"learning_rate", "warmup"};
    assert_int_equal(setting_unknown("learning-rat", names, 2), ERR_MISSING);
    assert_string_equal(err_text(),
                        "there is no setting learning_rat; did you mean learning_rate?");
    assert_int_equal(setting_unknown("zzz", names, 2), ERR_MISSING);
    assert_string_equal(err_text(), "there is no setting zzz");
}

/* "section.name=text " of every pair, in order. */
static int note(void *user, const struct yaml_pair *p)
{
    return buf_printf(user, "%s.%s=%s ", p->section, p->name, p->text == NULL ? "(null)" : p->text);
}

static int refuse(void *user, const struct yaml_pair *p)
{
    (void)user;
    return err_set(ERR_RANGE, "no %s", p->name);
}

static void yaml_and_json_are_the_same(void **state)
{
    (void)state;
    static const char expected[] = "a.x=1 a.y=b c .top=~x .list=1,2\\,3 .gone=(null) ";
    static const char *const texts[] = {
        "a:\n  x: 1\n  y: b c\ntop: \"~x\"\nlist:\n  - 1\n  - \"2,3\"\ngone:\n",
        "{\"a\": {\"x\": 1, \"y\": \"b c\"},\n\t\"top\": \"~x\", \"list\": [1, \"2,3\"], \"gone\": "
        "null}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct buf seen = {0};
        assert_ok(yaml_read_pairs("f", texts[i], strlen(texts[i]),
                                  (struct yaml_shape){.sections = true, .lists = true}, note,
                                  &seen));
        assert_string_equal(buf_text(&seen), expected);
        buf_release(&seen);
    }
}

static void bad_yaml_names_its_line(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a:\n  b:\n    c: 1\n", "f line 2: b: expected one value, not a mapping"},
        {"a: 1\nb: [1, [2]]\n", "f line 2: expected single values in the list"},
        {"a: 1\n  b: 2\n", "f line 2:"},
        {"a: 1\nb: \"x\\0y\"\n", "f line 2: a NUL in a text"},
        {"a: *x\n", "f line 1: settings are read without aliases"},
        {"{\"a\": 1\n\"b\": 2}", "f line 2:"},
        {"\033: {}\n", "f line 1:"},
        {"? {a: b}\n: 1\n", "f line 1: expected the name of a setting"},
        {"[1]", "f line 1: expected settings as"},
    };
    struct buf seen = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int rc = yaml_read_pairs("f", cases[i][0], strlen(cases[i][0]),
                                 (struct yaml_shape){.sections = true, .lists = true}, note, &seen);
        assert_int_equal(rc, ERR_FORMAT);
        if (strstr(err_text(), cases[i][1]) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err_text(), cases[i][1]);
    }
    buf_release(&seen);
    static const char text[] = "x: 1\n\ny: [1, 2]\n";
    assert_int_equal(
        yaml_read_pairs("f", text, sizeof text - 1, (struct yaml_shape){0}, refuse, NULL),
        ERR_RANGE);
    assert_string_equal(err_text(), "f line 1: no x");
}

/* Nesting without end, an alias bomb: a sentence, at once. */
static void depth_is_refused(void **state)
{
    (void)state;
    struct buf deep = {0}, seen = {0};
    for (int i = 0; i < 100000; i++)
        assert_ok(buf_str(&deep, "{a: "));
    assert_true(yaml_read_pairs("f", deep.data, deep.n,
                                (struct yaml_shape){.sections = true, .lists = true}, note,
                                &seen) != 0);
    buf_release(&deep);
    buf_release(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_back_as_they_went_in),
        cmocka_unit_test(what_is_out_of_range_changes_nothing),
        cmocka_unit_test(names_of_values_are_in_any_case),
        cmocka_unit_test(copies_own_their_texts),
        cmocka_unit_test(dashes_are_underscores),
        cmocka_unit_test(yaml_and_json_are_the_same),
        cmocka_unit_test(bad_yaml_names_its_line),
        cmocka_unit_test(depth_is_refused),
    };
    return cmocka_run_group_tests_name("setting", tests, NULL, NULL);
}
