/* Lines with a prompt and a completion in fields of other names, and a text in one of another. */
#include "tests/lib/data_set.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/data/pairs.h"

#include <string.h>

#define ASK "Q: {question}\\nA:"
#define ANSWER " {answer}"

static struct data_config lines_config(const char *name, const char *field, const char *prompt,
                                       const char *completion)
{
    struct data_config c = data_config_of(&name, 1);
    mem_free(c.lines.field);
    mem_free(c.lines.prompt_template);
    mem_free(c.lines.completion_template);
    c.lines = (struct data_lines){mem_strdup(field), mem_strdup(prompt), mem_strdup(completion)};
    return c;
}

/* The documents with what is learned of them, as ids and bounds. */
static void same_documents(struct dataset *a, struct dataset *b)
{
    token_id ids[2][512];
    assert_int_equal(a->n_tokens, b->n_tokens);
    assert_true(a->n_tokens <= 512);
    assert_ok(dataset_read(a, ids[0], 0, (size_t)a->n_tokens));
    assert_ok(dataset_read(b, ids[1], 0, (size_t)b->n_tokens));
    assert_memory_equal(ids[0], ids[1], a->n_tokens * sizeof **ids);
    assert_int_equal(a->n_documents, b->n_documents);
    assert_memory_equal(a->documents, b->documents, a->n_documents * sizeof *a->documents);
    assert_int_equal(a->completions == NULL, b->completions == NULL);
    if (a->completions != NULL)
        assert_memory_equal(a->completions, b->completions,
                            a->n_documents * sizeof *a->completions);
    assert_int_equal(a->n_prompt, b->n_prompt);
}

