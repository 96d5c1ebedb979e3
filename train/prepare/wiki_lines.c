#include "train/prepare/wiki_lines.h"

#include "train/prepare/wiki_entity.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

enum { LEVELS = 7, HEADING = 200 };

/* Sections that are lists of references and links. */
static const char *const dropped[] = {"References",
                                      "External links",
                                      "See also",
                                      "Further reading",
                                      "Notes",
                                      "Footnotes",
                                      "Bibliography",
                                      "Sources",
                                      "Citations",
                                      "Notes and references",
                                      "References and notes",
                                      "Works cited",
                                      "Gallery",
                                      "External sources",
                                      "General references"};

struct lines {
    struct buf *out;
    struct buf paragraph;
    char headings[LEVELS][HEADING]; /* not written yet, by level; "": none */
    int dropping;                   /* level of the section that is left out; 0: none */
    bool item;                      /* the paragraph is an item of a list */
    bool after_item;                /* the last one written was */
    size_t begun;                   /* of out, before the first */
};

static void trim(const char **text, size_t *n)
{
    while (*n > 0 && strchr(" \t\r", **text) != NULL) {
        ++*text;
        --*n;
    }
    while (*n > 0 && strchr(" \t\r", (*text)[*n - 1]) != NULL)
        --*n;
}

/* ---- one paragraph ---- */

static bool ends_in(const struct buf *out, size_t from, char c)
{
    return out->n > from && out->data[out->n - 1] == c;
}

static bool is_end(const char *text, size_t n, size_t i)
{
    return i >= n || text[i] == ' ' || text[i] == '\n' || text[i] == ')';
}

/* Punctuation behind what is gone. */
static int add_point(struct buf *out, size_t from, char c)
{
    while (ends_in(out, from, ' '))
        out->n--;
    if (ends_in(out, from, '(') ||
        (c != '.' && (ends_in(out, from, ',') || ends_in(out, from, ';'))))
        return 0;
    return buf_char(out, c);
}

static int add_closing(struct buf *out, size_t from)
{
    while (ends_in(out, from, ' ') || ends_in(out, from, ',') || ends_in(out, from, ';'))
        out->n--;
    if (!ends_in(out, from, '('))
        return buf_char(out, ')');
    out->n--;
    return 0;
}

/* How many bytes there are that stay as they are; a space between two of these does, too. */
static size_t plain_run(const char *text, size_t n)
{
    static const bool marks[UCHAR_MAX + 1] = {
        [' '] = true, ['\t'] = true, ['\n'] = true, ['\r'] = true,
        [')'] = true, [','] = true,  [';'] = true,  ['.'] = true};
    size_t i = 0;
    while (i < n && (!marks[(unsigned char)text[i]] ||
                     (text[i] == ' ' && i > 0 && text[i - 1] != ' ' && text[i - 1] != '(' &&
                      i + 1 < n && !marks[(unsigned char)text[i + 1]])))
        i++;
    return i;
}

/* Punctuation that is no word's: before the first word it stands behind what is gone. */
static bool is_lost(const char *text, size_t n, size_t i)
{
    return (text[i] == ',' || text[i] == ';' || text[i] == '.' || text[i] == ':') &&
           (i + 1 == n || text[i + 1] == ' ' || text[i + 1] == '\n');
}

static int tidy_text(struct buf *out, const char *text, size_t n)
{
    const size_t from = out->n;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (out->n == from && is_lost(text, n, i))
            continue;
        const size_t run = plain_run(text + i, n - i);
        if ((rc = buf_add(out, text + i, run)) != 0 || (i += run) == n)
            break;
        const char c = text[i];
        const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        if (blank && (out->n == from || ends_in(out, from, ' ') || ends_in(out, from, '(')))
            continue;
        if (c == ')')
            rc = add_closing(out, from);
        else if ((c == ',' || c == ';' || c == '.') && is_end(text, n, i + 1) &&
                 (ends_in(out, from, ' ') || ends_in(out, from, '(')))
            rc = add_point(out, from, c);
        else
            rc = buf_char(out, blank ? ' ' : c);
    }
    while (ends_in(out, from, ' '))
        out->n--;
    if (out->data != NULL)
        out->data[out->n] = '\0';
    return rc;
}

int wiki_tidy(struct buf *out, const char *text, size_t n)
{
    struct buf plain = {0};
    int rc = wiki_entities(&plain, text, n);
    if (rc == 0)
        rc = tidy_text(out, buf_text(&plain), plain.n);
    buf_release(&plain);
    return rc;
}

