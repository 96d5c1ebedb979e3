/* Prompts and answers as lines of JSON. */
#include "tests/lib/test.h"

#include "model/base/words.h"
#include "repl/session/json_lines.h"
#include "repl/settings/options.h"

#include <string.h>

static struct buf told;
static void tell(const char *sentence)
{
    assert_ok(buf_printf(&told, "%s\n", sentence));
}

static void json_lines_are_read(void **state)
{
    (void)state;
    struct options o;
    struct json_prompt p;
    assert_ok(options_init(&o));
    static const char good[] = "{\"prompt\":\"a\\u0000b\",\"top-k\":5,\"temperature\":0.25,"
                               "\"trim\":false,\"stop\":\"x\"}";
    assert_ok(json_line_prompt(&p, good, sizeof good - 1, &o, 5, tell));
    assert_int_equal(p.n, 3);
    assert_memory_equal(p.text, "a\0b", 3);
    assert_int_equal(p.settings.sampler.top_k, 5);
    assert_true(p.settings.sampler.temperature == 0.25f);
    assert_false(p.settings.generate.trim);
    json_prompt_release(&p);
    static const char as_openai[] =
        "{\"prompt\":\"a\",\"n\":3,\"logprobs\":5,\"max_tokens\":7,\"echo\":true}";
    assert_ok(json_line_prompt(&p, as_openai, sizeof as_openai - 1, &o, 5, tell));
    assert_int_equal(p.settings.generate.num_return_sequences, 3);
    assert_int_equal(p.settings.generate.max_new_tokens, 7);
    assert_int_equal(p.settings.batch.top_logprobs, 5);
    assert_int_equal(p.settings.talk.echo, SWITCH_ON);
    json_prompt_release(&p);
    static const char as_chat[] = "{\"prompt\":\"a\",\"top_logprobs\":4,\"logprobs\":true}";
    assert_ok(json_line_prompt(&p, as_chat, sizeof as_chat - 1, &o, 5, tell));
    assert_int_equal(p.settings.batch.top_logprobs, 4);
    json_prompt_release(&p);
    static const char in_words[] = "{\"prompt\":\"a\",\"template\":\"\\\\n {prompt}\\n, \"}";
    assert_ok(json_line_prompt(&p, in_words, sizeof in_words - 1, &o, 5, tell));
    assert_string_equal(p.settings.generate.template, "\\\\n {prompt}\\n, ");
    json_prompt_release(&p);
    static const char as_llama[] =
        "{\"prompt\":\"a\",\"n_probs\":3,\"dry_sequence_breakers\":[\"x\"],\"format\":\"json\"}";
    assert_ok(json_line_prompt(&p, as_llama, sizeof as_llama - 1, &o, 5, tell));
    assert_int_equal(p.settings.batch.top_logprobs, 3);
    assert_string_equal(p.settings.sampler.dry_breakers, "x");
    assert_string_equal(p.settings.sampler.grammar, "json");
    json_prompt_release(&p);
    static const char as_text[] = "{\"prompt\":\"a\",\"response_format\":{\"type\":\"text\"}}";
    assert_ok(json_line_prompt(&p, as_text, sizeof as_text - 1, &o, 5, tell));
    assert_string_equal(p.settings.sampler.grammar, "");
    json_prompt_release(&p);
    assert_ok(options_set(&o, OPTION(sampler.grammar), ORIGIN_SET, "json"));
    assert_ok(json_line_prompt(&p, as_text, sizeof as_text - 1, &o, 5, tell));
    assert_string_equal(p.settings.sampler.grammar, "");
    json_prompt_release(&p);
    assert_ok(options_set(&o, OPTION(sampler.grammar), ORIGIN_SET, ""));
    static const char of_ids[] =
        "{\"ids\":[1],\"prompt\":null,\"template\":\"\",\"logit_bias\":[\"5:1\",\"6:2\"]}";
    assert_ok(json_line_prompt(&p, of_ids, sizeof of_ids - 1, &o, 5, tell));
    assert_string_equal(p.settings.sampler.logit_bias, "5:1,6:2");
    json_prompt_release(&p);
    static const char *const bad[][2] = {
        {"{\"prompt\": \"a\", \"template\": \"Q\"}", "template must have {prompt} where"},
        {"{\"ids\": [1], \"template\": \"{prompt}\"}", "template is for a prompt"},
        {"{\"prompt\": \"a\", \"grammar\": \"json\", \"response_format\": {\"type\": \"text\"}}",
         "is in this line twice"},
        {"", "the line is empty"},
        {" \t\r", "the line is empty"},
        {"[1]", "expected an object"},
        {"null", "expected an object"},
        {"{\"prompt\": \"a\",}", "at column 16"},
        {"{}", "there is no \"prompt\""},
        {"{\"messages\": [{\"role\": \"user\"}]}",
         "a line has no messages; its text is \"prompt\""},
        {"{\"prompt\": 3}", "prompt must be one text; a line has one prompt"},
        {"{\"prompt\": \"a\", \"prompt\": \"b\"}", "the JSON is not read: duplicate"},
        {"{\"prompt\": \"a\", \"tempature\": 1}", "did you mean temperature?"},
        {"{\"prompt\": \"a\", \"threads\": 1}", "threads cannot be given for a single line"},
        {"{\"prompt\": \"a\", \"top_p\": 7}", "top_p must be 0 to 1, not 7"},
        {"{\"prompt\": \"a\", \"max_tokens\": -1}", "max_tokens must be a whole number"},
        {"{\"prompt\": \"a\", \"max_tokens\": 2, \"max_new_tokens\": 3}",
         "max_new_tokens is in this line twice, by two names: give one of them"},
        {"{\"prompt\": \"a\", \"temperature\": 0.5, \"greedy\": true}",
         "temperature is in this line twice, by two names: give one of them"},
        {"{\"prompt\": \"a\", \"greedy\": true, \"temperature\": 0.5}",
         "temperature is in this line twice, by two names: give one of them"},
        {"{\"prompt\": \"a\", \"speculate\": \"lokup\"}",
         "speculate must be auto, off or lookup in a single line, not lokup"},
        {"{\"prompt\": \"a\", \"max_tokens\": 2.0000000001}", "not 2.0000000001"},
        {"{\"prompt\": \"a\", \"logprobs\": 101}", "logprobs must be a whole number, 0 to 100"},
        {"{\"prompt\": \"a\", \"n\": []}", "n must be a text, a number"},
        {"{\"prompt\": \"a\", \"top_p\": []}", "top_p must be a text, a number"},
        {"{\"ids\": [1, -2]}", "ids[1] is not a token ID"},
        {"{\"ids\": [1], \"prompt\": \"a\"}", "give one"},
        {"{\"prompt\": \"a\", \"completion\": \"b\"}",
         "a line has no completion; jq -c 'del(.completion)' FILE makes prompts of training data"},
        {"{\"prompt_ids\": [1]}", "a line has no prompt_ids; its token IDs are \"ids\""},
        {"{\"prompt\": \"a\", \"max_length\": 9}", "max_new_tokens counts new tokens"},
        {"{\"prompt\": \"a\", \"stop_token_ids\": [9]}", "stop_token has IDs"},
        {"{\"prompt\": \"a\", \"stream\": false}",
         "a line has no stream; leave it out: a whole answer is one line"},
        {"{\"prompt\": \"a\", \"n_keep\": 4}", "a line has no n_keep; on_full is slide"},
        {"{\"prompt\": \"a\", \"do_sample\": 0}", "do_sample must be true or false"},
        {"{\"prompt\": \"a\", \"do_sampl\": true}", "did you mean do_sample?"},
        {"{\"prompt\": \"\xff\"}", "not JSON"},
    };
    assert_int_not_equal(json_line_prompt(&p, "\0\0", 2, &o, 5, tell), 0);
    assert_null(strstr(err_text(), "is empty"));
    json_prompt_release(&p);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_true(json_line_prompt(&p, bad[i][0], strlen(bad[i][0]), &o, 5, tell) != 0);
        if (strstr(err_text(), bad[i][1]) == NULL)
            fail_msg("%s: \"%s\" does not say \"%s\"", bad[i][0], err_text(), bad[i][1]);
        assert_null(strstr(err_text(), "top_logprobs")); /* a name of ours that nobody gave */
        json_prompt_release(&p);
    }
    options_release(&o);
}

