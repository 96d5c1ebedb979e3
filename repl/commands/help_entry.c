/* Everything on one command or setting. */
#include "repl/commands/help_entry.h"

#include "model/base/mem.h"
#include "repl/commands/help_lists.h"
#include "repl/commands/help_text.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/config/run_config.h"
#include "train/prepare/prepare_config.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_AT = 26 };

static void print_title(const char *title)
{
    printf("%s%s%s\n", term_bold(stdout), title, term_plain(stdout));
}

static void print_pair(const char *name, const char *text)
{
    help_pair(name, text, TEXT_AT);
}

/* Lines "NAME\tTEXT", `before` ahead of each name. */
static void print_pairs(const char *lines, const char *before)
{
    for (const char *p = lines; p != NULL && *p != '\0';) {
        char name[96], text[256];
        int n = (int)strcspn(p, "\t"), m = (int)strcspn(p + n + 1, "\n");
        snprintf(name, sizeof name, "%s%.*s", before, n, p);
        snprintf(text, sizeof text, "%.*s", m, p + n + 1);
        print_pair(name, text);
        p += n + 1 + m;
        p += *p == '\n';
    }
}

enum { FURTHER = 6 }; /* where an example goes on */

static void print_examples(const struct command *c, const char *prefix)
{
    if (c->examples != NULL)
        print_title("Examples");
    for (const char *p = c->examples; p != NULL && *p != '\0'; p += *p == '\n') {
        const int n = (int)strcspn(p, "\n");
        char *line = mem_sprintf("%s%.*s", prefix, n, p);
        if (line != NULL)
            wrap_hanging(line, printf("  "), FURTHER);
        mem_free(line);
        p += n;
    }
}

/* "--format text|markdown", "--limit N"; help's formats are no formats of another command. */
static void append_option(struct buf *out, const struct setting *o, const struct command *c)
{
    const bool all = strcmp(o->name, "format") != 0 || strcmp(c->name, "help") == 0;
    char dashed[64];
    option_dashed(dashed, sizeof dashed, o->name);
    buf_str(out, dashed);
    if (o->argument != NULL || o->type == SETTING_CHOICE)
        buf_char(out, ' ');
    help_option_takes(out, o, all ? INT_MAX : HELP_MAN);
}

/* The command whose name begins the text. */
static const struct command *command_at_start(const char *text)
{
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " ,:"), text);
    return command_find(name);
}

/* Where the clause for a command, or for several, ends: before the next that names one. */
static const char *end_of_clause(const char *clause)
{
    const char *end = clause;
    while ((end = strstr(end, "; ")) != NULL && command_at_start(end += 2) == NULL)
        ;
    return end != NULL ? end - 2 : clause + strlen(clause);
}

/* Of "logits, eval history: TEXT" what a command's own help has: TEXT, and for eval "history:
 * TEXT". */
static void append_clause(struct buf *out, const char *clause, const char *end,
                          const struct command *c)
{
    const char *text = strstr(clause, ": ");
    const struct command *of = NULL;
    bool own = false, forms = false;
    for (const char *p = clause; text != NULL && p < text; p += strcspn(p, ",:") + 2) {
        const struct command *named = command_at_start(p);
        const char *form = p + (named != NULL ? strcspn(p, " ,:") : 0);
        of = named != NULL ? named : of; /* "eval wikitext, ptb" */
        form += *form == ' ';
        if (of != c)
            continue;
        if (strcspn(form, ",:") > 0) {
            buf_printf(out, "%s%.*s",
                       forms                ? ", "
                       : own || out->n == 0 ? ""
                                            : "; ",
                       (int)strcspn(form, ",:"), form);
            forms = true;
        }
        own = true;
    }
    if (own)
        buf_printf(out, "%s%.*s",
                   forms        ? ": "
                   : out->n > 0 ? "; "
                                : "",
                   (int)(end - text - 2), text + 2);
}

/* What an option's help says of this command; of a first clause that names none, all others. */
static void append_help(struct buf *out, const char *help, const struct command *c)
{
    const size_t before = out->n;
    const char *first = end_of_clause(help);
    const bool general = command_at_start(help) == NULL;
    for (const char *p = general && *first != '\0' ? first + 2
                         : general                 ? first
                                                   : help;
         *p != '\0';) {
        const char *end = end_of_clause(p);
        append_clause(out, p, end, c);
        p = *end == '\0' ? end : end + 2;
    }
    if (general && out->n == before)
        buf_printf(out, "%.*s", (int)(first - help), help);
}

static void print_options(const struct command *c)
{
    if (c->options != NULL)
        print_title("Options");
    for (const char *p = c->options; p != NULL && *p != '\0'; p += *p == ' ') {
        char name[32];
        struct buf option = {0}, text = {0};
        int n = (int)strcspn(p, " ");
        snprintf(name, sizeof name, "%.*s", n, p);
        const struct setting *o = settings_table_find(&options_table, name);
        append_option(&option, o, c);
        append_help(&text, o->help, c);
        print_pair(buf_text(&option), buf_text(&text));
        buf_release(&option);
        buf_release(&text);
        p += n;
    }
}

