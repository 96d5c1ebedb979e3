/* The settings that come with a model take a template in. */
#include "model/defaults.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "tests/lib/test.h"

#include <string.h>

static void a_template_goes_to_the_settings(void **state)
{
    (void)state;
    static const struct {
        const char *before, *template, *after; /* after NULL: as before */
    } cases[] = {{NULL, "", NULL},
                 {NULL, "{prompt}", NULL},
                 {"top_k: 3\n", "{prompt}", NULL},
                 {"template: 'Q: {prompt}'\n", "Q: {prompt}", NULL},
                 {NULL, "Q: {prompt}\nA:", "template: \"Q: {prompt}\\nA:\"\n"},
                 {"template: Q {prompt}\n", "{prompt}", "template: \"{prompt}\"\n"},
                 {"prompt_template: Q {prompt}\ntop_k: 3", "\"\\{prompt}\t\x01",
                  "top_k: 3\ntemplate: \"\\\"\\\\{prompt}\\u0009\\u0001\"\n"},
                 {"# a comment\nbegin: on\nstop: [\"a,b\", c]\ngrammar: null\ntemplate:\n",
                  "{prompt}!", "begin: on\nstop: \"a\\\\,b,c\"\ntemplate: \"{prompt}!\"\n"},
                 {"{\"top_p\": 0.5, \"stop\": \"null\"}", "{prompt}!",
                  "top_p: 0.5\nstop: \"null\"\ntemplate: \"{prompt}!\"\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = cases[i].before == NULL ? NULL : mem_strdup(cases[i].before);
        const char *file = "config.json";
        bool changed;
        assert_ok(defaults_set_template(&text, &file, cases[i].template, &changed));
        assert_int_equal(changed, cases[i].after != NULL);
        assert_string_equal(file, changed ? "prattle.yaml" : "config.json");
        const char *want = changed ? cases[i].after : cases[i].before;
        assert_int_equal(text == NULL, want == NULL);
        if (want != NULL)
            assert_string_equal(text, want);
        /* Once is enough. */
        assert_ok(defaults_set_template(&text, &file, cases[i].template, &changed));
        assert_false(changed);
        mem_free(text);
    }
}

static void what_cannot_be_read_stays(void **state)
{
    (void)state;
    char *text = mem_strdup("a: [1\n");
    const char *file = "prattle.yaml";
    bool changed;
    assert_int_equal(defaults_set_template(&text, &file, "{prompt}!", &changed), ERR_FORMAT);
    assert_false(changed);
    assert_string_equal(text, "a: [1\n");
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_template_goes_to_the_settings),
        cmocka_unit_test(what_cannot_be_read_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
