#include "repl/commands/command.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "repl/commands/other_words.h"
#include "repl/commands/shell_words.h"
#include "repl/commands/train_words.h"
#include "repl/commands/typed_path.h"
#include "repl/session/processes.h"
#include "repl/session/repl.h"
#include "repl/terminal/pager.h"
#include "repl/terminal/progress.h"
#include "weights/hub/environment.h"

#include <stdarg.h>
#include <string.h>

enum { MAX_NAMES = 64, MAX_WORDS = 64, MAX_SETTINGS = 256, BEGINNING = 3 };

static const struct command *table; /* the last has no name */

void commands_use(const struct command *rows)
{
    table = rows;
}

const struct command *command_at(int i)
{
    return table[i].name != NULL ? &table[i] : NULL;
}

const struct command *command_find(const char *name)
{
    const struct command *c;
    for (int i = 0; (c = command_at(i)) != NULL && strcmp(c->name, name) != 0; i++)
        ;
    return c;
}

static bool list_has(const char *list, const char *name, char between)
{
    size_t n = strlen(name);
    const char *p = list;
    while (p != NULL && n > 0) {
        const char *end = strchrnul(p, between);
        if ((size_t)(end - p) == n && strncmp(p, name, n) == 0)
            return true;
        p = *end == '\0' ? NULL : end + 1;
    }
    return false;
}

const struct command *command_called(const char *name)
{
    const struct command *c = command_find(name);
    for (int i = 0; c == NULL && command_at(i) != NULL; i++)
        if (list_has(command_at(i)->also, name, '|'))
            c = command_at(i);
    return c;
}

bool command_takes(const struct command *c, const char *option)
{
    return list_has(c->options, option, ' ');
}

const char *command_nearest(const char *name, bool shell)
{
    const char *names[MAX_NAMES];
    size_t n = 0;
    const struct command *c;
    for (int i = 0; (c = command_at(i)) != NULL && n < MAX_NAMES; i++)
        if (c->flags & (shell ? IN_SHELL : IN_REPL))
            names[n++] = c->name;
    return words_nearest(name, names, n);
}

/* The command at the prompt that the name is near, or begins with: regen of "regenerate". */
static const char *meant_command(const char *name)
{
    const char *near = command_nearest(name, false);
    const struct command *c;
    for (int i = 0; (c = command_at(i)) != NULL && near == NULL; i++) {
        const size_t n = strlen(c->name);
        if ((c->flags & IN_REPL) && n >= BEGINNING && strncmp(name, c->name, n) == 0)
            near = c->name;
    }
    return near;
}

static const char *nearest_setting(const char *name)
{
    const char *names[MAX_SETTINGS];
    size_t n = 0;
    const struct setting *row;
    for (int i = 0; (row = settings_table_at(&options_table, i)) != NULL && n < MAX_SETTINGS; i++)
        if (!row->call_only)
            names[n++] = row->name;
    return words_nearest(name, names, n);
}

/* ":why?" asks for help; false: the name before the mark is no command. */
static bool refuse_question(const char *name)
{
    const size_t n = strlen(name);
    char *asked = n > 1 && name[n - 1] == '?' ? mem_sprintf("%.*s", (int)n - 1, name) : NULL;
    const struct command *c = asked != NULL ? command_called(asked) : NULL;
    if (c != NULL)
        err_set(ERR_MISSING, "there is no command :%s?; `:help %s` explains `:%s`", asked, c->name,
                c->name);
    mem_free(asked);
    return c != NULL;
}

static int refuse_unknown_command(const char *name)
{
    const char *near = meant_command(name), *setting = nearest_setting(name),
               *other = other_word_command(name);
    const struct setting *row = settings_table_find(&options_table, name);
    if (refuse_question(name))
        return ERR_MISSING;
    char *shown = file_visible(name);
    if (*name == '\0')
        err_set(ERR_MISSING,
                "a command's name follows its colon; :help lists them, :: begins a text "
                "with :");
    else if (row != NULL && !row->call_only)
        err_set(ERR_MISSING, "%s is a setting: `:set %s` shows it, `:set %s VALUE` changes it",
                row->name, row->name, row->name);
    else if (other != NULL)
        err_set(ERR_MISSING, "there is no command :%s; did you mean `:%s`?", shown, other);
    else if (shown != NULL && shell_word_is(name))
        shell_word_refuse((char *[]){shown}, 1);
    else if (near != NULL)
        err_set(ERR_MISSING, "there is no command :%s; did you mean `:%s`?", shown, near);
    else if (setting != NULL)
        err_set(ERR_MISSING, "there is no command :%s; did you mean `:set %s`?", shown, setting);
    else
        err_set(ERR_MISSING,
                "there is no command :%s; :help lists them, :: begins a text with :", shown);
    mem_free(shown);
    return ERR_MISSING;
}

