/* Lines of commands: each is run or refused in a sentence that fits, and leaves nothing behind. */
#include "tests/lib/test.h"

#include "repl/commands/command.h"
#include "repl/commands/help_topics.h"
#include "repl/commands/table.h"
#include "repl/session/repl.h"
#include "train/config/run_config.h"

#include <stdio.h>
#include <string.h>

static int open_repl(void **state)
{
    static struct repl r;
    *state = &r;
    int rc = repl_init(&r);
    /* Not the one that ships: with or without it the sentences are the same. */
    return rc == 0 ? options_set(&r.options, OPTION(device.model), ORIGIN_COMMAND_LINE, "") : rc;
}

static int close_repl(void **state)
{
    repl_release(*state);
    return 0;
}

static void assert_refused(struct repl *r, const char *line, const char *part)
{
    assert_true(command_run_line(r, line) != 0);
    if (strstr(err_text(), part) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", line, err_text(), part);
    /* Nothing of a line stays behind. */
    const struct setting *o;
    for (int i = 0; (o = settings_table_at(&options_table, i)) != NULL; i++)
        assert_null(settings_store_text(&r->options.store, ORIGIN_CALL, o));
}

/* A value or name of any length leaves room for what is wrong with it. */
static int long_sentences;

static void look_brief(const char *about, const char *line)
{
    const char *said = err_text();
    bool whole = strstr(said, "aaaaaaaa") != NULL && strstr(said, "...") == NULL;
    if (strlen(said) <= 560 && !whole)
        return;
    long_sentences++;
    print_error("%s: %.40s...: %zu bytes%s: %.100s\n", about, line, strlen(said),
                whole ? ", not said to be cut" : "", said);
}

enum { LONG = 5000 };

static const char *long_value(char first)
{
    static char text[LONG + 1];
    memset(text, 'a', LONG);
    text[0] = first;
    return text;
}

static void long_values_are_cut(void **state)
{
    struct repl *r = *state;
    static const char *const forms[] = {
        "%s %s",        "%s x %s",        "%s %s x",       "%s --%s",    "%s --seed=%s",
        "%s x=%s",      "%s %s=1",        "%s steps=%s",   "%s show %s", "%s status %s",
        "%s resume %s", "%s resume x=%s", "%s load %s",    "%s save %s", "%s info %s",
        "%s kl %s",     "%s text %s",     "%s wikitext %s"};
    static const char firsts[] = "a1./-\\:,\x1b";
    char line[LONG + 100];
    const struct setting *o;
    const struct command *c;
    long_sentences = 0;
    assert_ok(options_set(&r->options, OPTION(device.model), ORIGIN_COMMAND_LINE,
                          "random:tests/cli/data/config.json"));
    for (const char *first = firsts; *first != '\0'; first++) {
        const char *value = long_value(*first);
        for (int i = 0; (o = settings_table_at(&options_table, i)) != NULL; i++)
            if (options_set(&r->options, o, ORIGIN_CALL, value) != 0)
                look_brief(o->name, value);
        options_clear(&r->options, ORIGIN_CALL);
        for (int i = 0; (c = command_at(i)) != NULL; i++)
            for (size_t k = 0; k < sizeof forms / sizeof *forms && !(c->flags & TAKES_TEXT); k++) {
                snprintf(line, sizeof line, forms[k], c->name, value);
                if (command_run_line(r, line) != 0)
                    look_brief(c->name, line);
            }
        snprintf(line, sizeof line, "%s x", value);
        assert_true(command_run_line(r, line) != 0);
        look_brief("a command", line);
        for (int i = 0; (o = settings_table_at(&options_table, i)) != NULL; i++) {
            snprintf(line, sizeof line, "set %s %s", o->name, value);
            if (command_run_line(r, line) != 0)
                look_brief("set", line);
        }
        snprintf(line, sizeof line, "set %s 1", value);
        assert_true(command_run_line(r, line) != 0);
        look_brief("set", line);
    }
    assert_int_equal(long_sentences, 0);
}

static void long_keys_of_files_are_cut(void **state)
{
    struct repl *r = *state;
    struct settings_text from = {.label = "a file", .may_set = option_per_line};
    static const char *const forms[] = {"%s: 1\n",
                                        "temperature: %s\n",
                                        "training:\n  %s: 1\n",
                                        "%s\n",
                                        "a: [%s\n",
                                        "x: &%s 1\n",
                                        "x: *%s\n",
                                        "!%s\n"};
    struct run_config config;
    const struct setting *row;
    char text[LONG + 100];
    const char *value = long_value('a');
    long_sentences = 0;
    assert_ok(run_config_init(&config));
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        snprintf(text, sizeof text, forms[k], value);
        from.text = text;
        from.n = strlen(text);
        if (options_read(&r->options, ORIGIN_USER_FILE, &from) != 0)
            look_brief("settings", text);
        if (run_config_read(&config, ORIGIN_FILE, "a file", text, strlen(text)) != 0)
            look_brief("a run", text);
    }
    for (const char *first = "a1./-\\:,\x1b"; *first != '\0'; first++)
        for (int i = 0; (row = settings_table_at(&run_table, i)) != NULL; i++) {
            char key[100];
            snprintf(key, sizeof key, "%s.%s", row->group, row->name);
            if (run_config_set(&config, ORIGIN_FILE, key, long_value(*first)) != 0)
                look_brief("a run", key);
        }
    run_config_release(&config);
    assert_int_equal(long_sentences, 0);
}