/* ---- blocks ---- */

static int separate(struct lines *l, bool item)
{
    const char *between = l->out->n == l->begun ? "" : item && l->after_item ? "\n" : "\n\n";
    l->after_item = item;
    return buf_str(l->out, between);
}

static int write_headings(struct lines *l)
{
    int rc = 0;
    for (int i = 0; i < LEVELS && rc == 0; i++) {
        if (l->headings[i][0] == '\0')
            continue;
        rc = separate(l, false);
        if (rc == 0)
            rc = buf_str(l->out, l->headings[i]);
        l->headings[i][0] = '\0';
    }
    return rc;
}

static int end_paragraph(struct lines *l)
{
    struct buf text = {0};
    int rc = l->paragraph.n == 0 ? 0 : wiki_tidy(&text, l->paragraph.data, l->paragraph.n);
    /* A sign or two is what a dropped template left. */
    const bool words = text.n > 2 || (text.n > 0 && l->item && text.n > 1);
    l->paragraph.n = 0;
    if (rc == 0 && words && l->dropping == 0) {
        rc = write_headings(l);
        if (rc == 0)
            rc = separate(l, l->item);
        if (rc == 0 && l->item)
            rc = buf_str(l->out, "- ");
        if (rc == 0)
            rc = buf_add(l->out, text.data, text.n);
    }
    buf_release(&text);
    l->item = false;
    return rc;
}

/* "== Title ==": its level, 0: none. */
static int heading_level(const char *line, size_t n)
{
    int level = 0;
    while (level < 6 && (size_t)level * 2 + 1 < n && line[level] == '=' &&
           line[n - 1 - (size_t)level] == '=')
        level++;
    return level;
}

static int take_heading(struct lines *l, const char *line, size_t n, int level)
{
    struct buf title = {0};
    int rc = end_paragraph(l);
    line += level;
    n -= 2 * (size_t)level;
    if (rc == 0)
        rc = wiki_tidy(&title, line, n);
    if (l->dropping >= level)
        l->dropping = 0;
    for (int i = level; i < LEVELS; i++)
        l->headings[i][0] = '\0';
    for (size_t i = 0; i < sizeof dropped / sizeof dropped[0] && l->dropping == 0; i++)
        if (title.n > 0 && strcasecmp(title.data, dropped[i]) == 0)
            l->dropping = level;
    if (rc == 0 && title.n > 0 && title.n < HEADING)
        memcpy(l->headings[level], title.data, title.n + 1);
    buf_release(&title);
    return rc;
}

static int take_item(struct lines *l, const char *line, size_t n)
{
    const size_t marks = strspn(line, "*#:;");
    const char *text = line + (marks < n ? marks : n);
    size_t left = n - (size_t)(text - line);
    const bool item = line[marks - 1] == '*' || line[marks - 1] == '#';
    int rc = end_paragraph(l);
    trim(&text, &left);
    l->item = item;
    if (rc == 0)
        rc = buf_add(&l->paragraph, text, left);
    return rc == 0 ? end_paragraph(l) : rc;
}

static int take_line(struct lines *l, const char *line, size_t n)
{
    trim(&line, &n);
    if (n == 0 || (n >= 4 && memcmp(line, "----", 4) == 0))
        return end_paragraph(l);
    const int level = heading_level(line, n);
    if (level > 0)
        return take_heading(l, line, n, level);
    if (strchr("*#:;", *line) != NULL)
        return take_item(l, line, n);
    if (*line == '|' || *line == '!' || (n >= 2 && memcmp(line, "{|", 2) == 0))
        return end_paragraph(l); /* rows of a table without an end */
    int rc = l->paragraph.n > 0 ? buf_char(&l->paragraph, ' ') : 0;
    return rc == 0 ? buf_add(&l->paragraph, line, n) : rc;
}

int wiki_lines(struct buf *out, const char *text, size_t n)
{
    struct lines l = {.out = out, .begun = out->n};
    int rc = 0;
    for (size_t at = 0; at < n && rc == 0;) {
        const char *end = memchr(text + at, '\n', n - at);
        const size_t length = end == NULL ? n - at : (size_t)(end - text) - at;
        rc = take_line(&l, text + at, length);
        at += length + 1;
    }
    if (rc == 0)
        rc = end_paragraph(&l);
    buf_release(&l.paragraph);
    return rc;
}