static int refuse_option(const char *name, const struct setting *o)
{
    char dashed[64];
    option_dashed(dashed, sizeof dashed, o->name);
    return err_set(ERR_UNSUPPORTED, "%s does not take %s", name, dashed);
}

int command_check_options(const struct repl *r, const char *name, const char *allowed)
{
    const struct setting *o;
    for (int i = 0; (o = settings_table_at(&options_table, i)) != NULL; i++)
        if (o->call_only && settings_store_origin(&r->options.store, o) != ORIGIN_BUILT_IN &&
            !list_has(allowed, o->name, ' ') && !(r->profiled && strcmp(o->name, "force") == 0))
            return refuse_option(name, o);
    if (r->options.settings.call.format > TABLE_JSON && strcmp(name, "help") != 0)
        return err_set(ERR_UNSUPPORTED,
                       "%s: --format is text, markdown, csv or json; man and bash are for help",
                       name);
    return 0;
}

/* Whether the setting is one that only some commands read, and this is none of them. The machine's
 * are the program's in the shell. */
static bool is_for_others(const struct command *c, const struct setting *o, bool shell)
{
    const struct command *other;
    if (list_has(c->settings, o->name, ' '))
        return false;
    if (o->per_line)
        return !o->draws && !(c->flags & ANSWERS) &&
               !(shell && strcmp(o->group, "Model and machine") == 0);
    for (int i = 0; (other = command_at(i)) != NULL; i++)
        if (list_has(other->settings, o->name, ' '))
            return true;
    return false;
}

/* Settings that were given with a command which has no use for them. */
static int check_settings(const struct repl *r, const struct command *c, bool shell)
{
    const struct setting *o;
    const enum origin given = shell ? ORIGIN_COMMAND_LINE : ORIGIN_CALL;
    /* Launched ranks are given all that the session was. */
    if (processes_launched())
        return 0;
    for (int i = 0; (o = settings_table_at(&options_table, i)) != NULL; i++)
        if (settings_store_origin(&r->options.store, o) == given && is_for_others(c, o, shell))
            return train_explain_setting(refuse_option(c->name, o), c->name, o->name);
    return 0;
}

int command_usage(const struct call *c, const char *arguments, ...)
{
    const char *prefix = c->shell ? "prattle " : ":";
    struct buf text = {0};
    va_list args;
    va_start(args, arguments);
    int rc = buf_vprintf(&text, arguments, args);
    va_end(args);
    if (rc == 0)
        rc = text.n > 0 && strcmp(c->name, "help") != 0
                 ? err_set(ERR_RANGE, "usage: %s%s %s; `:help %s` explains", prefix, c->name,
                           buf_text(&text), c->name)
                 : err_set(ERR_RANGE, "usage: %s%s%s%s", prefix, c->name, text.n > 0 ? " " : "",
                           buf_text(&text));
    buf_release(&text);
    return rc;
}

/* --help at the prompt is `:help NAME`. */
static int explain_command(struct repl *r, const struct command *c)
{
    char *name = mem_strdup(c->name);
    const struct call call = {.name = "help", .text = c->name, .words = &name, .n = 1};
    const int rc = name == NULL ? ERR_NOMEM : command_find("help")->run(r, &call);
    mem_free(name);
    return rc;
}

static int run_command(struct repl *r, const struct command *c, const struct call *call)
{
    if (r->options.settings.call.help && !call->shell)
        return explain_command(r, c);
    bool fits = (c->flags & TAKES_TEXT) ||
                (call->n >= c->min_words && (c->max_words < 0 || call->n <= c->max_words));
    int rc = c->flags & TAKES_COMMAND ? 0 : command_check_options(r, call->name, c->options);
    if (rc == 0 && !(c->flags & TAKES_COMMAND))
        rc = check_settings(r, c, call->shell);
    hub_set_offline(r->options.settings.device.offline);
    hub_set_progress(progress_show());
    if (rc == 0 && !fits)
        rc = command_usage(call, "%s", c->arguments);
    if (rc == 0 && (c->flags & NEEDS_MODEL))
        rc = repl_need_model(r);
    if (rc != 0)
        return rc;
    if ((c->flags & LISTS) && !call->shell)
        pager_begin();
    rc = c->run(r, call);
    pager_end();
    return rc;
}

