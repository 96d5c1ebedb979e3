/* help, and --help */
#include "repl/commands/commands.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "repl/commands/help.h"
#include "repl/commands/help_topics.h"
#include "repl/session/repl.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/config/run_config.h"

#include <stdio.h>
#include <string.h>

static void dashed_name(char *out, size_t n, const char *name)
{
    snprintf(out, n, "%s", name);
    for (char *p = out; *p != '\0'; p++)
        *p = *p == '_' ? '-' : *p;
}

static void show_commands(bool shell)
{
    const struct command *c;
    for (int i = 0; (c = command_at(i)) != NULL; i++) {
        if (!(c->flags & (shell ? IN_SHELL : IN_REPL)))
            continue;
        int at = printf("  %s%s %s", shell ? "" : ":", c->name, c->arguments);
        wrap_column(c->help, at, 26);
    }
}

static void show_option(const struct setting *o, const struct settings *built_in)
{
    char name[64];
    struct buf value = {0}, text = {0}, range = {0};
    dashed_name(name, sizeof name, o->name);
    int at = o->letter != 0 ? printf("  -%c, --%s", o->letter, name) : printf("      --%s", name);
    if (o->type == SETTING_CHOICE) {
        at += printf(" ");
        for (int i = 0; o->choices[i] != NULL; i++)
            at +=
                printf("%s%.*s", i > 0 ? "|" : "", (int)strcspn(o->choices[i], "|"), o->choices[i]);
    } else if (o->argument != NULL) {
        at += printf(" %s", o->argument);
    }
    setting_format(o, built_in, &value);
    buf_str(&text, o->help);
    if (!o->call_only && value.n > 0 && value.n < 24)
        buf_printf(&text, " [%s]", value.data);
    wrap_column(buf_text(&text), at, 34);
    buf_release(&value);
    buf_release(&text);
    buf_release(&range);
}

void help_usage(void)
{
    struct options fresh;
    const struct setting *o;
    const char *group = "";
    if (options_init(&fresh) != 0)
        return;
    printf("prattle: GPT-2 at a prompt\n\n"
           "  prattle [MODEL] [options]             prompts and commands at a prompt\n"
           "  prattle [MODEL] [options] -p TEXT     one answer\n"
           "  prattle [MODEL] [options] < PROMPTS   an answer a line\n"
           "  prattle COMMAND [words] [options]     one of the commands below\n\n"
           "Commands\n");
    show_commands(true);
    printf("\nIn options dashes and underscores are the same, --no-NAME switches off. The value\n"
           "built in stands in brackets; $XDG_CONFIG_HOME/prattle/settings.yaml can change it.\n");
    for (int i = 0; (o = option_at(i)) != NULL; i++) {
        if (strcmp(group, o->group) != 0)
            printf("\n%s\n", group = o->group);
        show_option(o, &fresh.settings);
    }
    options_release(&fresh);
}

