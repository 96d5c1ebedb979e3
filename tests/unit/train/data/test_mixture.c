/* Sources with weights, as the setting says them. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "model/base/buf.h"
#include "train/data/mixture.h"

#include <math.h>

static struct mixture parse(const char *text)
{
    struct mixture m;
    assert_ok(mixture_parse(&m, text));
    return m;
}

static void assert_entry(const struct mixture_entry *e, const char *path, double weight,
                         double from, double until, int source)
{
    assert_string_equal(e->path, path);
    assert_true(isnan(weight) ? isnan(e->weight) : e->weight == weight);
    assert_true(e->from == from && e->until == until);
    assert_int_equal(e->source, source);
}

static void words_have_weights_and_steps(void **state)
{
    (void)state;
    struct mixture m =
        parse("books/:0.7:..0.8,no stories.txt:0.3,a\\,b:1e0:0.8..,books:2:0.8..900");
    assert_int_equal(m.n, 4);
    assert_int_equal(m.n_sources, 3);
    assert_entry(&m.list[0], "books/", 0.7, 0, 0.8, 0);
    assert_entry(&m.list[1], "no stories.txt", 0.3, 0, INFINITY, 1);
    assert_entry(&m.list[2], "a,b", 1, 0.8, INFINITY, 2);
    assert_entry(&m.list[3], "books", 2, 0.8, 900, 0); /* the same source */
    assert_string_equal(mixture_path(&m, 0), "books/");
    assert_string_equal(mixture_path(&m, 2), "a,b");
    mixture_release(&m);
    /* Of a step and a part of the run, which comes first depends on the run. */
    m = parse("a:5..0.5,b:0.5..5");
    assert_entry(&m.list[0], "a", NAN, 5, 0.5, 0);
    assert_entry(&m.list[1], "b", NAN, 0.5, 5, 1);
    mixture_release(&m);
    m = parse("a:..,b:5..7,c::.5..");
    assert_int_equal(m.n_sources, 3);
    assert_entry(&m.list[0], "a", NAN, 0, INFINITY, 0);
    assert_entry(&m.list[1], "b", NAN, 5, 7, 1);
    assert_entry(&m.list[2], "c", NAN, 0.5, INFINITY, 2);
    mixture_release(&m);
}

/* What was a list of paths before there were mixtures is one. */
static void paths_are_no_mixture(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",   "a.txt", "a.txt,b.txt", "generated", "~/a,../b", "a:b.txt", "C:\\\\x", ":1",
        "a:", "a: 1",  "a:1 ",        "a:../b",    "a:1x",     "a,,b",    "\\q"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct mixture m = parse(texts[i]);
        if (m.n != 0)
            fail_msg("%s is a mixture", texts[i]);
    }
}

/* A file may be called anything. */
static void what_is_there_is_a_path(void **state)
{
    (void)state;
    struct scratch s;
    char text[600];
    scratch_open(&s);
    scratch_write(&s, "a:1", "x", 1);
    struct mixture m = parse(scratch_path(&s, "a:1"));
    assert_int_equal(m.n, 0);
    snprintf(text, sizeof text, "%s:2", scratch_path(&s, "a:1"));
    m = parse(text);
    assert_int_equal(m.n, 1);
    assert_entry(&m.list[0], scratch_path(&s, "a:1"), 2, 0, INFINITY, 0);
    mixture_release(&m);
    scratch_close(&s);
}

static void bad_numbers_are_named(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a:-1", "a:-1: weight must be 0 to 1000000000, not -1"},
        {"a:nan", "a:nan: weight must be 0 to 1000000000, not NaN"},
        {"a:-nan", "a:-nan: weight must be 0 to 1000000000, not NaN"},
        {"a:inf", "a:inf: weight must be 0 to 1000000000, not inf"},
        {"a:1e300", "a:1e300: weight must be 0 to 1000000000, not 1e+300"},
        {"a:1:nan..",
         "a:1:nan..: from must be 0 to 1 (a fraction of the run) or a whole step above 1, not NaN"},
        {"a:1:-1..2",
         "a:1:-1..2: from must be 0 to 1 (a fraction of the run) or a whole step above 1, not -1"},
        {"a:1:..1.5", "a:1:..1.5: until must be 0 to 1 (a fraction of the run) or a whole step "
                      "above 1, not 1.5"},
        {"a:1:..nan", "a:1:..nan: until must be 0 to 1 (a fraction of the run) or a whole step "
                      "above 1, not NaN"},
        {"a:1:0.5..0.5", "a:1:0.5..0.5: until must be greater than from (0.5), not 0.5"},
        {"a:1:9..8", "a:1:9..8: until must be greater than from (9), not 8"},
        {"a:1:..0", "a:1:..0: until must be greater than from (0), not 0"},
        {"a:1,b", "a has a weight and b has none: give a weight to each source or to none"},
        {"a,b:1", "b has a weight and a has none: give a weight to each source or to none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mixture m;
        err_clear();
        assert_int_equal(mixture_parse(&m, cases[i][0]), ERR_RANGE);
        assert_string_equal(err_text(), cases[i][1]);
        assert_null(m.list);
    }
    struct buf many = {0};
    struct mixture m;
    for (int i = 0; i <= MIXTURE_MAX; i++)
        assert_ok(buf_printf(&many, "%s%d.txt:1", i == 0 ? "" : ",", i));
    assert_int_equal(mixture_parse(&m, buf_text(&many)), ERR_RANGE);
    assert_string_equal(err_text(), "65 sources, expected at most 64; a folder counts as one");
    buf_release(&many);
}