/* false is greedy, wherever a temperature stands; true is as set. */
static void sampling_can_be_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        float temperature;
    } lines[] = {
        {"{\"prompt\":\"a\",\"do_sample\":false}", 0},
        {"{\"prompt\":\"a\",\"do_sample\":false,\"temperature\":0.5}", 0},
        {"{\"prompt\":\"a\",\"do_sample\":true,\"temperature\":0.5}", 0.5f},
        {"{\"prompt\":\"a\",\"do_sample\":true}", 0.25f},
        {"{\"prompt\":\"a\",\"do_sample\":null}", 0.25f},
        {"{\"prompt\":\"a\"}", 0.25f},
    };
    struct options o;
    struct json_prompt p;
    assert_ok(options_init(&o));
    assert_ok(options_set(&o, OPTION(sampler.temperature), ORIGIN_SET, "0.25"));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_ok(json_line_prompt(&p, lines[i].line, strlen(lines[i].line), &o, 5, tell));
        assert_true(p.settings.sampler.temperature == lines[i].temperature);
        json_prompt_release(&p);
    }
    options_release(&o);
}

static void read_line(struct json_prompt *p, struct options *o, const char *line)
{
    assert_ok(json_line_prompt(p, line, strlen(line), o, 5, tell));
}

static void values_mean_what_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool own; /* the draw is the line's */
    } draws[] = {{"{\"prompt\":\"a\",\"seed\":3}", true},
                 {"{\"prompt\":\"a\",\"draw\":0}", true},
                 {"{\"prompt\":\"a\",\"seed\":null,\"draw\":null}", false},
                 {"{\"prompt\":\"a\",\"top_p\":0.5}", false}};
    struct options o;
    struct json_prompt p;
    struct words words;
    assert_ok(options_init(&o));
    for (size_t i = 0; i < sizeof draws / sizeof *draws; i++) {
        read_line(&p, &o, draws[i].line);
        assert_int_equal(p.own_draw, draws[i].own);
        assert_int_equal(p.settings.sampler.seed, i == 0 ? 3 : 5);
        json_prompt_release(&p);
    }
    read_line(&p, &o,
              "{\"ids\":[0,2147483647],\"stop\":[\"a,b\",\"c\\\\n\"],"
              "\"logit_bias\":{\"5\":-1.5,\"6\":2},\"temperature\":0.123456789,\"seed\":0}");
    assert_int_equal(p.ids.n, 2);
    assert_int_equal(p.ids.data[1], INT32_MAX);
    assert_ok(words_parse(&words, p.settings.generate.stop));
    assert_int_equal(words.n, 2);
    assert_string_equal(words.list[0].bytes, "a,b");
    assert_string_equal(words.list[1].bytes, "c\\n"); /* three characters, no end of a line */
    words_release(&words);
    assert_string_equal(p.settings.sampler.logit_bias, "5:-1.5,6:2");
    assert_true(p.settings.sampler.temperature == 0.123456789f);
    assert_true(p.settings.sampler.seed != 0 && p.settings.sampler.seed != 5); /* a fresh one */
    json_prompt_release(&p);
    read_line(&p, &o, "{\"ids\":[0],\"temperature\":0.5,\"greedy\":false}");
    assert_true(p.settings.sampler.temperature == 0.5f);
    json_prompt_release(&p);
    read_line(&p, &o, "{\"ids\":[0],\"seed\":12345678901.0,\"draw\":1e10,\"top_k\":5.0}");
    assert_int_equal(p.settings.sampler.seed, 12345678901);
    assert_int_equal(p.settings.sampler.draw, 10000000000);
    assert_int_equal(p.settings.sampler.top_k, 5);
    json_prompt_release(&p);
    static const char *const bad[][2] = {
        {"{\"ids\":[2147483648]}", "ids[0] is not a token ID"},
        {"{\"ids\":[1.0]}", "ids[0] is not a token ID"},
        {"{\"ids\":[]}", "ids must not be empty"},
        {"{\"prompt\":\"a\",\"logit_bias\":{\"5:1\":2}}", "must not have 5:1 as a name"},
        {"{\"prompt\":\"a\",\"logit_bias\":{\"5,1\":2}}", "must not have 5,1 as a name"},
        {"{\"prompt\":\"a\",\"logit_bias\":[[\"a\",2]]}", "or a list of pairs, as [[65, -100]"},
        {"{\"prompt\":\"a\",\"logit_bias\":[[5,true]]}", "or a list of pairs, as [[65, -100]"},
        {"{\"prompt\":\"a\",\"logit_bias\":[[5]]}", "or a list of pairs, as [[65, -100]"},
        {"{\"prompt\":\"a\",\"logit_bias\":{\"5\":true}}", "must be an object, as {\"65\": -100}"},
        {"{\"prompt\":\"a\",\"logit_bias\":{\"5\":null}}", "must be an object, as {\"65\": -100}"},
        {"{\"prompt\":null,\"ids\":null}", "there is no \"prompt\""},
        {"{\"prompt\":[5,6]}", "prompt must be one text; token IDs are \"ids\""},
        {"{\"prompt\":\"a\",\"stop\":\"\\u0000\"}", "must be a text without NUL"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_says(json_line_prompt(&p, bad[i][0], strlen(bad[i][0]), &o, 5, tell), bad[i][1]);
        json_prompt_release(&p);
    }
    options_release(&o);
}

