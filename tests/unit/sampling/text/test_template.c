/* A prompt in its template. */
#include "sampling/text/template.h"
#include "tests/lib/test.h"

#include <string.h>

/* Every place has the prompt, whose own are text. */
static void a_template_has_the_prompt_in_its_places(void **state)
{
    (void)state;
    static const struct {
        const char *template, *prompt, *want;
    } cases[] = {{NULL, "q", "q"},
                 {"", "q {prompt}", "q {prompt}"},
                 {"{prompt}", "", ""},
                 {"Q: {prompt}\\nA:", "who?", "Q: who?\nA:"},
                 {"{prompt}{prompt}", "a", "aa"},
                 {"{prompts}{{prompt}}", "{prompt}", "{prompts}{{prompt}}"},
                 {"\\\\n \\d {prompt}", "\\n", "\\n \\d \\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        assert_ok(template_fill(&out, cases[i].template, cases[i].prompt, strlen(cases[i].prompt)));
        assert_string_equal(buf_text(&out), cases[i].want);
        buf_release(&out);
    }
    assert_ok(template_check(""));
    assert_ok(template_check("a{prompt}"));
    assert_fails(template_check("a {Prompt}"), ERR_RANGE,
                 "template must have {prompt} where the prompt goes");
    assert_fails(template_check("{prompt}\xff"), ERR_FORMAT, "template is not UTF-8");
}

/* One rule for these and the templates of data: what is a name, and what is text. */
static void braces_that_name_nothing_are_text(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"", ""},
                                           {"a", "a"},
                                           {"{a}", "<a>"},
                                           {"Q: {a}{b c} ", "Q: <a><b c> "},
                                           {"{{a}}", "{<a>}"},
                                           {"{{a{b}", "{{a<b>"},
                                           {"{}{ a}{a }", "{}{ a}{a }"},
                                           {"{a", "{a"},
                                           {"a}{", "a}{"},
                                           {"{\"k\": \"{v}\"}", "{\"k\": \"<v>\"}"},
                                           {"{a\nb}{\303\251}", "{a\nb}<\303\251>"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf out = {0};
        struct template_piece p;
        const char *at = cases[i][0];
        while (template_next(&p, &at))
            assert_ok(p.name == NULL ? buf_add(&out, p.text, p.n)
                                     : buf_printf(&out, "<%.*s>", (int)p.n_name, p.name));
        assert_string_equal(buf_text(&out), cases[i][1]);
        assert_ptr_equal(at, cases[i][0] + strlen(cases[i][0]));
        buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(braces_that_name_nothing_are_text),
        cmocka_unit_test(a_template_has_the_prompt_in_its_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
