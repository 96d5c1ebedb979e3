/* The first page of help, at the prompt and in the shell: never more than a terminal of 24 rows. */
#include "repl/commands/help_pages.h"

#include "repl/commands/help_text.h"
#include "repl/settings/options.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <stdio.h>
#include <string.h>

/* Columns where names and what they mean begin; in a narrow terminal groups are headings. */
enum { NAMES_AT = 11, NARROW = 64, NARROW_NAMES_AT = 2, USES_AT = 15 };

static bool is_narrow(void)
{
    return term_width(stdout) < NARROW;
}

/* The cursor stands where names begin, behind the group where that is a new one. */
static int print_group(const char **last, const char *group)
{
    bool fresh = strcmp(*last, group) != 0;
    *last = group;
    if (is_narrow()) {
        if (fresh)
            printf("%s%s%s\n", term_bold(stdout), group, term_plain(stdout));
        return printf("%*s", NARROW_NAMES_AT, "");
    }
    printf("%s%-*s%s", term_bold(stdout), NAMES_AT, fresh ? group : "", term_plain(stdout));
    return NAMES_AT;
}

static bool is_listed(const struct command *c, unsigned where)
{
    return (c->flags & where) != 0 && (c->flags & MINOR) == 0;
}

static void show_summaries(unsigned where, const char *prefix)
{
    const struct command *c;
    const char *group = "";
    int width = 0;
    for (int i = 0; (c = command_at(i)) != NULL; i++) {
        int n = (int)(strlen(prefix) + strlen(c->name));
        if (is_listed(c, where) && n > width)
            width = n;
    }
    for (int i = 0; (c = command_at(i)) != NULL; i++) {
        if (!is_listed(c, where))
            continue;
        int from = print_group(&group, c->group);
        int at = from + printf("%s%s", prefix, c->name);
        wrap_column(c->summary, at, from + width + 2);
    }
}

/* The names of the others: ":devices, :help". */
static void list_minor(struct buf *out, unsigned where, const char *prefix)
{
    const struct command *c;
    for (int i = 0; (c = command_at(i)) != NULL; i++)
        if ((c->flags & where) && (c->flags & MINOR))
            buf_printf(out, "%s%s%s", out->n > 0 ? ", " : "", prefix, c->name);
}

void help_overview(void)
{
    const char *group = "";
    struct buf minor = {0};
    show_summaries(IN_REPL, ":");
    list_minor(&minor, IN_REPL, ":");
    int from = print_group(&group, "Also");
    wrap_beside(buf_text(&minor), from);
    buf_release(&minor);
    wrap_say(stdout, term_dim(stdout),
             ":help NAME explains a command or setting; :help settings lists the settings. "
             "Anything else is a prompt; \"\"\" begins and ends one of several lines.");
}

/* Those that most people use, and no others: "-n, --max-new-tokens N". */
static void show_common_options(void)
{
    const struct setting *const rows[] = {OPTION(device.model), OPTION(generate.max_new_tokens),
                                          OPTION(sampler.temperature), OPTION(sampler.seed)};
    const char *group = "";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct setting *o = rows[i];
        char dashed[64];
        option_dashed(dashed, sizeof dashed, o->name);
        int from = print_group(&group, "Options"), at = from;
        if (o->letter != 0)
            at += printf("-%c, %s %s", o->letter, dashed, o->argument);
        else
            at += printf("%s %s", dashed, o->argument);
        wrap_column(o->help, at, is_narrow() ? 6 : from + 24);
    }
}

/* Words that a narrow terminal has no room for behind the others stand below them. */
static void show_uses(void)
{
    static const char *const uses[][3] = {
        {"[MODEL] [OPTION ...]", "", "open the prompt"},
        {"[MODEL] [OPTION ...]", " -p TEXT", "answer TEXT and exit"},
        {"[MODEL] [OPTION ...]", " < PROMPTS", "answer each line"},
        {"COMMAND [ARGUMENT ...]", " [OPTION ...]", "one of these commands"},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        int at =
            printf("%-*s%s", USES_AT, i == 0 ? "usage: prattle" : "       prattle", uses[i][0]);
        if (at + (int)strlen(uses[i][1]) < term_width(stdout))
            at += printf("%s", uses[i][1]);
        else
            at = printf("\n%*s%s", USES_AT - 1, "", uses[i][1]) - 1;
        wrap_column(uses[i][2], at, is_narrow() ? USES_AT : 53);
    }
}

void help_usage(void)
{
    const char *group = "";
    show_uses();
    putchar('\n');
    show_summaries(IN_SHELL, "");
    show_common_options();
    struct buf also = {0};
    list_minor(&also, IN_SHELL, "");
    buf_str(&also, " COMMAND, man prattle,");
    int from = print_group(&group, "Also");
    wrap_beside(buf_text(&also), from);
    printf("%*s", from, "");
    wrap_beside("help commands, help settings, help training, help presets", from);
    buf_release(&also);
}