/* What is wrong may be a path as it was typed. */
static int run_words(struct repl *r, const struct command *c, const struct call *call)
{
    const int rc = run_command(r, c, call);
    return rc == 0 || rc == ERR_INTERRUPTED || rc == ERR_NOMEM
               ? rc
               : typed_path_explain(rc, call->words, c->flags & TAKES_TEXT ? 0 : call->n);
}

/* Whether a backslash before c stands for c: in "\n" it stays, as in the shell. */
static bool quotes_next(char quote, char c)
{
    return c != '\0' && quote != '\'' && (quote == '\0' || strchr("\"\\$`", c) != NULL);
}

int command_take_word(char **text, char **word)
{
    char *p = *text + strspn(*text, " \t\n"), *to = p, quote = '\0';
    *word = *p == '\0' ? NULL : p;
    for (; *p != '\0' && (quote != '\0' || strchr(" \t\n", *p) == NULL); p++) {
        if (*p == quote && quote != '\0')
            quote = '\0';
        else if (quote == '\0' && (*p == '"' || *p == '\''))
            quote = *p;
        else if (*p == '\\' && quotes_next(quote, p[1]))
            *to++ = *++p;
        else
            *to++ = *p;
    }
    if (quote != '\0')
        return err_set(ERR_FORMAT, "a quote (%c) is not closed; \\%c is the character itself",
                       quote, quote);
    *text = p + (*p != '\0');
    *to = '\0';
    return 0;
}

/* Cut text into words in place, up to a comment, as in the shell. Returns how many, -1 after an
 * error. */
static int split_words(char *text, char **words, int max)
{
    for (int n = 0;; n++) {
        char *word;
        text += strspn(text, " \t\n");
        if (*text == '#')
            return n;
        if (*text != '\0' && n == max)
            return err_set(ERR_RANGE, "more than %d words in one command", max), -1;
        if (command_take_word(&text, &word) != 0)
            return -1;
        if (word == NULL)
            return n;
        words[n] = word;
    }
}

int command_run_line(struct repl *r, const char *line)
{
    char *words[MAX_WORDS];
    line += strspn(line, " \t\n");
    size_t name_bytes = strcspn(line, " \t\n");
    char *name = mem_sprintf("%.*s", (int)name_bytes, line), *copy = mem_strdup(line + name_bytes);
    const struct command *c = name == NULL ? NULL : command_called(name);
    int rc = name == NULL || copy == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && c == NULL)
        rc = refuse_unknown_command(name);
    else if (rc == 0 && !(c->flags & IN_REPL))
        rc = err_set(ERR_UNSUPPORTED, "%s is for the shell: prattle %s %s", name, name,
                     c->arguments);
    if (rc == 0) {
        const char *text = line + name_bytes;
        struct call call = {.name = c->name, .text = text + (*text != '\0'), .words = words};
        if (!(c->flags & TAKES_TEXT)) {
            call.n = split_words(copy, words, MAX_WORDS);
            const int n = call.n;
            rc = n < 0 ? err_last() : options_take(&r->options, ORIGIN_CALL, words, &call.n);
            rc = train_explain_options(rc, c->name, c->options, words, n < 0 ? 0 : n);
            rc = typed_path_explain_option(rc, words, n < 0 ? 0 : n);
        }
        if (rc == 0)
            rc = run_words(r, c, &call);
        options_clear(&r->options, ORIGIN_CALL);
    }
    mem_free(name);
    mem_free(copy);
    return rc;
}

int command_run_words(struct repl *r, char **words, int n)
{
    const struct command *c = command_find(words[0]);
    struct buf text = {0};
    int rc = 0;
    for (int i = 1; i < n && rc == 0; i++) {
        rc = i > 1 ? buf_char(&text, ' ') : 0;
        if (rc == 0)
            rc = buf_str(&text, words[i]);
    }
    struct call call = {words[0], buf_text(&text), words + 1, n - 1, true};
    if (rc == 0)
        rc = run_words(r, c, &call);
    buf_release(&text);
    return rc;
}
