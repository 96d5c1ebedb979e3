#include "tests/lib/test.h"

#include "model/base/file.h"
#include "repl/commands/table.h"
#include "repl/settings/options.h"
#include "repl/commands/systems.h"
#include "train/config/run_config.h"

#include <stdio.h>
#include <string.h>

/* "schedule.warmup", "--top_k", ":save". */
static bool is_there(const char *name)
{
    const struct setting *row;
    if (*name == ':')
        return command_find(name + 1) != NULL;
    if (strncmp(name, "--", 2) == 0)
        return settings_table_find(&options_table, name + 2) != NULL;
    return strchr(name, '.') != NULL && settings_table_lookup(&run_table, &row, name, false) == 0;
}

static void every_name_exists(void **state)
{
    (void)state;
    const struct system_option *o;
    int n = 0;
    for (; (o = system_option_at(n)) != NULL; n++) {
        assert_true(*o->system != '\0' && *o->option != '\0');
        /* What is not here has a reason. */
        assert_true(*o->here != '\0' || *o->note != '\0');
        for (const char *p = o->here; *p != '\0';) {
            char name[80];
            size_t length = strcspn(p, ",");
            snprintf(name, sizeof name, "%.*s", (int)length, p);
            if (!is_there(name))
                fail_msg("%s %s: there is no %s", o->system, o->option, name);
            p += length;
            p += strspn(p, ", ");
        }
    }
    assert_true(n > 100);
}

static void no_option_stands_twice(void **state)
{
    (void)state;
    const struct system_option *o, *other;
    for (int i = 0; (o = system_option_at(i)) != NULL; i++)
        for (int k = 0; k < i; k++) {
            other = system_option_at(k);
            if (strcmp(o->system, other->system) == 0 && strcmp(o->option, other->option) == 0)
                fail_msg("%s %s stands twice", o->system, o->option);
        }
}

/* The next word of a row's options: "a.b, .c" are a.b and a.c, "--x none" is --x and none. */
static const char *next_word(const char *at, char word[96])
{
    char full[96];
    at += strspn(at, ", ()");
    size_t n = strcspn(at, ", ()");
    const char *dot = *at == '.' ? strrchr(word, '.') : NULL;
    if (n == 0)
        return NULL;
    snprintf(full, sizeof full, "%.*s%.*s", dot == NULL ? 0 : (int)(dot - word), word, (int)n, at);
    memcpy(word, full, sizeof full);
    return at + n;
}

static bool has_word(const struct system_option *o, const char *option)
{
    char word[96] = "";
    for (const char *at = o->option; (at = next_word(at, word)) != NULL;)
        if (setting_same_name(word, option))
            return true;
    return false;
}

/* "script.py --x": in a row that has both. */
static bool is_in_table(const char *system, const char *option)
{
    const struct system_option *o;
    char script[64];
    const char *space = strchr(option, ' ');
    snprintf(script, sizeof script, "%.*s", space == NULL ? 0 : (int)(space - option), option);
    for (int i = 0; (o = system_option_at(i)) != NULL; i++)
        if (strcmp(o->system, system) == 0 && (space == NULL || has_word(o, script)) &&
            has_word(o, space == NULL ? option : space + 1))
            return true;
    return false;
}

static int count_names(const char *list)
{
    int n = *list != '\0';
    for (const char *p = list; (p = strchr(p, ',')) != NULL; p++)
        n++;
    return n;
}

/* Name number i of "a, b". */
static void nth_name(char out[80], const char *list, int i)
{
    for (; i > 0; i--)
        list = strchr(list, ',') + 2;
    snprintf(out, 80, "%.*s", (int)strcspn(list, ","), list);
}

/* Of systems whose options are plain words: where a row has one setting for each and no note. */
static void what_is_the_same_has_its_name_here_too(void **state)
{
    (void)state;
    const struct system_option *o;
    int n = 0;
    for (int i = 0; (o = system_option_at(i)) != NULL; i++) {
        const int names = count_names(o->option);
        for (int k = 0; *o->note == '\0' && names == count_names(o->here) && k < names; k++) {
            char option[80], here[80];
            const struct setting *row, *other;
            nth_name(option, o->option, k);
            nth_name(here, o->here, k);
            if (option[strspn(option, "abcdefghijklmnopqrstuvwxyz_0123456789")] != '\0' ||
                settings_table_lookup(&run_table, &row, here, true) != 0)
                continue;
            if (settings_table_lookup(&run_table, &other, option, true) != 0 || other != row)
                fail_msg("%s: %s is not %s", o->system, option, here);
            n++;
        }
    }
    assert_true(n > 50);
}

