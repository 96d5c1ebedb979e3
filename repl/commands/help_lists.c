#include "repl/commands/help_lists.h"

#include "repl/commands/help_text.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void print_heading(const char **last, const char *heading)
{
    if (strcmp(*last, heading) != 0)
        printf("%s%s%s\n", term_bold(stdout), heading, term_plain(stdout));
    *last = heading;
}

static int commands_table(enum table_format format)
{
    static const char *const heads[] = {"command", "where", "what it does"};
    /* Code where the table is read as Markdown. */
    const char *tick = format == TABLE_MARKDOWN ? "`" : "";
    const struct command *c;
    struct table t;
    int rc = 0;
    table_init(&t, heads, 3);
    for (int i = 0; rc == 0 && (c = command_at(i)) != NULL; i++) {
        bool prompt = c->flags & IN_REPL, shell = c->flags & IN_SHELL;
        rc = table_row(&t);
        if (rc == 0)
            rc = table_cell(&t, 0, "%s%s%s%s%s%s", tick, prompt ? ":" : "", c->name,
                            *c->arguments ? " " : "", c->arguments, tick);
        if (rc == 0)
            rc = table_cell(&t, 1, "%s", prompt && shell ? "both" : prompt ? "prompt" : "shell");
        if (rc == 0)
            rc = table_cell(&t, 2, "%s", c->help);
    }
    return help_table(&t, rc, format);
}

int help_commands(enum table_format format, bool shell)
{
    const struct command *c;
    const char *group = "";
    if (format != TABLE_TEXT)
        return commands_table(format);
    for (int i = 0; (c = command_at(i)) != NULL; i++) {
        if (!(c->flags & (shell ? IN_SHELL : IN_REPL)))
            continue;
        print_heading(&group, c->group);
        struct buf name = {0};
        buf_printf(&name, "%s%s%s%s", shell ? "" : ":", c->name, *c->arguments ? " " : "",
                   c->arguments);
        help_pair(buf_text(&name), c->help, 26);
        buf_release(&name);
    }
    return 0;
}

static int setting_row(struct table *t, const struct setting *o, const struct settings *built_in,
                       const char *tick)
{
    char name[64];
    struct buf value = {0}, range = {0};
    help_option_name(name, sizeof name, o);
    int rc = setting_format(o, built_in, &value);
    if (rc == 0 && o->type != SETTING_SHORTHAND)
        rc = setting_range(o, &range);
    if (rc == 0)
        rc = table_row(t);
    if (rc == 0)
        rc = table_cell(t, 0, "%s%s%s", tick, name, tick);
    if (rc == 0 && o->letter != 0)
        rc = table_cell(t, 1, "%s-%c%s", tick, o->letter, tick);
    if (rc == 0)
        rc = table_cell(t, 2, "%s", o->call_only ? "" : buf_text(&value));
    if (rc == 0)
        rc = table_cell(t, 3, "%s", buf_text(&range));
    if (rc == 0)
        rc = table_cell(t, 4, "%s%s%s", o->help, o->more != NULL ? ". " : "",
                        o->more != NULL ? o->more : "");
    buf_release(&value);
    buf_release(&range);
    return rc;
}

static bool is_in_group(const struct setting *o, const char *group)
{
    char word[32];
    help_group_word(word, sizeof word, o->group);
    return group == NULL || strcmp(word, group) == 0;
}

static int settings_table(const char *group, enum table_format format,
                          const struct settings *built_in)
{
    static const char *const heads[] = {"setting", "short", "built in", "values", "what it does"};
    const char *tick = format == TABLE_MARKDOWN ? "`" : "";
    const struct setting *o;
    struct table t;
    int rc = 0;
    table_init(&t, heads, 5);
    for (int i = 0; rc == 0 && (o = settings_table_at(&options_table, i)) != NULL; i++)
        if (is_in_group(o, group))
            rc = setting_row(&t, o, built_in, tick);
    return help_table(&t, rc, format);
}

/* "-k, --top-k N", "--on-full stop|slide"; the column it ends in. */
static int print_option(const struct setting *o)
{
    char name[64];
    struct buf text = {0};
    int at = o->letter != 0 ? printf("  -%c, ", o->letter) : printf("      ");
    const int indent = at;
    option_dashed(name, sizeof name, o->name);
    buf_str(&text, name);
    if (o->type == SETTING_CHOICE)
        for (int i = 0; o->choices[i] != NULL; i++)
            buf_printf(&text, "%s%.*s", i > 0 ? "|" : " ", (int)strcspn(o->choices[i], "|"),
                       o->choices[i]);
    else if (o->argument != NULL)
        buf_printf(&text, " %s", o->argument);
    at += (int)text.n;
    if (at < term_width(stdout)) {
        printf("%s", buf_text(&text));
    } else {
        wrap_beside(buf_text(&text), indent);
        at = 0;
    }
    buf_release(&text);
    return at;
}

/* As the shell's options, with what is built in. */
static void show_option(const struct setting *o, const struct settings *built_in)
{
    struct buf value = {0}, text = {0};
    int at = print_option(o);
    setting_format(o, built_in, &value);
    buf_str(&text, o->help);
    if (!o->call_only && value.n > 0 && value.n < 24)
        buf_printf(&text, " [%s]", value.data);
    wrap_column(buf_text(&text), at, help_text_column(30));
    buf_release(&value);
    buf_release(&text);
}

static void list_settings(const char *group, bool shell, const struct settings *built_in)
{
    const struct setting *o;
    const char *heading = "";
    for (int i = 0; (o = settings_table_at(&options_table, i)) != NULL; i++) {
        if (!is_in_group(o, group))
            continue;
        print_heading(&heading, o->group);
        char name[64];
        help_option_name(name, sizeof name, o);
        if (shell)
            show_option(o, built_in);
        else
            wrap_column(o->help, printf("  %s", name), help_text_column(24));
    }
}

static void print_group_names(bool shell)
{
    struct buf names = {0};
    buf_str(&names,
            shell ? "prattle help GROUP shows one group: " : ":help GROUP shows one group: ");
    for (int i = 0; help_group_at(i) != NULL; i++)
        buf_printf(&names, "%s%s", i > 0 ? ", " : "", help_group_at(i));
    buf_str(&names, shell ? ". The built-in value is in brackets; a settings.yaml in "
                            "$XDG_CONFIG_HOME/prattle changes it. - and _ are the same; "
                            "--no-NAME switches off."
                          : ". :help NAME tells more of one.");
    help_note(buf_text(&names));
    buf_release(&names);
}

int help_settings(const char *group, enum table_format format, bool shell)
{
    struct options fresh;
    int rc = options_init(&fresh);
    if (rc != 0)
        return rc;
    if (format != TABLE_TEXT)
        rc = settings_table(group, format, &fresh.settings);
    else
        list_settings(group, shell, &fresh.settings);
    if (format == TABLE_TEXT && group == NULL)
        print_group_names(shell);
    options_release(&fresh);
    return rc;
}

void help_group_word(char *out, size_t n, const char *heading)
{
    const char *word = strrchr(heading, ' ');
    snprintf(out, n, "%s", word == NULL ? heading : word + 1);
    for (char *p = out; *p != '\0'; p++)
        *p = (char)tolower((unsigned char)*p);
}

const char *help_group_at(int i)
{
    static char word[32];
    const struct setting *o;
    const char *heading = "";
    for (int k = 0; (o = settings_table_at(&options_table, k)) != NULL; k++) {
        if (strcmp(heading, o->group) != 0 && i-- == 0) {
            help_group_word(word, sizeof word, o->group);
            return word;
        }
        heading = o->group;
    }
    return NULL;
}
