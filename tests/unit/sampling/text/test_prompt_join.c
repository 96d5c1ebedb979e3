/* A prompt that goes on from a text: the ids of both encoded at once. */
#include "sampling/text/prompt.h"
#include "tests/lib/test.h"
#include "weights/open.h"

#include <string.h>

static const char *const texts[] = {"Once upon a time",
                                    "He said no.",
                                    "a ",
                                    "a  ",
                                    "a\n",
                                    "a\n\n",
                                    "a\n\n\n",
                                    "a \n ",
                                    "a\t",
                                    "it\xc2\xa0",
                                    "One. Two.\n\nThree",
                                    "\n\n",
                                    " ",
                                    "7"};
static const char *const prompts[] = {"there was",   " there was", "  two", "\nline", "\n\nline",
                                      "\n\n\n line", ", and",      "'s",    "8",      "\t x",
                                      " ",           "b ",         "\n",    "."};

/* What stands between them: white space of their own, or a space. */
static const char *joint(const char *text, const char *prompt)
{
    static const char white[] = " \t\n\v\f\r";
    return strchr(white, text[strlen(text) - 1]) != NULL || strchr(white, *prompt) != NULL ? ""
                                                                                           : " ";
}

static void expect_same(const struct prompt *a, const struct prompt *b, const char *text,
                        const char *prompt)
{
    if (a->ids.n != b->ids.n || memcmp(a->ids.data, b->ids.data, a->ids.n * sizeof *a->ids.data) ||
        a->held_space != b->held_space)
        fail_msg("\"%s\" and \"%s\" are %zu ids, at once %zu", text, prompt, a->ids.n, b->ids.n);
}

static void expect_joined(const struct model *m, bool trim, const char *text, const char *prompt)
{
    const struct generate_config g = {.trim = trim};
    struct prompt parts = {0}, whole = {0};
    struct buf rest = {0}, all = {0};
    assert_ok(prompt_encode(&parts, m, &g, text, strlen(text)));
    assert_ok(prompt_join(&rest, &parts.ids, m, parts.held_space, prompt, strlen(prompt)));
    assert_ok(prompt_encode(&parts, m, &g, buf_text(&rest), rest.n));
    assert_ok(buf_printf(&all, "%s%s%s", text, joint(text, prompt), prompt));
    assert_ok(prompt_encode(&whole, m, &g, buf_text(&all), all.n));
    expect_same(&parts, &whole, text, prompt);
    buf_release(&rest);
    buf_release(&all);
    prompt_release(&parts);
    prompt_release(&whole);
}

static void ids_are_those_of_one_text(void **state)
{
    (void)state;
    struct source s;
    assert_ok(source_open(&s, "weights/bundled/bundled.gguf", 0, false, NULL));
    const struct model m = {.tokenizer = s.tokenizer};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t k = 0; k < sizeof prompts / sizeof *prompts; k++) {
            expect_joined(&m, false, texts[i], prompts[k]);
            expect_joined(&m, true, texts[i], prompts[k]);
        }
    source_close(&s);
}

/* A text that a special token ends, or none, has nothing to part from. */
static void no_space_begins_a_text(void **state)
{
    (void)state;
    struct source s;
    struct ids before = {0};
    struct buf out = {0};
    assert_ok(source_open(&s, "weights/bundled/bundled.gguf", 0, false, NULL));
    const struct model m = {.tokenizer = s.tokenizer};
    const token_id end = tokenizer_eos(s.tokenizer);
    assert_ok(prompt_join(&out, &before, &m, false, "a", 1));
    assert_string_equal(buf_text(&out), "a");
    assert_ok(ids_add(&before, &end, 1));
    out.n = 0;
    assert_ok(prompt_join(&out, &before, &m, false, "a", 1));
    assert_int_equal(out.n, 1);
    assert_int_equal(before.n, 1);
    ids_release(&before);
    buf_release(&out);
    source_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_those_of_one_text),
        cmocka_unit_test(no_space_begins_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
