#include "repl/commands/help_text.h"

#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <stdio.h>
#include <string.h>

enum { NARROW = 64 };

void help_option_name(char *out, size_t n, const struct setting *o)
{
    if (o->call_only)
        option_dashed(out, n, o->name);
    else
        snprintf(out, n, "%s", o->name);
}

int help_option_takes(struct buf *out, const struct setting *o, int n)
{
    int rc = o->argument != NULL ? buf_str(out, o->argument) : 0;
    for (int i = 0; rc == 0 && o->type == SETTING_CHOICE && i < n && o->choices[i] != NULL; i++)
        rc = buf_printf(out, "%s%.*s", i > 0 ? "|" : "", (int)strcspn(o->choices[i], "|"),
                        o->choices[i]);
    return rc;
}

void help_note(const char *text)
{
    printf("%s", term_dim(stdout));
    wrap_beside(text, 0);
    printf("%s", term_plain(stdout));
}

const char *help_prefix(const struct command *c, bool shell)
{
    return (c->flags & IN_REPL) && !(shell && (c->flags & IN_SHELL)) ? ":" : "prattle ";
}

int help_text_column(int wide)
{
    return term_width(stdout) < NARROW ? 6 : wide;
}

void help_pair(const char *name, const char *text, int wide)
{
    int at = 2 + term_columns(name, strlen(name));
    printf("  ");
    if (at < term_width(stdout)) {
        printf("%s", name);
    } else {
        wrap_beside(name, 2);
        at = 0;
    }
    wrap_column(text, at, help_text_column(wide));
}

int help_table(struct table *t, int rc, enum table_format format)
{
    struct buf text = {0};
    if (rc == 0 && (rc = table_format(t, format, &text)) == 0)
        fputs(buf_text(&text), stdout);
    buf_release(&text);
    table_release(t);
    return rc;
}