/* An entry of a file becomes a word that says the same, whatever its path looks like. */
static void entries_become_words(void **state)
{
    (void)state;
    static const struct {
        const char *values[4], *word;
    } cases[] = {
        {{"a.txt", "0.7", NULL, "0.8"}, "a.txt:0.7:..0.8"},
        {{"a.txt", "1", "100", "200"}, "a.txt:1:100..200"},
        {{"a.txt", NULL, "0.5", NULL}, "a.txt:0.5.."},
        {{"a.txt", NULL, NULL, NULL}, "a.txt"},
        {{"a:1", NULL, NULL, NULL}, "a:1::.."},
        {{"a:1", "2", NULL, NULL}, "a:1:2:.."},
        {{"a:1..2", NULL, NULL, "5"}, "a:1..2::..5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf word = {0};
        assert_ok(mixture_write_entry(&word, cases[i].values));
        assert_string_equal(buf_text(&word), cases[i].word);
        struct mixture m = parse(buf_text(&word));
        if (strchr(cases[i].word, ':') != NULL) {
            assert_int_equal(m.n, 1);
            assert_string_equal(m.list[0].path, cases[i].values[0]);
            assert_int_equal(isnan(m.list[0].weight), cases[i].values[1] == NULL);
        }
        mixture_release(&m);
        buf_release(&word);
    }
    struct buf none = {0};
    assert_int_equal(mixture_write_entry(&none, (const char *const[4]){NULL, "1"}), ERR_RANGE);
    assert_string_equal(err_text(), "path is missing");
    buf_release(&none);
}

static void weights_are_compared(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"a:1,b:2", "x/a:1,x/b:2", true},
        {"a:1,b:2", "a:1,b:3", false},
        {"a:1,b:2", "a:1", false},
        {"a:1:..0.5", "a:1:..0.6", false},
        {"a:..0.5,b:..", "c:..0.5,d:..", true},
        {"a:1,a:1:5..", "a:1,b:1:5..", false},
        {"a", "b", true},
        {"a", "a:1", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mixture a = parse(cases[i].a), b = parse(cases[i].b);
        assert_int_equal(mixture_same_weights(&a, &b), cases[i].same);
        mixture_release(&a);
        mixture_release(&b);
    }
}

static void steps_or_parts(void **state)
{
    (void)state;
    assert_int_equal(mixture_step(0.8, 100), 80);
    assert_int_equal(mixture_step(0.57, 100), 57);
    assert_int_equal(mixture_step(0.5799, 100), 57);
    assert_int_equal(mixture_step(1, 100), 100);
    assert_int_equal(mixture_step(0, 100), 0);
    assert_int_equal(mixture_step(2, 100), 2);
    assert_int_equal(mixture_step(5000, 100), 5000);
    assert_int_equal(mixture_step(INFINITY, 100), INT64_MAX);
}

static void memory_runs_out(void **state)
{
    (void)state;
    int rc = ERR_NOMEM;
    for (uint64_t k = 1; rc != 0; k++) {
        struct mixture m;
        mem_fail_at(k);
        rc = mixture_parse(&m, "a:1,b:2:..5,a:3:5..");
        mem_fail_at(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        mixture_release(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_have_weights_and_steps),
        cmocka_unit_test(paths_are_no_mixture),
        cmocka_unit_test(what_is_there_is_a_path),
        cmocka_unit_test(bad_numbers_are_named),
        cmocka_unit_test(entries_become_words),
        cmocka_unit_test(weights_are_compared),
        cmocka_unit_test(steps_or_parts),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
