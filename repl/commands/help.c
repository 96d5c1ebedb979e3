/* help, and --help of a command: which page is asked for. */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "repl/commands/help_bash.h"
#include "repl/commands/help_entry.h"
#include "repl/commands/help_lists.h"
#include "repl/commands/help_man.h"
#include "repl/commands/help_pages.h"
#include "repl/commands/help_topics.h"
#include "repl/commands/other_words.h"
#include "repl/commands/typed_name.h"
#include "repl/session/repl.h"
#include "train/config/run_config.h"
#include "train/prepare/prepare_config.h"

#include <stdio.h>
#include <string.h>

static int refuse_unknown_name(const char *name)
{
    const char *near = command_nearest(name, false), *other = other_word_command(name);
    const struct setting *o;
    if (run_config_is_preset(name))
        return err_set(ERR_MISSING,
                       "%s is a preset: `:train %s data=FILE`; `:help presets` lists them", name,
                       name);
    if (other != NULL)
        return err_set(ERR_MISSING, "%s is not a command or setting; `:help %.*s` has `:%s`",
                       file_quote(name), (int)strcspn(other, " "), other, other);
    if (near != NULL)
        return err_set(ERR_MISSING, "there is no %s; did you mean `:help %s`?", file_quote(name),
                       near);
    int rc = settings_table_lookup(&options_table, &o, name, false);
    if (strstr(err_text(), "; did you mean") == NULL)
        rc = typed_name_of_system(err_set(rc, "there is no setting %s", file_quote(name)));
    return strchr(err_text(), ';') != NULL
               ? rc
               : err_set(rc, "there is no command, setting or topic %s; `:help` lists them",
                         file_quote(name));
}

/* Settings in other tables than the session's. */
struct named_rows {
    const struct setting *run, *prepare; /* NULL: none of the name */
};

static struct named_rows find_rows(const char *name)
{
    struct named_rows rows = {.prepare = settings_table_find(&prepare_settings, name)};
    if (settings_table_lookup(&run_table, &rows.run, name, false) != 0)
        rows.run = NULL;
    return rows;
}

static void explain_rows(const struct named_rows *rows, bool shell)
{
    if (rows->run != NULL)
        help_explain_run_setting(rows->run, shell);
    if (rows->run != NULL && rows->prepare != NULL)
        putchar('\n');
    if (rows->prepare != NULL)
        help_explain_prepare_setting(rows->prepare, shell);
}

/* And those of the same name of runs and data prepare; not those that only go by it. */
static void explain_option(const struct repl *r, const struct setting *o, struct named_rows rows,
                           bool shell)
{
    help_explain_setting(&r->options, o);
    if (rows.run != NULL && strcmp(rows.run->name, o->name) != 0)
        rows.run = NULL;
    if (rows.prepare != NULL && strcmp(rows.prepare->name, o->name) != 0)
        rows.prepare = NULL;
    if (rows.run != NULL || rows.prepare != NULL)
        putchar('\n');
    explain_rows(&rows, shell);
}

/* A name may be a command's and a setting's. */
static int explain_name(const struct repl *r, const char *name, bool shell)
{
    const struct command *command = command_called(name + (*name == ':'));
    const struct setting *o = settings_table_find(&options_table, name);
    const struct named_rows rows = find_rows(name);
    const enum table_format format = (enum table_format)r->options.settings.call.format;
    const bool topic = help_is_topic(name);
    if (command == NULL && o == NULL && !topic && rows.run == NULL && rows.prepare == NULL)
        return refuse_unknown_name(name);
    if (format != TABLE_TEXT && !topic)
        return err_set(ERR_RANGE, "help %s is text; lists have other formats: help settings",
                       file_quote(name));
    if (command != NULL)
        help_explain_command(command, shell);
    if (command != NULL && o != NULL && !o->call_only)
        printf("\nThe setting ");
    else if (command != NULL)
        return 0;
    if (o != NULL) {
        explain_option(r, o, rows, shell);
        return 0;
    }
    if (topic)
        return help_topic(name, format, shell);
    explain_rows(&rows, shell);
    return 0;
}

static int print_document(int (*write)(struct buf *out))
{
    struct buf text = {0};
    int rc = write(&text);
    if (rc == 0)
        fwrite(text.data, 1, text.n, stdout);
    buf_release(&text);
    return rc;
}

int cmd_help(struct repl *r, const struct call *c)
{
    const int format = r->options.settings.call.format;
    if (format >= HELP_MAN && c->n > 0)
        return err_set(ERR_RANGE, "help --format %s covers everything: leave out %s",
                       format == HELP_MAN ? "man" : "bash", file_quote(c->words[0]));
    if (format >= HELP_MAN)
        return print_document(format == HELP_MAN ? help_man_page : help_bash_completion);
    /* The page of a command has all its arguments: `help eval lambada` is `help eval`. */
    if (c->n > 1 && command_called(c->words[0] + (*c->words[0] == ':')) == NULL)
        return command_usage(c, "[NAME]");
    if (c->n > 0)
        return explain_name(r, c->words[0], c->shell);
    if (format != TABLE_TEXT)
        return help_commands((enum table_format)format, c->shell);
    if (c->shell)
        help_usage();
    else
        help_overview();
    return 0;
}
