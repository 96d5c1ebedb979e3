#include "train/prepare/wiki_strip.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum action { DROP, KEEP_TEXT, LINE, ITEM, RAISED, NOTHING };
static const struct {
    const char *name;
    enum action action;
} tags[] = {
    {"ref", DROP},         {"references", DROP}, {"gallery", DROP},  {"timeline", DROP},
    {"imagemap", DROP},    {"score", DROP},      {"hiero", DROP},    {"templatedata", DROP},
    {"mapframe", DROP},    {"maplink", DROP},    {"graph", DROP},    {"syntaxhighlight", DROP},
    {"source", DROP},      {"inputbox", DROP},   {"table", DROP},    {"noinclude", DROP},
    {"nowiki", KEEP_TEXT}, {"math", KEEP_TEXT},  {"pre", KEEP_TEXT}, {"ce", KEEP_TEXT},
    {"chem", KEEP_TEXT},   {"br", LINE},         {"p", LINE},        {"div", LINE},
    {"blockquote", LINE},  {"center", LINE},     {"ul", LINE},       {"ol", LINE},
    {"dl", LINE},          {"dd", LINE},         {"dt", LINE},       {"poem", LINE},
    {"hr", LINE},          {"li", ITEM},         {"sup", RAISED},
};
enum { N_TAGS = sizeof tags / sizeof tags[0], NAME = 24 };

struct strip {
    struct buf *out;
    const char *text;
    size_t n, at;
    /* Of each tag: where its next end is, as far as it was looked for; so no text is searched twice
     * for an end that is not there. */
    size_t end_from[N_TAGS], end_at[N_TAGS];
};

/* Where "</name" stands at or behind `at`; n: nowhere. */
static size_t find_end_tag(struct strip *s, size_t tag)
{
    if (s->end_from[tag] != 0 && s->at <= s->end_at[tag])
        return s->end_at[tag];
    const size_t length = strlen(tags[tag].name);
    size_t i = s->at;
    for (; i < s->n; i++) {
        const char *p = memchr(s->text + i, '<', s->n - i);
        i = p == NULL ? s->n : (size_t)(p - s->text);
        if (i + 2 + length < s->n && s->text[i + 1] == '/' &&
            strncasecmp(s->text + i + 2, tags[tag].name, length) == 0 &&
            !isalnum((unsigned char)s->text[i + 2 + length]))
            break;
    }
    s->end_from[tag] = 1;
    return s->end_at[tag] = i < s->n ? i : s->n;
}

static size_t find_close(const struct strip *s, size_t from)
{
    const size_t most = s->n - from < 8192 ? s->n - from : 8192;
    const char *p = memchr(s->text + from, '>', most);
    return p == NULL ? s->n : (size_t)(p - s->text);
}

/* A comment alone in its line goes with the line. */
static void skip_comment(struct strip *s)
{
    const char *end = memmem(s->text + s->at, s->n - s->at, "-->", 3);
    const bool begins = s->out->n == 0 || s->out->data[s->out->n - 1] == '\n';
    s->at = end == NULL ? s->n : (size_t)(end - s->text) + 3;
    if (begins && s->at < s->n && s->text[s->at] == '\n')
        s->at++;
}

/* Signs that mean something in wiki text, as entities. */
static int add_literal(struct buf *out, const char *text, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = text[i] == '\n' ? buf_char(out, ' ')
             : strchr("[]{}|'=*#:;_<", text[i]) != NULL && text[i] != '\0'
                 ? buf_printf(out, "&#%d;", text[i])
                 : buf_char(out, text[i]);
    return rc;
}

static size_t find_tag(const char *name)
{
    size_t i = 0;
    while (i < N_TAGS && strcmp(tags[i].name, name) != 0)
        i++;
    return i;
}

/* A tag with all up to its end. */
static int take_element(struct strip *s, size_t tag, size_t inner)
{
    s->at = inner;
    const size_t end = find_end_tag(s, tag);
    int rc = 0;
    if (end == s->n && tags[tag].action == DROP)
        return 0; /* without an end it is the tag alone */
    if (tags[tag].action == KEEP_TEXT)
        rc = add_literal(s->out, s->text + inner, end - inner);
    /* Of an end tag without ">" the text behind it stays. */
    s->at = end == s->n ? s->n : end + 2 + strlen(tags[tag].name);
    size_t close = s->at;
    while (close < s->n && strchr("<>\n", s->text[close]) == NULL)
        close++;
    if (close < s->n && s->text[close] == '>')
        s->at = close + 1;
    return rc;
}

static int add_line(struct strip *s, const char *text)
{
    return buf_str(s->out, text);
}

/* At a "<" that begins a tag. */
static int take_tag(struct strip *s)
{
    char name[NAME];
    size_t k = 0, i = s->at + 1;
    const bool ends = s->text[i] == '/';
    for (i += ends; i < s->n && k + 1 < NAME && isalnum((unsigned char)s->text[i]); i++)
        name[k++] = (char)tolower((unsigned char)s->text[i]);
    name[k] = '\0';
    const size_t close = find_close(s, i);
    if (k == 0 || close == s->n) {
        s->at++;
        return buf_char(s->out, '<');
    }
    const size_t tag = find_tag(name);
    const bool alone = s->text[close - 1] == '/';
    const enum action action = tag == N_TAGS ? NOTHING : tags[tag].action;
    if (!ends && !alone && (action == DROP || action == KEEP_TEXT))
        return take_element(s, tag, close + 1);
    const char before = s->out->n == 0 ? ' ' : s->out->data[s->out->n - 1];
    const char behind = close + 1 < s->n ? s->text[close + 1] : ' ';
    s->at = close + 1;
    if (action == RAISED && !ends && isdigit((unsigned char)before) &&
        (isdigit((unsigned char)behind) || behind == '-' || behind == '\xe2'))
        return buf_char(s->out, '^');
    if (action == ITEM && !ends)
        return add_line(s, "\n* ");
    return action == LINE ? add_line(s, strcmp(name, "br") == 0 ? " " : "\n") : 0;
}

int wiki_strip(struct buf *out, const char *text, size_t n)
{
    struct strip s = {.out = out, .text = text, .n = n};
    int rc = 0;
    while (s.at < n && rc == 0) {
        const char *p = memchr(text + s.at, '<', n - s.at);
        const size_t next = p == NULL ? n : (size_t)(p - text);
        rc = buf_add(out, text + s.at, next - s.at);
        s.at = next;
        if (rc != 0 || next == n)
            break;
        if (n - next >= 4 && memcmp(p, "<!--", 4) == 0)
            skip_comment(&s);
        else if (next + 1 < n && (isalpha((unsigned char)p[1]) || p[1] == '/'))
            rc = take_tag(&s);
        else {
            rc = buf_char(out, '<');
            s.at++;
        }
    }
    return rc;
}