/* tests/golden/systems.txt: what the sources of these systems have. */
static void every_published_option_is_in_the_table(void **state)
{
    (void)state;
    struct buf all = {0};
    int n = 0;
    assert_ok(file_read_all(&all, "tests/golden/systems.txt", 1 << 20));
    for (char *line = strtok(all.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char system[32], option[64];
        if (*line == '#')
            continue;
        assert_int_equal(sscanf(line, "%31[^\t]\t%63[^\t]", system, option), 2);
        if (!is_in_table(system, option))
            fail_msg("%s %s is in no row", system, option);
        n++;
    }
    assert_true(n > 300);
    assert_false(is_in_table("nanoGPT", "no_such_option"));
    assert_false(is_in_table("nanoGPT", "--hpu"));
    /* Of another script. */
    assert_true(is_in_table("fairseq on Gaudi", "preprocess.py --workers"));
    assert_false(is_in_table("fairseq on Gaudi", "preprocess.py --keep-empty"));
    buf_release(&all);
}

static bool is_named(const char *name)
{
    const struct system_option *o;
    for (int k = 0; (o = system_option_at(k)) != NULL; k++) {
        const char *at = strstr(o->here, name);
        if (at != NULL && (at[strlen(name)] == '\0' || at[strlen(name)] == ','))
            return true;
    }
    return false;
}

/* What stands in a list of our own is still a setting, and in no system's table. */
static void expect_settings_of_runs(const char *own)
{
    const struct setting *row;
    char *words = strdup(own);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
        if (settings_table_lookup(&run_table, &row, word, false) != 0 || is_named(word))
            fail_msg("%s is no setting of our own", word);
    free(words);
}

/* Every setting of a run has its place in some system's table, or is our own: a new one
 * makes its author look. */
static void every_setting_is_accounted_for(void **state)
{
    (void)state;
    static const char own[] =
        " data.document_separator data.special data.generated_tokens "
        "training.budget_hours training.embd_pdrop training.resid_pdrop "
        "training.max_bad_steps training.spike_z execution.matrices execution.elastic "
        "execution.memory checkpoint.min_part_mb "
        "optimizer.momentum schedule.decay_start schedule.cycles "
        "logging.eval logging.eval_file logging.sample_every logging.sample_prompt "
        "logging.sample_tokens lora.rank lora.alpha lora.lora_dropout lora.target_modules "
        "lora.use_rslora lora.adapter ";
    const struct setting *row;
    int n = 0;
    for (; (row = settings_table_at(&run_table, n)) != NULL; n++) {
        char name[80], listed[82];
        snprintf(name, sizeof name, "%s.%s", row->group, row->name);
        snprintf(listed, sizeof listed, " %s ", name);
        if (!is_named(name) && strstr(own, listed) == NULL)
            fail_msg("%s: which option of the systems replaced is it?", name);
    }
    assert_true(n > 60);
    expect_settings_of_runs(own);
}

/* The same of evaluations. */
static void every_option_of_eval_is_accounted_for(void **state)
{
    (void)state;
    static const char for_eval[] = " limit strict like other_dtype other_cache_dtype ",
                      own[] =
                          " detokenize keep_results limit other_dtype other_cache_dtype data_field "
                          "data_prompt_template data_completion_template ";
    const struct setting *row;
    int n = 0;
    for (int i = 0; (row = settings_table_at(&options_table, i)) != NULL; i++) {
        char name[80], listed[82];
        snprintf(listed, sizeof listed, " %s ", row->name);
        if (strcmp(row->group, "Evaluation") != 0 && strstr(for_eval, listed) == NULL)
            continue;
        n++;
        option_dashed(name, sizeof name, row->name);
        if (!is_named(name) && strstr(own, listed) == NULL)
            fail_msg("%s: which option of the systems replaced is it?", name);
    }
    assert_true(n >= 10);
}

int main(void)
{
    commands_use(command_table);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_exists),
        cmocka_unit_test(no_option_stands_twice),
        cmocka_unit_test(what_is_the_same_has_its_name_here_too),
        cmocka_unit_test(every_published_option_is_in_the_table),
        cmocka_unit_test(every_setting_is_accounted_for),
        cmocka_unit_test(every_option_of_eval_is_accounted_for),
    };
    return cmocka_run_group_tests_name("systems", tests, NULL, NULL);
}
