#include "repl/terminal/history_text.h"

#include <ctype.h>
#include <string.h>

static size_t line_length(const char *line, const char *end)
{
    const char *newline = memchr(line, '\n', (size_t)(end - line));
    return (size_t)((newline == NULL ? end : newline) - line);
}

/* Whether readline would drop the line [n], or take it for a heading, but for spaces before it. */
static bool line_needs_space(const char *line, size_t n)
{
    size_t at = 0;
    while (at < n && line[at] == ' ')
        at++;
    return at == n || (n - at > 1 && line[at] == '#' && isdigit((unsigned char)line[at + 1]));
}

int history_text_add(struct buf *out, const char *time, const char *prompt)
{
    const size_t before = out->n;
    const char *end = prompt + strlen(prompt);
    int rc = buf_printf(out, "%s +\n", time);
    for (size_t n; prompt <= end && rc == 0; prompt += n + 1) {
        n = line_length(prompt, end);
        rc = buf_printf(out, "%s%.*s\n", line_needs_space(prompt, n) ? " " : "", (int)n, prompt);
    }
    if (rc != 0)
        out->n = before;
    return rc;
}

enum heading { HEADING_NONE, HEADING_READLINE, HEADING_SPACED };

static enum heading line_heading(const char *line, size_t n)
{
    size_t at = 1;
    while (at < n && isdigit((unsigned char)line[at]))
        at++;
    if (n < 2 || line[0] != '#' || at == 1)
        return HEADING_NONE;
    return at == n                                          ? HEADING_READLINE
           : n - at == 2 && memcmp(line + at, " +", 2) == 0 ? HEADING_SPACED
                                                            : HEADING_NONE;
}

/* The lines at *at up to the next heading; above all headings, one line. */
static int take_prompt(struct buf *out, const char **at, const char *end)
{
    size_t n = line_length(*at, end);
    const enum heading heading = line_heading(*at, n);
    int rc = 0;
    if (heading != HEADING_NONE)
        *at += n + (*at + n < end);
    for (bool more = false; *at < end && rc == 0; more = true) {
        const char *line = *at;
        n = line_length(line, end);
        if ((more && heading == HEADING_NONE) || line_heading(line, n) != HEADING_NONE)
            break;
        *at += n + (line + n < end);
        const size_t space =
            heading == HEADING_SPACED && n > 0 && line[0] == ' ' && line_needs_space(line, n);
        rc = more ? buf_char(out, '\n') : 0;
        if (rc == 0)
            rc = buf_add(out, line + space, n - space);
    }
    return rc;
}

int history_text_next(struct buf *out, const char **at, const char *end)
{
    int rc = 0;
    out->n = 0;
    while (*at < end && out->n == 0 && rc == 0)
        rc = take_prompt(out, at, end);
    return rc;
}
