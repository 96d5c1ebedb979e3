#include "repl/bench/spec_words.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "repl/settings/options_table.h"

#include <stdio.h>
#include <string.h>

/* What only measures and prints, or, as train, writes where it is told to. */
static const char *const commands[] = {"bench", "devices", "eval", "generate",
                                       "model", "tokens",  "train"};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

/* Options that write to files, or overwrite them. */
static const char *const writers[] = {"force", "out", "save_samples", "offline"};
enum { N_WRITERS = sizeof writers / sizeof *writers };

/* {NAME} at text: its value; NULL after an error. */
static const char *look_up(const char *text, size_t n, const json_t *variant, const char *model)
{
    char name[64], shown[80];
    snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : (int)sizeof name - 1, text);
    const char *value =
        strcmp(name, "model") == 0 ? model : json_string_value(json_object_get(variant, name));
    if (value == NULL)
        err_set(ERR_MISSING, "cmd: there is no parameter %s", file_show(shown, sizeof shown, name));
    return value;
}

/* The next word at *at, quotes taken out and values put in, into out; *at NULL: there is none. */
static int read_word(struct buf *out, const char **at, const json_t *variant, const char *model)
{
    const char *p = *at + strspn(*at, " \t\n");
    char quote = '\0';
    int rc = 0;
    *at = NULL;
    if (*p == '\0')
        return 0;
    for (; rc == 0 && *p != '\0' && (quote != '\0' || strchr(" \t\n", *p) == NULL); p++) {
        const char *end = *p == '{' ? strchr(p, '}') : NULL;
        if (*p == quote && quote != '\0') {
            quote = '\0';
        } else if (quote == '\0' && (*p == '"' || *p == '\'')) {
            quote = *p;
        } else if (end != NULL) {
            const char *value = look_up(p + 1, (size_t)(end - p - 1), variant, model);
            rc = value == NULL ? err_last() : buf_str(out, value);
            p = end;
        } else {
            rc = buf_char(out, *p);
        }
    }
    if (rc == 0 && quote != '\0')
        rc = err_set(ERR_FORMAT, "cmd: a quote (%c) is not closed", quote);
    *at = p;
    return rc;
}

static int check_option(const char *word)
{
    char name[64];
    const struct setting *row = NULL;
    const size_t dashes = strspn(word, "-"), n = strcspn(word + dashes, "=");
    snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : (int)sizeof name - 1,
             word + dashes);
    for (char *p = name; *p != '\0'; p++)
        *p = *p == '-' ? '_' : *p;
    if (dashes == 1 && word[1] != '\0' && word[2] == '\0')
        row = settings_table_by_letter(&options_table, word[1]);
    else if (dashes == 2)
        row = settings_table_find(&options_table, strncmp(name, "no_", 3) == 0 ? name + 3 : name);
    if (row == NULL)
        return err_set(ERR_UNSUPPORTED, "cmd: there is no option %s", file_quote(word));
    for (int i = 0; i < N_WRITERS; i++)
        if (strcmp(row->name, writers[i]) == 0)
            return err_set(ERR_UNSUPPORTED, "cmd: --%s is not for benchmarks, which write no files",
                           row->name);
    return 0;
}

/* Words behind the command's name. */
static int check_argument(const char *command, const char *word)
{
    const bool bench = strcmp(command, "bench") == 0, train = strcmp(command, "train") == 0;
    if (*word == '-' && word[strspn(word, "-")] == '\0')
        return err_set(ERR_UNSUPPORTED, "cmd: %s is not for benchmarks", word);
    if (*word == '-' && strspn(word, "-.0123456789") < strlen(word))
        return check_option(word);
    if (train && strstr(word, "folder") != NULL && strchr(word, '=') != NULL)
        return err_set(ERR_UNSUPPORTED,
                       "cmd: train has a folder of its own here, which is deleted");
    if (train && (strcmp(word, "resume") == 0 || strcmp(word, "status") == 0))
        return err_set(ERR_UNSUPPORTED, "cmd: train %s is not for benchmarks", word);
    if ((bench || strcmp(command, "eval") == 0) && strcmp(word, "history") == 0)
        return err_set(ERR_UNSUPPORTED, "cmd: %s history is not for benchmarks", command);
    if (bench && (text_ends_in(word, ".yaml") || text_ends_in(word, ".yml")))
        return err_set(ERR_UNSUPPORTED, "cmd: a benchmark does not run other specifications");
    return 0;
}

static int check_words(char *const *argv, int n)
{
    int k = 0;
    if (n == 0 || strcmp(argv[0], "prattle") != 0)
        return err_set(ERR_UNSUPPORTED,
                       "cmd begins with %s; benchmarks run only prattle's own commands",
                       n == 0 ? "nothing" : file_quote(argv[0]));
    while (n > 1 && k < N_COMMANDS && strcmp(argv[1], commands[k]) != 0)
        k++;
    if (n < 2 || k == N_COMMANDS)
        return err_set(ERR_UNSUPPORTED,
                       "cmd runs prattle %s; benchmarks run bench, devices, eval, generate, model, "
                       "tokens or train",
                       n < 2 ? "alone" : file_quote(argv[1]));
    int rc = 0;
    for (int i = 2; i < n && rc == 0; i++)
        rc = check_argument(argv[1], argv[i]);
    return rc;
}

int spec_words(char ***argv, const char *command, const json_t *variant, const char *model)
{
    const char *at = command;
    int n = 0, rc = 0;
    if ((*argv = mem_array(SPEC_WORDS + 1, sizeof **argv)) == NULL)
        return ERR_NOMEM;
    while (rc == 0) {
        struct buf word = {0};
        rc = read_word(&word, &at, variant, model);
        if (rc == 0 && at != NULL && n == SPEC_WORDS)
            rc = err_set(ERR_RANGE, "cmd has more than %d words", SPEC_WORDS);
        if (rc == 0 && at != NULL && ((*argv)[n++] = mem_strdup(buf_text(&word))) == NULL)
            rc = ERR_NOMEM;
        buf_release(&word);
        if (at == NULL)
            break;
    }
    if (rc == 0)
        rc = check_words(*argv, n);
    if (rc != 0) {
        spec_free_words(*argv);
        *argv = NULL;
    }
    return rc;
}

void spec_free_words(char **argv)
{
    for (int i = 0; argv != NULL && argv[i] != NULL; i++)
        mem_free(argv[i]);
    mem_free(argv);
}
