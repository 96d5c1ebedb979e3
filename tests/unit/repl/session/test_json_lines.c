/* Prompts and answers as lines of JSON. */
#include "tests/lib/test.h"

#include "repl/session/json_lines.h"
#include "repl/settings/options.h"

#include <string.h>

static void json_lines_are_read(void **state)
{
    (void)state;
    struct options o;
    struct json_prompt p;
    assert_ok(options_init(&o));
    static const char good[] = "{\"prompt\":\"a\\u0000b\",\"top-k\":5,\"temperature\":0.25,"
                               "\"trim\":false,\"stop\":\"x\"}";
    assert_ok(json_line_prompt(&p, good, sizeof good - 1, &o.settings));
    assert_int_equal(p.n, 3);
    assert_memory_equal(p.text, "a\0b", 3);
    assert_int_equal(p.settings.sampler.top_k, 5);
    assert_true(p.settings.sampler.temperature == 0.25f);
    assert_false(p.settings.generate.trim);
    json_prompt_release(&p);
    static const char as_openai[] =
        "{\"prompt\":\"a\",\"n\":3,\"logprobs\":5,\"max_tokens\":7,\"echo\":true}";
    assert_ok(json_line_prompt(&p, as_openai, sizeof as_openai - 1, &o.settings));
    assert_int_equal(p.settings.generate.num_return_sequences, 3);
    assert_int_equal(p.settings.generate.max_new_tokens, 7);
    assert_int_equal(p.settings.batch.top_logprobs, 5);
    assert_int_equal(p.settings.talk.echo, SWITCH_ON);
    json_prompt_release(&p);
    static const char as_chat[] = "{\"prompt\":\"a\",\"top_logprobs\":4,\"logprobs\":true}";
    assert_ok(json_line_prompt(&p, as_chat, sizeof as_chat - 1, &o.settings));
    assert_int_equal(p.settings.batch.top_logprobs, 4);
    json_prompt_release(&p);
    static const char *const bad[][2] = {
        {"", "not JSON"},
        {"[1]", "expected an object"},
        {"null", "expected an object"},
        {"{\"prompt\": \"a\",}", "at column 16"},
        {"{}", "there is no \"prompt\""},
        {"{\"prompt\": 3}", "prompt must be a text"},
        {"{\"prompt\": \"a\", \"prompt\": \"b\"}", "not JSON: duplicate"},
        {"{\"prompt\": \"a\", \"tempature\": 1}", "did you mean temperature?"},
        {"{\"prompt\": \"a\", \"threads\": 1}", "threads cannot be given for a single line"},
        {"{\"prompt\": \"a\", \"top_p\": 7}", "top_p is 7, must be 0 to 1"},
        {"{\"prompt\": \"a\", \"top_p\": null}", "top_p must be a text, a number"},
        {"{\"ids\": [1, -2]}", "ids[1] is no token id"},
        {"{\"ids\": [1], \"prompt\": \"a\"}", "give one of them"},
        {"{\"prompt\": \"\xff\"}", "not JSON"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_true(json_line_prompt(&p, bad[i][0], strlen(bad[i][0]), &o.settings) != 0);
        if (strstr(err_text(), bad[i][1]) == NULL)
            fail_msg("%s: \"%s\" does not say \"%s\"", bad[i][0], err_text(), bad[i][1]);
        json_prompt_release(&p);
    }
    options_release(&o);
}

static void json_lines_are_written(void **state)
{
    (void)state;
    token_id ids[] = {7, 8};
    float logprobs[] = {-0.5f, -1.25f};
    struct answer a = {.ids = {ids, 2, 2}, .logprobs = logprobs, .finish = FINISH_LENGTH};
    struct buf out = {0};
    assert_ok(buf_add(&a.text, "\n\xff\"", 3));
    assert_ok(json_line_answer(&out, "p", 1, &a, 1, NULL));
    assert_string_equal(
        buf_text(&out),
        "{\"prompt\":\"p\",\"text\":\"\\n\xef\xbf\xbd\\\"\",\"ids\":[7,8],"
        "\"logprobs\":[-0.5,-1.25],\"finish_reason\":\"length\",\"logprobs_of\":\"model\"}\n");
    buf_release(&out);
    buf_release(&a.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_lines_are_read),
        cmocka_unit_test(json_lines_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