/* A table cell: | would end it. */
static void print_cell(const char *text)
{
    for (; *text != '\0'; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
}

static void markdown_tables(void)
{
    struct options fresh;
    const struct setting *o;
    const struct command *c;
    if (options_init(&fresh) != 0)
        return;
    printf("| command | where | what it does |\n|---|---|---|\n");
    for (int i = 0; (c = command_at(i)) != NULL; i++) {
        bool repl = c->flags & IN_REPL, shell = c->flags & IN_SHELL;
        printf("| `%s%s%s", repl ? ":" : "", c->name, *c->arguments ? " " : "");
        print_cell(c->arguments);
        printf("` | %s | ", repl && shell ? "both" : repl ? "prompt" : "shell");
        print_cell(c->help);
        printf(" |\n");
    }
    printf("\n| setting | built in | values | what it does |\n|---|---|---|---|\n");
    for (int i = 0; (o = option_at(i)) != NULL; i++) {
        struct buf value = {0}, range = {0};
        char letter[16] = "";
        setting_format(o, &fresh.settings, &value);
        if (o->type != SETTING_SHORTHAND)
            setting_range(o, &range);
        if (o->letter != 0)
            snprintf(letter, sizeof letter, ", `-%c`", o->letter);
        printf("| `%s%s`%s | ", o->call_only ? "--" : "", o->name, letter);
        print_cell(o->call_only ? "" : buf_text(&value));
        printf(" | ");
        print_cell(buf_text(&range));
        printf(" | ");
        print_cell(o->help);
        printf(" |\n");
        buf_release(&value);
        buf_release(&range);
    }
    options_release(&fresh);
}

/* Under its help: what else it is called. */
static void print_other_names(const struct setting *o)
{
    if (o->letter != 0 || o->also != NULL)
        printf("  also");
    if (o->letter != 0)
        printf(" -%c", o->letter);
    for (const char *p = o->also; p != NULL && *p != '\0'; p += *p == '|') {
        int n = (int)strcspn(p, "|");
        printf(" %.*s", n, p);
        p += n;
    }
    if (o->letter != 0 || o->also != NULL)
        putchar('\n');
}

static int explain_option(const struct repl *r, const struct setting *o)
{
    struct buf value = {0}, shown = {0}, range = {0};
    setting_format(o, &r->options.settings, &value);
    setting_range(o, &range);
    term_visible(&shown, buf_text(&value), value.n);
    printf("%s%s%s: %s\n", term_bold(stdout), o->name, term_plain(stdout), o->help);
    print_other_names(o);
    if (o->type == SETTING_SHORTHAND)
        printf("  the same as %s %s\n", o->shorthand_for, o->shorthand_value);
    else if (o->call_only)
        printf("  an option of single commands: %s\n", buf_text(&range));
    else
        printf("  %s, now %s (%s)\n", buf_text(&range), shown.n > 0 ? buf_text(&shown) : "empty",
               origin_name(options_origin(&r->options, o)));
    buf_release(&value);
    buf_release(&shown);
    buf_release(&range);
    return 0;
}

static int explain_command(const struct command *c, bool shell)
{
    bool colon = (c->flags & IN_REPL) && !(shell && (c->flags & IN_SHELL));
    printf("%s%s%s%s%s%s: %s\n", colon ? ":" : "prattle ", term_bold(stdout), c->name,
           term_plain(stdout), *c->arguments ? " " : "", c->arguments, c->help);
    if (c->explain != NULL)
        c->explain();
    for (const char *p = c->options; p != NULL && *p != '\0';) {
        char name[32], dash[32];
        int n = (int)strcspn(p, " ");
        snprintf(name, sizeof name, "%.*s", n, p);
        dashed_name(dash, sizeof dash, name);
        printf("  --%-12s %s\n", dash, option_find(name)->help);
        p += n + (p[n] == ' ');
    }
    return 0;
}

static int refuse_unknown_name(const char *name)
{
    const char *near = command_nearest(name, false);
    const struct setting *o;
    if (near != NULL)
        return err_set(ERR_MISSING, "there is no %s; did you mean %s?", file_quote(name), near);
    int rc = option_lookup(&o, name);
    return strstr(err_text(), "mean") != NULL
               ? rc
               : err_set(rc, "there is no command or setting %s", file_quote(name));
}

int cmd_help(struct repl *r, const struct call *c)
{
    if (c->n > 0) {
        const char *name = c->words[0] + (c->words[0][0] == ':');
        const struct command *found = command_find(name);
        const struct setting *o = option_find(name);
        const struct setting *row = NULL;
        if (found != NULL)
            return explain_command(found, c->shell);
        if (o != NULL)
            return explain_option(r, o);
        if (help_is_topic(name))
            return help_topic(name, r->options.settings.call.format);
        if (run_row_find(&row, name) != 0)
            return refuse_unknown_name(name);
        help_training_row(row);
        return 0;
    }
    if (r->options.settings.call.format == TABLE_MARKDOWN)
        markdown_tables();
    else if (c->shell)
        help_usage();
    else {
        show_commands(false);
        printf(
            "%sAnything else is a prompt; \"\"\" begins one of several lines, a trailing \\ goes "
            "on, :: begins\none with a colon. Ctrl-C stops an answer, Ctrl-D leaves, Tab "
            "completes. :set shows the settings.%s\n",
            term_dim(stdout), term_plain(stdout));
    }
    return 0;
}