static void rows_are_sound(void **state)
{
    (void)state;
    const struct command *c;
    for (int i = 0; (c = command_at(i)) != NULL; i++) {
        assert_non_null(c->run);
        assert_true(c->arguments != NULL && c->help != NULL && strlen(c->help) > 4);
        assert_true(c->flags & (IN_REPL | IN_SHELL));
        assert_ptr_equal(command_find(c->name), c);
        /* Every option a row names is one for single commands. */
        for (const char *p = c->options; p != NULL && *p != '\0';) {
            char name[32];
            int n = (int)strcspn(p, " ");
            snprintf(name, sizeof name, "%.*s", n, p);
            assert_non_null(settings_table_find(&options_table, name));
            assert_true(settings_table_find(&options_table, name)->call_only);
            p += n + (p[n] == ' ');
        }
    }
}

/* Each word of a list is one that is(word). */
static void each_word(const char *list, bool (*is)(const char *word))
{
    for (const char *p = list; p != NULL && *p != '\0';) {
        char word[64];
        int n = (int)strcspn(p, " ");
        snprintf(word, sizeof word, "%.*s", n, p);
        if (!is(word))
            fail_msg("there is no %s", word);
        p += n + (p[n] == ' ');
    }
}

static bool is_command(const char *name)
{
    return command_find(name) != NULL;
}

/* The first word of each line, up to a tab or space. */
static void each_line(const struct command *c, const char *lines, bool (*is)(const char *word))
{
    for (const char *p = lines; p != NULL && *p != '\0';) {
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(p, " \t\n"), p);
        if (is != NULL ? !is(word) : strcmp(word, c->name) != 0)
            fail_msg("%s: \"%s\" is not of it", c->name, word);
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
}

static void help_is_whole_and_short(void **state)
{
    (void)state;
    const struct command *c, *before = NULL;
    const struct setting *o;
    int rows = 0;
    for (int i = 0; (c = command_at(i)) != NULL; before = c, i++) {
        rows += (c->flags & IN_REPL) && !(c->flags & MINOR);
        assert_non_null(c->summary);
        if (strlen(c->summary) > 45)
            fail_msg("%s: the summary has %zu characters", c->name, strlen(c->summary));
        assert_true(c->help[strlen(c->help) - 1] == '.');
        /* A group's rows stand together. */
        for (int k = 0; k < i; k++)
            if (strcmp(command_at(k)->group, c->group) == 0)
                assert_string_equal(before->group, c->group);
        each_word(c->related, is_command);
        each_line(c, c->examples, NULL);
        each_line(c, c->topics, help_is_topic);
    }
    /* A screen of 24 rows: these, the line of the others, two lines below, and the prompt. */
    assert_true(rows + 4 <= 24);
    /* Behind the column of names a line of 80 columns holds these. */
    for (int i = 0; (o = settings_table_at(&options_table, i)) != NULL; i++)
        if (strlen(o->help) > 55)
            fail_msg("%s: %zu characters", o->name, strlen(o->help));
    for (int i = 0; (o = settings_table_at(&run_table, i)) != NULL; i++)
        if (strlen(o->help) > 55)
            fail_msg("%s: %zu characters", o->name, strlen(o->help));
}

