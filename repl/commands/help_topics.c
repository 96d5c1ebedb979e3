#include "repl/commands/help_topics.h"

#include "repl/commands/help_lists.h"
#include "repl/commands/help_text.h"
#include "repl/commands/systems.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/config/presets.h"
#include "train/config/run_config.h"
#include "train/eval/eval.h"

#include <stdio.h>
#include <string.h>

enum { FORMAT_TEXT = 96, FORMAT_TEXT_AT = 22 };

static const char *here_or_none(const struct system_option *o)
{
    return *o->here != '\0' ? o->here : "none";
}

static int show_systems(enum table_format format, bool shell)
{
    (void)shell;
    static const char *const heads[] = {"program", "its option", "here", "note"};
    const struct system_option *o;
    const char *system = "";
    struct table t;
    int rc = 0;
    if (format != TABLE_TEXT) {
        table_init(&t, heads, 4);
        for (int i = 0; rc == 0 && (o = system_option_at(i)) != NULL; i++) {
            const char *const cells[] = {o->system, o->option, here_or_none(o), o->note};
            rc = table_row(&t);
            for (int k = 0; rc == 0 && k < 4; k++)
                rc = table_cell(&t, k, "%s", cells[k]);
        }
        return help_table(&t, rc, format);
    }
    for (int i = 0; (o = system_option_at(i)) != NULL; i++) {
        if (o->system != system)
            printf("%s%s%s\n", term_bold(stdout), system = o->system, term_plain(stdout));
        char text[512];
        snprintf(text, sizeof text, "%s%s%s", here_or_none(o), *o->note != '\0' ? "; " : "",
                 o->note);
        help_pair(o->option, text, 30);
    }
    return 0;
}

/* The first comment of a preset, up to the end of its first line. */
static void preset_about(const struct run_preset *p, char *out, size_t n)
{
    const char *text = p->text + strspn(p->text, "# ");
    snprintf(out, n, "%.*s", (int)strcspn(text, "\n"), text);
}

static int show_presets(enum table_format format, bool shell)
{
    (void)shell;
    static const char *const heads[] = {"preset", "what it trains"};
    char about[256];
    struct table t;
    int rc = 0;
    table_init(&t, heads, 2);
    for (const struct run_preset *p = run_presets; rc == 0 && p->name != NULL; p++) {
        preset_about(p, about, sizeof about);
        if (format == TABLE_TEXT) {
            help_pair(p->name, about, 30);
        } else if ((rc = table_row(&t)) == 0 && (rc = table_cell(&t, 0, "%s", p->name)) == 0) {
            rc = table_cell(&t, 1, "%s", about);
        }
    }
    if (format != TABLE_TEXT)
        return help_table(&t, rc, format);
    table_release(&t);
    return rc;
}

static int show_training(enum table_format format, bool shell)
{
    static const char *const heads[] = {"training setting", "built in", "values", "what it does"};
    const struct setting *row;
    const char *section = "";
    struct run_config c;
    struct table t;
    int rc = run_config_init(&c);
    if (rc != 0)
        return rc;
    table_init(&t, heads, 4);
    for (int i = 0; rc == 0 && (row = settings_table_at(&run_table, i)) != NULL; i++) {
        struct buf value = {0}, range = {0}, text = {0};
        setting_format(row, &c, &value);
        setting_range(row, &range);
        if (format == TABLE_TEXT) {
            if (strcmp(section, row->group) != 0)
                printf("%s%s%s\n", term_bold(stdout), section = row->group, term_plain(stdout));
            buf_str(&text, row->help);
            if (value.n > 0)
                buf_printf(&text, " [%s]", buf_text(&value));
            help_pair(row->name, buf_text(&text), 26);
        } else if ((rc = table_row(&t)) == 0 &&
                   (rc = table_cell(&t, 0, "%s.%s", row->group, row->name)) == 0 &&
                   (rc = table_cell(&t, 1, "%s", buf_text(&value))) == 0 &&
                   (rc = table_cell(&t, 2, "%s", buf_text(&range))) == 0) {
            rc = table_cell(&t, 3, "%s%s%s", row->help, row->more != NULL ? ". " : "",
                            row->more != NULL ? row->more : "");
        }
        buf_release(&value);
        buf_release(&range);
        buf_release(&text);
    }
    run_config_release(&c);
    if (format != TABLE_TEXT)
        return help_table(&t, rc, format);
    help_note(shell ? "prattle help NAME explains one; the built-in value is in brackets. Given as "
                      "KEY=VALUE: prattle train finetune data=my.txt steps=200"
                    : ":help NAME explains one; the built-in value is in brackets. Given as "
                      "KEY=VALUE: :train finetune data=my.txt steps=200");
    table_release(&t);
    return rc;
}

/* A line "NAME\tTEXT" of what an evaluation reads, cut from *p. */
static void take_format(const char **p, char name[FORMAT_TEXT], char text[FORMAT_TEXT])
{
    const int n = (int)strcspn(*p, "\t"), m = (int)strcspn(*p + n + 1, "\n");
    snprintf(name, FORMAT_TEXT, "%.*s", n, *p);
    snprintf(text, FORMAT_TEXT, "%.*s", m, *p + n + 1);
    *p += n + 1 + m;
    *p += **p == '\n';
}

static int show_formats(enum table_format format, bool shell)
{
    (void)shell;
    static const char *const heads[] = {"evaluation", "file or field", "meaning"};
    char name[FORMAT_TEXT], text[FORMAT_TEXT];
    const struct eval *e;
    struct table t;
    int rc = 0;
    table_init(&t, heads, 3);
    for (int i = 0; rc == 0 && (e = eval_at(i)) != NULL; i++) {
        if (format == TABLE_TEXT)
            printf("%s%s %s%s\n", term_bold(stdout), e->name, e->argument, term_plain(stdout));
        for (const char *p = e->reads; rc == 0 && *p != '\0';) {
            take_format(&p, name, text);
            if (format == TABLE_TEXT)
                help_pair(name, text, FORMAT_TEXT_AT);
            else if ((rc = table_row(&t)) == 0 && (rc = table_cell(&t, 0, "%s", e->name)) == 0 &&
                     (rc = table_cell(&t, 1, "%s", name + strspn(name, " "))) == 0)
                rc = table_cell(&t, 2, "%s", text);
        }
    }
    if (format != TABLE_TEXT)
        return help_table(&t, rc, format);
    table_release(&t);
    return rc;
}

static int show_settings(enum table_format format, bool shell)
{
    return help_settings(NULL, format, shell);
}

static const struct topic {
    const char *name;
    int (*show)(enum table_format format, bool shell);
} topics[] = {{"commands", help_commands}, {"settings", show_settings}, {"training", show_training},
              {"presets", show_presets},   {"systems", show_systems},   {"formats", show_formats}};

enum { N_TOPICS = sizeof topics / sizeof topics[0] };

const char *help_topic_name(int i)
{
    return i < N_TOPICS ? topics[i].name : help_group_at(i - N_TOPICS);
}

bool help_is_topic(const char *name)
{
    const char *topic;
    for (int i = 0; (topic = help_topic_name(i)) != NULL; i++)
        if (strcmp(topic, name) == 0)
            return true;
    return false;
}

int help_topic(const char *name, enum table_format format, bool shell)
{
    for (int i = 0; i < N_TOPICS; i++)
        if (strcmp(topics[i].name, name) == 0)
            return topics[i].show(format, shell);
    return help_settings(name, format, shell);
}
