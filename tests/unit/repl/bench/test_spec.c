/* Specifications of benchmarks: theirs are understood, and hostile ones refused in a sentence. */
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "model/base/yaml_tree.h"
#include "repl/bench/expression.h"
#include "repl/bench/results.h"
#include "repl/bench/spec.h"
#include "repl/bench/spec_words.h"

#include <math.h>

static int read_text(struct spec *s, const char *text)
{
    return spec_read(s, "s.yaml", text, strlen(text));
}

static void refuse(const char *text, const char *sentence)
{
    struct spec s;
    const int rc = read_text(&s, text);
    assert_says(rc, sentence);
    assert_null(s.tree);
}

#define DATA "\n  data: {x: {regexp: 'x ([0-9]+)'}}\n"

static void the_format_of_the_examples_is_read(void **state)
{
    (void)state;
    static const char text[] =
        "---\n"
        "common: &common\n"
        "  data:\n"
        "    throughput: {reduction_type: \"final\", regexp: 'Throughput: ([0-9, .]*)'}\n"
        "    loss: {regexp: \"loss: *(.*?),\", skip: 1}\n"
        "  derived:\n"
        "    hour: {expr: '{throughput} * 3600 / {batch}'}\n"
        "  output:\n"
        "    - [samples/sec, \"throughput\"]\n"
        "    - [per hour, hour]\n"
        "first:\n"
        "  <<: *common\n"
        "  description: |\n    What it is.\n"
        "  parameters: {batch: '2, 4', length: [8, 16]}\n"
        "  cmd: >-\n    prattle bench train={batch}x{length}\n      --model \"random:a b\"\n"
        "second:\n"
        "  <<: *common\n"
        "  parameters: [[batch, size], [1, small], [2, big]]\n"
        "  cmd: prattle generate {size} --model {model}\n";
    static const char output[] = "Throughput: 1,000.5 \nloss: 9.0, loss: 2.5, acc: 1,\r\n"
                                 "loss: 3.5, Throughput: 20 samples";
    struct spec s;
    double values[SPEC_FIGURES];
    char **words;
    assert_ok(read_text(&s, text));
    assert_int_equal(s.n, 2);
    const struct spec_entry *e = spec_find(&s, "first");
    assert_int_equal(json_array_size(e->variants), 4);
    assert_int_equal(e->repeats, 5);
    const json_t *variant = json_array_get(e->variants, 2);
    assert_ok(spec_words(&words, e->command, variant, "m"));
    assert_string_equal(words[2], "train=4x8");
    assert_string_equal(words[4], "random:a b");
    assert_null(words[5]);
    spec_free_words(words);
    assert_ok(spec_figures(values, e, variant, output, strlen(output)));
    assert_true(values[0] == 20);
    assert_true(values[1] == 3); /* of 2.5 and 3.5 */
    assert_true(values[2] == 18000);
    assert_false(e->figures[1].shown);
    assert_string_equal(e->figures[2].unit, "per hour");
    assert_says(spec_figures(values, e, variant, "nothing", 7),
                "throughput: no number in the output matches its regexp");
    e = spec_find(&s, "second");
    assert_int_equal(json_array_size(e->variants), 2);
    assert_ok(spec_words(&words, e->command, json_array_get(e->variants, 1), "a model"));
    assert_string_equal(words[2], "big");
    assert_string_equal(words[4], "a model");
    spec_free_words(words);
    spec_release(&s);
}

static void wrong_types_and_counts_are_refused(void **state)
{
    (void)state;
    refuse("", "s.yaml: expected names of benchmarks");
    refuse("- a\n- b\n", "expected names of benchmarks");
    refuse("a: 1\n", "expected a mapping");
    refuse("a: {data: {}}\n", "has no benchmark");
    refuse("a:\n  cmd: [1]" DATA, "cmd: expected a text");
    refuse("a:\n  cmd: prattle devices\n", "data: expected a mapping");
    refuse("a:\n  cmd: prattle devices\n  data: {x: 3}\n", "expected a mapping");
    refuse("a:\n  cmd: prattle devices\n  data: {x: {skip: 1}}\n", "x has no regexp");
    refuse("a:\n  cmd: prattle devices\n  dta: {}" DATA, "there is no dta; did you mean data?");
    refuse("a:\n  cmd: prattle devices\n  env: {LD_PRELOAD: x}" DATA, "env is not taken");
    refuse("a:\n  cmd: prattle devices\n  repeats: 1000000000" DATA, "1 to 1000");
    refuse("a:\n  cmd: prattle devices\n  repeats: 0" DATA, "1 to 1000");
    refuse("a:\n  cmd: prattle devices\n  repeats: 99999999999999999999" DATA, "1 to 1000");
    refuse("a:\n  cmd: prattle devices\n  plot: batch" DATA, "there is no parameter batch");
    refuse("a:\n  cmd: prattle devices\n  output: [[u, y]]" DATA, "there is no figure y");
    refuse("a:\n  cmd: prattle devices\n  output: {u: x}" DATA, "a list of [unit, figure]");
    refuse("a:\n  cmd: prattle devices\n  derived: {y: {expr: '{z}'}}" DATA,
           "there is no figure or parameter z");
    refuse("a:\n  cmd: prattle devices\n  derived: {y: {expr: 'system(1)'}}" DATA,
           "is not an expression");
    refuse("a:\n  cmd: prattle devices\n  parameters: 3" DATA, "parameters: expected a mapping");
    refuse("a:\n  cmd: prattle devices\n  parameters: {b: [[1]]}" DATA, "expected single values");
    refuse("a:\n  cmd: prattle devices\n  parameters: [[b], [1, 2]]" DATA, "row 1");
    refuse("\"a\\e[2J\":\n  cmd: prattle devices" DATA, "printable ASCII");
    refuse("a:\n  cmd: prattle devices" DATA "a:\n  cmd: prattle devices" DATA,
           "a name that stands here already");
    refuse("a: {b: [1\n", "s.yaml line ");
}