/* What a line asks for is done, whatever a file has; the note comes once, and the next line is as
 * if this one had not been. */
static void a_line_comes_before_a_file(void **state)
{
    (void)state;
    struct options o;
    struct json_prompt p;
    static const char yaml[] = "num_beams: 3\ntop_k: 4\nseed: 8\n",
                      search[] = "{\"prompt\": \"a\", \"penalty_alpha\": 0.5}",
                      many[] = "{\"prompt\": \"a\", \"n\": 4, \"seed\": 0}",
                      both[] = "{\"prompt\": \"a\", \"penalty_alpha\": 0.5, \"num_beams\": 2}",
                      plain[] = "{\"prompt\": \"a\"}";
    const struct settings_text from = {.label = "f", .text = yaml, .n = sizeof yaml - 1};
    for (int user = 0; user < 2; user++) {
        assert_ok(options_init(&o));
        assert_ok(user ? options_read(&o, ORIGIN_USER_FILE, &from)
                       : options_read_stored(&o, &from));
        for (int twice = 0; twice < 2; twice++) {
            assert_ok(json_line_prompt(&p, search, sizeof search - 1, &o, 5, tell));
            assert_int_equal(p.settings.generate.num_beams, 1);
            assert_true(p.settings.generate.penalty_alpha == 0.5f);
            assert_int_equal(p.settings.sampler.seed, 8);
            json_prompt_release(&p);
        }
        assert_string_equal(buf_text(&told),
                            "f line 1: num_beams is 3 and penalty_alpha is 0.5: beam search and "
                            "contrastive search exclude each other: num_beams is left out\n");
        assert_ok(json_line_prompt(&p, many, sizeof many - 1, &o, 5, tell));
        assert_int_equal(p.settings.generate.num_beams, 1);
        assert_true(p.settings.sampler.seed != 0 && p.settings.sampler.seed != 8);
        json_prompt_release(&p);
        assert_fails(json_line_prompt(&p, both, sizeof both - 1, &o, 5, tell), ERR_RANGE,
                     "num_beams is 2 and penalty_alpha is 0.5");
        json_prompt_release(&p);
        assert_ok(json_line_prompt(&p, plain, sizeof plain - 1, &o, 5, tell));
        assert_int_equal(p.settings.generate.num_beams, 3);
        json_prompt_release(&p);
        assert_int_equal(o.settings.generate.num_beams, 3);
        told.n = 0;
        options_release(&o);
    }
    buf_release(&told);
}