/* What is written otherwise is the same data. */
static void templates_are_filled(void **state)
{
    (void)state;
    static const struct {
        const char *lines, *field, *prompt, *completion, *plain;
    } cases[] = {
        {"{\"answer\": \"b\", \"question\": \"a\", \"text\": \"no\"}\n", "text", ASK, ANSWER,
         "{\"prompt\": \"Q: a\\nA:\", \"completion\": \" b\"}\n"},
        {"{\"i\": \"do\", \"input\": \"it\", \"o\": \"x\"}\n{\"i\": \"a\", \"input\": \"\", \"o\": "
         "\"\"}\n",
         "text", "{i}\\n{input}:", "{o}",
         "{\"prompt\": \"do\\nit:\", \"completion\": \"x\"}\n{\"prompt\": \"a\\n:\", "
         "\"completion\": \"\"}\n"},
        /* All of several fields is learned; a prompt may be the same in all. */
        {"{\"t\": \"a\", \"b\": \"c\"}\n", "text", "", "{t}\\n{b}", "{\"text\": \"a\\nc\"}\n"},
        {"{\"t\": \"a\"}\n", "text", "Say:", " {t}{t}",
         "{\"prompt\": \"Say:\", \"completion\": \" aa\"}\n"},
        /* What a field has is text, also what looks like a name or an escape. */
        {"{\"question\": \"{answer}\\\\n\", \"answer\": \"{question}\"}\n", "text", "{question}",
         "{answer}", "{\"prompt\": \"{answer}\\\\n\", \"completion\": \"{question}\"}\n"},
        {"{\"prompt\": \"a\", \"completion\": \"b\", \"text\": \"c\"}\n", "text",
         "{prompt}:", "{completion}", "{\"prompt\": \"a:\", \"completion\": \"b\"}\n"},
        /* Lines that have none of the fields are texts. */
        {"{\"content\": \"x\", \"prompt\": 1}\n{\"question\": \"a\", \"answer\": \"b\", "
         "\"content\": 1}\n",
         "content", "{question}", "{answer}",
         "{\"text\": \"x\"}\n{\"prompt\": \"a\", \"completion\": \"b\"}\n"},
        {"{\"content\": \"x\", \"text\": \"y\"}\n{\"prompt\": \"a\", \"completion\": \"b\"}\n",
         "content", PAIRS_PROMPT, PAIRS_COMPLETION,
         "{\"text\": \"x\"}\n{\"prompt\": \"a\", \"completion\": \"b\"}\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        data_text("lines.jsonl", cases[i].lines);
        data_text("plain.jsonl", cases[i].plain);
        struct data_config c =
            lines_config("lines.jsonl", cases[i].field, cases[i].prompt, cases[i].completion);
        struct data_config plain =
            lines_config("plain.jsonl", "text", PAIRS_PROMPT, PAIRS_COMPLETION);
        struct dataset d = data_open(&c, false), e = data_open(&plain, false);
        same_documents(&d, &e);
        dataset_close(&d);
        dataset_close(&e);
        data_config_release(&c);
        data_config_release(&plain);
    }
}

static void lines_without_a_field_are_refused(void **state)
{
    (void)state;
    static const char *const lines[][2] = {
        {"{\"question\": \"a\"}", "line 1: there is no field answer, which completion_template "
                                  "names; it has question"},
        {"{\"text\": \"a\", \"answer\": \"b\"}",
         "there is no field question, which prompt_template names; it has text, answer"},
        {"{\"question\": null, \"answer\": \"b\"}",
         "expected a field question that is a string, not null; prompt_template names it"},
        {"{\"question\": \"a\", \"answer\": 3}", "answer that is a string, not a number"},
        {"{\"question\": \"a\", \"answer\": true}", "a string, not true or false"},
        {"{\"question\": \"a\", \"answer\": {}}", "a string, not an object"},
        {"{\"question\": \"a\", \"answer\": [\"b\"]}", "a string, not a list"},
        {"{\"other\": \"a\"}", "there is no field question, which prompt_template names; it has "
                               "other"},
        {"{}", "there is no field question, which prompt_template names"},
        {"[{\"question\": \"a\"}]", "expected a whole object; jq"},
        {"\"question\"", "expected an object"},
        {"{\"question\": \"a\", \"answer\": \"b\"", "line 1"},
        {"{\"question\": \"a\", \"answer\": \"\xff\"}", ""}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct dataset d, v;
        data_text("bad.jsonl", lines[i][0]);
        struct data_config c = lines_config("bad.jsonl", "text", ASK, ANSWER);
        assert_int_equal(dataset_open(&d, &v, &c, data_tokenizer, 0, NULL), ERR_FORMAT);
        assert_non_null(strstr(err_text(), lines[i][1]));
        data_config_release(&c);
    }
}

static void templates_are_checked(void **state)
{
    (void)state;
    struct pairs p;
    struct buf many = {0};
    assert_fails(pairs_init(&p, ASK, ""), ERR_RANGE,
                 "completion_template must name a field in braces, as in \" {answer}\", not \"\"");
    assert_fails(pairs_init(&p, ASK, " {}{ a}{\"a\"}"), ERR_RANGE, "must name a field");
    assert_fails(pairs_init(&p, "\xff{a}", "{b}"), ERR_FORMAT, "prompt_template is not UTF-8");
    assert_fails(pairs_init(&p, "{a}", "{b}\xff"), ERR_FORMAT, "completion_template is not UTF-8");
    for (int i = 0; i < PAIRS_FIELDS; i++)
        assert_ok(buf_printf(&many, "{f%d}{f0}", i));
    assert_ok(pairs_check(buf_text(&many), "{f1}"));
    assert_fails(pairs_check(buf_text(&many), "{g}"), ERR_RANGE, "name more than 32 fields");
    buf_release(&many);
}

/* How a model is asked that was trained so. */
static void questions_take_the_prompts_form(void **state)
{
    (void)state;
    static const char *const cases[][3] = {{PAIRS_PROMPT, PAIRS_COMPLETION, ""},
                                           {ASK, ANSWER, "Q: {prompt}\nA:"},
                                           {"{question}", ANSWER, "{prompt}"},
                                           {PAIRS_PROMPT, " {completion}", "{prompt}"},
                                           {"{q} {q}", "{a}", "{prompt} {prompt}"},
                                           {"{{q}}\\\\n\\d", "{a}", "{{prompt}}\\\\n\\\\d"},
                                           {"{q}{r}", "{a}", ""},
                                           {"Say:", "{a}", ""},
                                           {"", "{a}", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pairs p;
        struct buf out = {0};
        assert_ok(pairs_init(&p, cases[i][0], cases[i][1]));
        assert_ok(pairs_ask(&p, &out));
        assert_string_equal(buf_text(&out), cases[i][2]);
        buf_release(&out);
        pairs_release(&p);
    }
}

/* Each way of reading has an encoding of its own, and the default that of old. */
static void sets_are_kept_apart(void **state)
{
    (void)state;
    static const char *const ways[][3] = {{"text", PAIRS_PROMPT, PAIRS_COMPLETION},
                                          {"a", PAIRS_PROMPT, PAIRS_COMPLETION},
                                          {"b", PAIRS_PROMPT, PAIRS_COMPLETION},
                                          {"text", "{a}", "{b}"},
                                          {"text", "{b}", "{a}"},
                                          {"text", "", "{a}{b}"},
                                          {"text", "{a}{b}", "{a}"}};
    enum { N = sizeof ways / sizeof *ways };
    data_text("kept.jsonl", "{\"a\": \"one\", \"b\": \"two\", \"text\": \"three\"}\n");
    data_text("kept.txt", "four");
    const int before = data_count_cached(".idx");
    for (int i = 0; i < 2 * N; i++) {
        struct data_config c =
            lines_config("kept.jsonl", ways[i % N][0], ways[i % N][1], ways[i % N][2]);
        struct dataset d = data_open(&c, false);
        dataset_close(&d);
        data_config_release(&c);
        assert_int_equal(data_count_cached(".idx") - before, i < N ? i + 1 : N);
    }
    /* A text is read in one way. */
    for (int i = 0; i < N; i++) {
        struct data_config c = lines_config("kept.txt", ways[i][0], ways[i][1], ways[i][2]);
        struct dataset d = data_open(&c, false);
        dataset_close(&d);
        data_config_release(&c);
        assert_int_equal(data_count_cached(".idx") - before, N + 1);
    }
}

static void note(void *user, const char *text)
{
    *(bool *)user |= strstr(text, "name no field of the data") != NULL;
}

static void names_that_are_nowhere_are_noted(void **state)
{
    (void)state;
    static const char *const prompts[] = {"{qeustion}", ASK, ""};
    for (int i = 0; i < 3; i++) {
        bool noted = false;
        const struct progress p = {.note = note, .user = &noted};
        struct dataset d, v;
        data_text("noted.jsonl", i == 1 ? "{\"question\": \"a\", \"asnwer\": \"b\"}"
                                        : "{\"question\": \"a\", \"text\": \"b\"}");
        struct data_config c =
            lines_config("noted.jsonl", "text", prompts[i], i == 1 ? " {asnwer}" : " {asnwer}");
        assert_ok(dataset_open(&d, &v, &c, data_tokenizer, 0, &p));
        assert_int_equal(noted, i == 0);
        dataset_close(&d);
        dataset_close(&v);
        data_config_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates_are_filled),
        cmocka_unit_test(lines_without_a_field_are_refused),
        cmocka_unit_test(templates_are_checked),
        cmocka_unit_test(questions_take_the_prompts_form),
        cmocka_unit_test(sets_are_kept_apart),
        cmocka_unit_test(names_that_are_nowhere_are_noted),
    };
    return cmocka_run_group_tests(tests, data_setup, data_teardown);
}