static void print_related(const struct command *c, bool shell)
{
    struct buf list = {0};
    for (const char *p = c->related; p != NULL && *p != '\0'; p += *p == ' ') {
        char name[32];
        int n = (int)strcspn(p, " ");
        snprintf(name, sizeof name, "%.*s", n, p);
        buf_printf(&list, "%s%s%s", list.n > 0 ? ", " : "", help_prefix(command_find(name), shell),
                   name);
        p += n;
    }
    if (list.n > 0) {
        printf("%sSee also%s", term_bold(stdout), term_plain(stdout));
        wrap_column(buf_text(&list), (int)strlen("See also"), 10);
    }
    buf_release(&list);
}

/* Bytes of the first of the forms that arguments have: up to a | that is in no brackets. */
static int form_bytes(const char *arguments)
{
    const char *p = arguments;
    for (int depth = 0; *p != '\0' && (*p != '|' || depth > 0); p++)
        depth += (*p == '[') - (*p == ']');
    return (int)(p - arguments);
}

/* Where they have no room in one line, a line for each form. */
static void print_arguments(const char *prefix, const struct command *c)
{
    const int at = (int)(strlen(prefix) + strlen(c->name)) + 1;
    const bool fit = at + (int)strlen(c->arguments) < term_width(stdout);
    const char *p = c->arguments;
    do {
        const int n = fit ? (int)strlen(p) : form_bytes(p);
        char *form = mem_sprintf("%.*s", n, p);
        printf("%s%s%s%s", term_bold(stdout), prefix, c->name, term_plain(stdout));
        if (n > 0 && form != NULL)
            wrap_column(form, at - 1, at);
        else
            putchar('\n');
        mem_free(form);
        p += n + (p[n] == '|');
    } while (*p != '\0');
}

void help_explain_command(const struct command *c, bool shell)
{
    const char *prefix = help_prefix(c, shell);
    print_arguments(prefix, c);
    wrap_column(c->help, 0, 2);
    print_pairs(c->forms, "");
    if (c->explain != NULL)
        c->explain();
    print_examples(c, prefix);
    print_options(c);
    if (c->topics != NULL) {
        print_title("More");
        print_pairs(c->topics, shell ? "prattle help " : ":help ");
    }
    print_related(c, shell);
}

static void print_setting_help(const struct setting *o)
{
    struct buf text = {0};
    buf_str(&text, o->help);
    if (o->more != NULL)
        buf_printf(&text, ". %s.", o->more);
    wrap_column(buf_text(&text), 0, 2);
    buf_release(&text);
}

/* What else it is called. */
static void print_other_names(const struct setting *o)
{
    struct buf names = {0};
    if (o->letter != 0)
        buf_printf(&names, "-%c", o->letter);
    for (const char *p = o->also; p != NULL && *p != '\0'; p += *p == '|') {
        int n = (int)strcspn(p, "|");
        buf_printf(&names, "%s%.*s", names.n > 0 ? ", " : "", n, p);
        p += n;
    }
    if (names.n > 0)
        wrap_row("also", buf_text(&names));
    buf_release(&names);
}

void help_explain_setting(const struct options *now, const struct setting *o)
{
    struct buf value = {0}, shown = {0}, range = {0};
    char word[32], name[64];
    setting_format(o, &now->settings, &value);
    setting_range(o, &range);
    term_visible(&shown, buf_text(&value), value.n);
    help_option_name(name, sizeof name, o);
    printf("%s%s%s\n", term_bold(stdout), name, term_plain(stdout));
    print_setting_help(o);
    if (o->type != SETTING_SHORTHAND)
        wrap_row("values", buf_text(&range));
    if (!o->call_only && o->type != SETTING_SHORTHAND) {
        buf_printf(&shown, "%s (%s)", shown.n > 0 ? "" : "empty",
                   origin_name(settings_store_origin(&now->store, o)));
        wrap_row("now", buf_text(&shown));
    }
    print_other_names(o);
    help_group_word(word, sizeof word, o->group);
    wrap_row("group", word);
    buf_release(&value);
    buf_release(&shown);
    buf_release(&range);
}

/* A setting with its value in `values`, which are the built-in ones. */
static void explain_row(const struct setting *row, const void *values, const char *name,
                        const char *group)
{
    struct buf value = {0}, range = {0};
    setting_format(row, values, &value);
    setting_range(row, &range);
    printf("%s%s%s\n", term_bold(stdout), name, term_plain(stdout));
    print_setting_help(row);
    wrap_row("values", buf_text(&range));
    wrap_row("built in", value.n > 0 ? buf_text(&value) : "empty");
    print_other_names(row);
    wrap_row("group", group);
    buf_release(&value);
    buf_release(&range);
}

void help_explain_run_setting(const struct setting *row, bool shell)
{
    struct run_config c;
    char name[96];
    if (run_config_init(&c) != 0)
        return;
    snprintf(name, sizeof name, "%s.%s", row->group, row->name);
    explain_row(row, &c, name,
                shell ? "training run: `prattle help training` lists them"
                      : "training run: `:help training` lists them");
    run_config_release(&c);
}

void help_explain_prepare_setting(const struct setting *row, bool shell)
{
    struct prepare_config c;
    char name[96];
    if (prepare_config_init(&c) != 0)
        return;
    snprintf(name, sizeof name, "%s=", row->name);
    explain_row(row, &c, name,
                shell ? "data prepare: `prattle help data` lists them"
                      : "data prepare: `:help data` lists them");
    prepare_config_release(&c);
}