static void json_lines_are_written(void **state)
{
    (void)state;
    token_id ids[] = {7, 8};
    float logprobs[] = {-0.5f, -1.25f};
    struct answer a = {.ids = {ids, 2, 2}, .logprobs = logprobs, .finish = FINISH_LENGTH};
    struct answer two[2] = {{.finish = FINISH_LENGTH}, {.finish = FINISH_STOP_TOKEN}};
    struct settings greedy = {.sampler.seed = 7},
                    drawn = {.sampler = {.seed = UINT64_MAX, .temperature = 1}};
    struct buf out = {0};
    assert_ok(buf_add(&a.text, "\n\xff\"", 3));
    assert_ok(
        json_line_answer(&out, (struct json_asked){.text = "p", .n = 1}, &greedy, 3, &a, 1, NULL));
    assert_string_equal(
        buf_text(&out),
        "{\"prompt\":\"p\",\"text\":\"\\n\xef\xbf\xbd\\\"\",\"ids\":[7,8],"
        "\"logprobs\":[-0.5,-1.25],\"finish_reason\":\"length\",\"logprobs_of\":\"model\"}\n");
    out.n = 0;
    assert_ok(json_line_answer(&out, (struct json_asked){.id = "7"}, &drawn, 3, two, 2, NULL));
    assert_string_equal(
        buf_text(&out),
        "{\"id\":7,\"answers\":[{\"text\":\"\",\"ids\":[],\"logprobs\":[],\"finish_reason\":"
        "\"length\","
        "\"draw\":3},{\"text\":\"\",\"ids\":[],\"logprobs\":[],\"finish_reason\":\"stop token\","
        "\"draw\":4}],\"logprobs_of\":\"model\",\"seed\":\"18446744073709551615\"}\n");
    out.n = 0;
    struct settings beams = {.generate.num_beams = 2};
    two[1].score = -0.5;
    assert_ok(
        json_line_answer(&out, (struct json_asked){.text = "p", .n = 1}, &beams, 3, two, 1, NULL));
    assert_non_null(strstr(buf_text(&out), ",\"finish_reason\":\"length\",\"score\":0.0,"));
    out.n = 0;
    assert_ok(json_line_answer(&out, (struct json_asked){.text = "p", .n = 1}, &beams, 3, two + 1,
                               1, NULL));
    assert_non_null(strstr(buf_text(&out), ",\"score\":-0.5,"));
    out.n = 0;
    assert_ok(json_line_error(&out, (struct json_asked){.id = "\"q\\u0000\""}, "why"));
    assert_string_equal(buf_text(&out), "{\"id\":\"q\\u0000\",\"error\":\"why\"}\n");
    buf_release(&out);
    buf_release(&a.text);
}