static void combinations_have_a_limit(void **state)
{
    (void)state;
    struct buf text = {0};
    assert_ok(buf_str(&text, "a:\n  cmd: prattle devices" DATA "  parameters:\n"));
    for (int i = 0; i < 8; i++)
        assert_ok(buf_printf(&text, "    p%d: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]\n", i));
    refuse(buf_text(&text), "more than 1000 combinations");
    buf_release(&text);
}

static void other_programs_are_not_run(void **state)
{
    (void)state;
    static const char *const commands[][2] = {
        {"rm -rf /", "cmd begins with rm; benchmarks run only prattle's own commands"},
        {"/bin/prattle bench", "benchmarks run only"},
        {"prattle", "prattle alone"},
        {"prattle convert a b --force", "prattle convert"},
        {"prattle --model x", "prattle --model"},
        {"prattle hub remove gpt2", "prattle hub"},
        {"prattle generate hi --save-samples /etc/passwd", "write no files"},
        {"prattle generate hi --force", "write no files"},
        {"prattle generate hi -f", "write no files"},
        {"prattle generate hi -ofile", "there is no option -ofile"},
        {"prattle generate hi --no-offline", "write no files"},
        {"prattle generate -- --force", "-- is not for benchmarks"},
        {"prattle train x folder=/home", "a folder of its own"},
        {"prattle train x checkpoint.folder=/home", "a folder of its own"},
        {"prattle train resume", "train resume"},
        {"prattle bench history", "bench history"},
        {"prattle bench s.yaml", "does not run other specifications"},
        {"prattle bench {nothing}", "there is no parameter nothing"},
        {"prattle bench \\\"a", "is not closed"},
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        struct buf text = {0};
        assert_ok(buf_printf(&text, "a:\n  cmd: \"%s\"" DATA, commands[i][0]));
        refuse(buf_text(&text), commands[i][1]);
        buf_release(&text);
    }
    /* A value cannot become another word, or another command. */
    refuse("a:\n  cmd: 'prattle {c}'\n  parameters: {c: [devices, 'convert a b']}" DATA,
           "prattle convert a b");
}

