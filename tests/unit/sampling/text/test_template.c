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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_template_has_the_prompt_in_its_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