/* Log-probabilities come back to the bit; each answer has as many alternatives as were found for
 * it; a search has its scores and no draws. */
static void numbers_are_written_in_full(void **state)
{
    (void)state;
    token_id ids[] = {7, 8};
    float own[] = {-1.0f / 3, -16777215.0f / 16777216};
    struct token_score best[] = {{3, -0.25f}, {4, -0.5f}, {5, -0.75f}, {6, -1}};
    struct answer a[] = {{.ids = {ids, 2, 2}, .logprobs = own, .score = -0.5},
                         {.ids = {ids, 2, 2}, .logprobs = own}};
    struct token_scores scores[] = {{.n = 2, .top = 2, .best = best}, {.n = 2}};
    struct line_scores l = {.answers = scores, .n = 2};
    struct settings drawn = {.sampler = {.seed = 9, .temperature = 1}}, beams = drawn;
    struct buf out = {0};
    beams.generate.num_beams = 2;
    assert_true(json_is_drawn(&drawn));
    assert_false(json_is_drawn(&beams));
    assert_ok(json_line_answer(&out, (struct json_asked){0}, &beams, 3, a, 2, &l));
    const char *at = strstr(buf_text(&out), "\"logprobs\":[");
    assert_non_null(at);
    char *end;
    assert_true(strtof(at + strlen("\"logprobs\":["), &end) == own[0]);
    assert_true(*end == ',' && strtof(end + 1, NULL) == own[1]);
    assert_non_null(strstr(at, "\"top_logprobs\":[[{\"id\":3,\"logprob\":-0.25},"
                               "{\"id\":4,\"logprob\":-0.5}],[{\"id\":5,\"logprob\":-0.75},"
                               "{\"id\":6,\"logprob\":-1.0}]]"));
    const char *second = strstr(at, "\"score\":-0.5},");
    assert_non_null(second);
    assert_non_null(strstr(second + strlen("\"score"), "\"score\":0.0}"));
    assert_null(strstr(second, "top_logprobs"));
    assert_null(strstr(buf_text(&out), "\"draw\""));
    assert_null(strstr(buf_text(&out), "\"seed\""));
    buf_release(&out);
}

/* Whatever it is, and of a line that is wrong too. */
static void an_id_comes_back(void **state)
{
    (void)state;
    static const char *const ids[] = {"7",         "\"row 7\"", "\"\\u0000\\u00e9\"",      "null",
                                      "[1,\"a\"]", "true",      "12345678901234567890123", "0.1"};
    static const char *const as[] = {
        "7", "\"row 7\"", "\"\\u0000\xc3\xa9\"", "null", "[1,\"a\"]", "true", NULL, "0.1"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct options o;
        struct json_prompt p;
        char line[128];
        struct buf out = {0}, expected = {0};
        assert_ok(options_init(&o));
        int n = snprintf(line, sizeof line, "{\"prompt\":\"a\",\"top_p\":7,\"id\":%s}", ids[i]);
        assert_true(json_line_prompt(&p, line, (size_t)n, &o, 5, tell) != 0);
        assert_ok(json_line_error(&out, json_prompt_asked(&p), "why"));
        if (as[i] == NULL) /* beyond what JSON numbers are here: the line is no JSON to us */
            assert_null(p.id);
        else {
            assert_ok(
                buf_printf(&expected, "{\"id\":%s,\"prompt\":\"a\",\"error\":\"why\"}\n", as[i]));
            assert_string_equal(buf_text(&out), buf_text(&expected));
        }
        buf_release(&expected);
        buf_release(&out);
        json_prompt_release(&p);
        options_release(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_lines_are_read),        cmocka_unit_test(values_mean_what_they_say),
        cmocka_unit_test(sampling_can_be_left_out),   cmocka_unit_test(numbers_are_written_in_full),
        cmocka_unit_test(a_line_comes_before_a_file), cmocka_unit_test(json_lines_are_written),
        cmocka_unit_test(an_id_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