static void aliases_do_not_explode(void **state)
{
    (void)state;
    struct buf text = {0};
    assert_ok(buf_str(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"));
    for (int i = 1; i < 10; i++) {
        assert_ok(buf_printf(&text, "a%d: &a%d [", i, i));
        for (int k = 0; k < 10; k++)
            assert_ok(buf_printf(&text, "%s*a%d", k > 0 ? ", " : "", i - 1));
        assert_ok(buf_str(&text, "]\n"));
    }
    refuse(buf_text(&text), "s.yaml line 5: more than 20000 values");
    text.n = 0;
    for (int i = 0; i < 100; i++)
        assert_ok(buf_str(&text, "["));
    refuse(buf_text(&text), "nested too deep");
    refuse("a: &a [*a]\n", "an alias of nothing");
    refuse("a:\n  <<: 3\n", "<< merges mappings");
    refuse("{a: b}: c\n", "expected a name");
    buf_release(&text);
}

static void refuse_pattern(const char *text, const char *sentence)
{
    struct pattern p = {0};
    assert_says(pattern_compile(&p, text), sentence);
    assert_false(p.compiled);
}

static void expressions_without_bound_are_refused(void **state)
{
    (void)state;
    char longest[PATTERN_BYTES + 2];
    memset(longest, '(', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    refuse_pattern(longest, "1 to 256 characters");
    refuse_pattern("", "1 to 256 characters");
    refuse_pattern("(", "is not valid");
    refuse_pattern("[0-9", "not closed");
    refuse_pattern("a{1000}", "not counts up to 100");
    refuse_pattern("((a{100}){100}){100}", "more than 2 counts");
    refuse_pattern("(a)\\1", "a backreference");
    refuse_pattern("(a)(b)", "more than one group");
    refuse_pattern("(?:a)", "(?");
    refuse_pattern("(.*?)", "no character behind it");
    refuse_pattern("a*?b", "a repetition of a repetition");
}

static double first_number(const char *pattern, const char *text)
{
    struct pattern p = {0};
    struct numbers found = {0};
    assert_ok(pattern_compile(&p, pattern));
    assert_ok(pattern_find(&p, &found, text, strlen(text)));
    const double x = found.n > 0 ? found.list[0] : NAN;
    numbers_release(&found);
    pattern_release(&p);
    return x;
}

static void numbers_are_found(void **state)
{
    (void)state;
    struct pattern p = {0};
    struct numbers found = {0};
    assert_true(first_number("loss: *(.*?),", "a loss:  2.5, loss: 3,") == 2.5);
    assert_true(first_number("accuracy: *(.*?)\\%", "accuracy: 12%") == 12);
    assert_true(first_number("(\\d+\\.\\d+)", "in 3 rounds 4.25 s") == 4.25);
    assert_true(first_number("rate ([\\d.,e-]+)", "rate 1.5e-3, x") == 0.0015);
    assert_true(first_number("^[0-9]+$", "a\r\n17\r\n") == 17);
    assert_true(isnan(first_number("never ([0-9]+)", "at all")));
    assert_true(isnan(first_number("b*", "")));
    assert_ok(pattern_compile(&p, "x (.*)"));
    assert_says(pattern_find(&p, &found, "x \x1b[2J", 6), "found \\x1b[2J, which is not a number");
    assert_says(pattern_find(&p, &found, "x nan", 5), "found nan");
    assert_says(pattern_find(&p, &found, "x ", 2), "found nothing");
    numbers_release(&found);
    pattern_release(&p);
}

static int no_name(void *user, const char *name, size_t n, double *out)
{
    (void)user;
    (void)name;
    (void)n;
    *out = 7;
    return 0;
}

static void expressions_are_arithmetic(void **state)
{
    (void)state;
    const struct expression_names names = {no_name, NULL};
    char deep[400];
    double x;
    assert_ok(expression_value(&x, "1 + 2 * -3 - (4 - {a}) / 2", &names));
    assert_true(x == -3.5);
    assert_fails(expression_value(&x, "1 / 0", &names), ERR_RANGE, "not a finite number");
    assert_fails(expression_value(&x, "1 2", &names), ERR_FORMAT, "is not an expression");
    assert_fails(expression_value(&x, "", &names), ERR_FORMAT, "is not an expression");
    assert_fails(expression_value(&x, "{a", &names), ERR_FORMAT, "is not an expression");
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    assert_fails(expression_value(&x, deep, &names), ERR_FORMAT, "is not an expression");
}

static void sides_are_days_and_machines(void **state)
{
    (void)state;
    json_t *o = json_pack("{s:s, s:s}", "date", "2026-11-23T10:00:00Z", "machine", "a/b");
    assert_true(result_is_of(o, "2026-11-23"));
    assert_true(result_is_of(o, "a/b"));
    assert_true(result_is_of(o, "a/b/2026-11-23"));
    assert_false(result_is_of(o, "2026-11-2"));
    assert_false(result_is_of(o, "a/b/2026-11-24"));
    assert_false(result_is_of(o, "a"));
    assert_false(result_is_of(o, ""));
    json_decref(o);
}

/* Whatever allocation fails, the sentence says so, and nothing is lost. */
static void memory_may_run_out(void **state)
{
    (void)state;
    static const char text[] = "c: &c" DATA "a:\n  <<: *c\n  parameters: {b: [1, 2]}\n"
                               "  cmd: prattle bench {b}\n";
    int rc = -1;
    for (uint64_t k = 1; rc != 0 && k < 1000; k++) {
        struct spec s;
        mem_fail_at(k);
        rc = read_text(&s, text);
        mem_fail_at(0);
        if (rc == 0)
            spec_release(&s);
        else
            assert_int_equal(rc, ERR_NOMEM);
    }
    assert_int_equal(rc, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_format_of_the_examples_is_read),
        cmocka_unit_test(wrong_types_and_counts_are_refused),
        cmocka_unit_test(combinations_have_a_limit),
        cmocka_unit_test(other_programs_are_not_run),
        cmocka_unit_test(aliases_do_not_explode),
        cmocka_unit_test(expressions_without_bound_are_refused),
        cmocka_unit_test(numbers_are_found),
        cmocka_unit_test(expressions_are_arithmetic),
        cmocka_unit_test(sides_are_days_and_machines),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