static void other_names_are_nobody_elses(void **state)
{
    (void)state;
    assert_ptr_equal(command_called("q"), command_find("quit"));
    assert_ptr_equal(command_called("exit"), command_find("quit"));
    assert_ptr_equal(command_called("h"), command_find("help"));
    assert_null(command_called(""));
    assert_null(command_called("q|exit"));
    assert_null(command_find("exit")); /* in the shell it is a model */
}

static void bad_lines_are_explained(void **state)
{
    struct repl *r = *state;
    assert_refused(r, "lod", "there is no command :lod; did you mean `:load`?");
    assert_refused(r, "xyzzyx", ":help lists them");
    assert_refused(r, "", "a command's name follows its colon");
    assert_refused(r, "convert #a b", "usage: :convert IN OUT [TEXT]; `:help convert` explains");
    assert_refused(r, "logits a", "logits is for the shell");
    assert_refused(r, "convert a", "usage: :convert IN OUT");
    assert_refused(r, "convert a b c d", "usage: :convert IN OUT [TEXT]");
    assert_refused(r, "convert a b c", "a TEXT is for --dtype q8");
    assert_refused(r, "convert a \"b", "a quote (\") is not closed; \\\" is the character itself");
    assert_refused(r, "convert a b --all", "convert does not take --all");
    /* nor is a setting of an answer one of a command that does not answer */
    assert_refused(r, "convert a b --top-k 3", "convert does not take --top-k");
    assert_refused(r, "history --greedy", "history does not take --temperature");
    assert_refused(r, "eval my.txt --top-k 3", "eval does not take --top-k");
    assert_refused(r, "train finetune --save-samples x", "train does not take --save-samples");
    assert_refused(r, "model --seq-length 8", "model does not take --seq-length");
    assert_refused(r, "convert a b --frce", "did you mean force?");
    assert_refused(r, "convert a b --dtype fp7",
                   "dtype must be auto, fp16, fp32, q8 or bf16, not fp7");
    assert_refused(r, "save x", "no model");
    assert_refused(r, "continue", "no model");
    assert_refused(r, "load", "which model?");
    assert_refused(r, "set top_p 2", "top_p must be 0 to 1, not 2");
    assert_refused(r, "set topp 1", "did you mean top_p?");
    assert_refused(r, "set force on", "force is for one command");
    assert_refused(r, "set kernels sse9", "kernels");
    assert_refused(r, "reset everything", "there is no setting everything");
    assert_refused(r, "reset top_k top_p", "usage: :reset");
    assert_refused(r, "history none", "must be 1 to 1000000");
    assert_refused(r, "help nonsense", "there is no");
    /* A name with an escape sequence in it comes back harmless. */
    assert_refused(r, "\033[2J", "\\x1b[2J");
}

static void settings_are_set(void **state)
{
    struct repl *r = *state;
    assert_ok(command_run_line(r, "set top_k 40"));
    assert_ok(command_run_line(r, "set  temperature = 0.5 "));
    assert_ok(command_run_line(r, "set stop \"a b \""));
    assert_ok(command_run_line(r, "set greedy"));
    assert_int_equal(r->options.settings.sampler.top_k, 40);
    assert_true(r->options.settings.sampler.temperature == 0);
    assert_string_equal(r->options.settings.generate.stop, "a b ");
    assert_ok(command_run_line(r, "set stop \"\""));
    assert_string_equal(r->options.settings.generate.stop, "");
    assert_ok(command_run_line(r, "reset"));
    assert_int_equal(r->options.settings.sampler.top_k, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_repl, close_repl)

int main(void)
{
    commands_use(command_table);
    const struct CMUnitTest tests[] = {
        TEST(long_values_are_cut),
        TEST(long_keys_of_files_are_cut),
        TEST(rows_are_sound),
        TEST(help_is_whole_and_short),
        TEST(other_names_are_nobody_elses),
        TEST(bad_lines_are_explained),
        TEST(settings_are_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
