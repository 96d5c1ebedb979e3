/*
 * Three passes: comments and tags go (wiki_strip), then templates and links become text while
 * brackets are known to belong together (wiki_match), then lines become paragraphs (wiki_lines).
 * Each level of templates looks at its own bytes and jumps over what is nested in them.
 */
#include "train/prepare/wiki_text.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/prepare/wiki_lines.h"
#include "train/prepare/wiki_match.h"
#include "train/prepare/wiki_strip.h"
#include "train/prepare/wiki_template.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEPTH_MAX = 16, NAME = 48, LINK_BYTES = 4096 };

struct page {
    const char *text;
    const uint32_t *close; /* of wiki_match */
    const struct wiki_day *today;
};

struct range {
    size_t from, to;
};

static int add_inline(struct buf *out, const struct page *p, struct range r, int depth);

/* The next c of the range that is not nested in something; r.to: none. */
static size_t find_outer(const struct page *p, struct range r, char c)
{
    for (size_t i = r.from; i < r.to; i++) {
        if (p->close[i] != 0 && p->close[i] < r.to)
            i = p->close[i] + 1;
        else if (p->text[i] == c)
            return i;
    }
    return r.to;
}

static struct range trim_range(const struct page *p, struct range r)
{
    while (r.from < r.to && isspace((unsigned char)p->text[r.from]))
        r.from++;
    while (r.to > r.from && isspace((unsigned char)p->text[r.to - 1]))
        r.to--;
    return r;
}

/* ---- templates ---- */

/* Where the texts of a call lie in the buffer; pointers come when it has stopped moving. */
struct places {
    size_t key[WIKI_ARGUMENTS], value[WIKI_ARGUMENTS];
    bool named[WIKI_ARGUMENTS];
    int number[WIKI_ARGUMENTS]; /* of one without a name, from 0 */
    int n, unnamed;
};

static int add_argument(struct buf *texts, struct places *a, const struct page *p, struct range r,
                        int depth)
{
    const size_t equals = find_outer(p, r, '=');
    const struct range key = trim_range(p, (struct range){r.from, equals});
    const int k = a->n;
    int rc = 0;
    if (k == WIKI_ARGUMENTS)
        return 0;
    const size_t digits = key.to - key.from;
    const bool numbered = equals < r.to && digits >= 1 && digits <= 2 &&
                          strspn(p->text + key.from, "0123456789") >= digits;
    a->named[k] = equals < r.to && !numbered;
    a->number[k] = numbered ? atoi(p->text + key.from) - 1 : equals < r.to ? 0 : a->unnamed++;
    a->key[k] = texts->n;
    if (equals < r.to) {
        rc = buf_add(texts, p->text + key.from, key.to - key.from);
        r.from = equals + 1;
    }
    if (rc == 0 && (rc = buf_char(texts, '\0')) == 0) {
        a->value[k] = texts->n;
        rc = add_inline(texts, p, trim_range(p, r), depth + 1);
    }
    a->n += rc == 0;
    return rc == 0 ? buf_char(texts, '\0') : rc;
}

static void point_to(struct wiki_call *c, const struct places *a, const struct buf *texts)
{
    for (int i = 0; i < a->n; i++) {
        const char *value = texts->data + a->value[i];
        if (a->named[i]) {
            c->named[c->n_named].key = texts->data + a->key[i];
            c->named[c->n_named++].value = value;
        } else if (a->number[i] >= 0 && a->number[i] < WIKI_ARGUMENTS) {
            c->at[a->number[i]] = value;
            c->n = a->number[i] >= c->n ? a->number[i] + 1 : c->n;
        }
    }
    for (int i = 0; i < c->n; i++)
        c->at[i] = c->at[i] == NULL ? "" : c->at[i];
}

/* The template between its brackets. */
static int add_template(struct buf *out, const struct page *p, struct range r, int depth)
{
    char name[NAME];
    struct wiki_call call = {.name = name, .today = p->today};
    struct places a = {0};
    struct buf texts = {0};
    size_t bar = find_outer(p, r, '|');
    const char *colon = memchr(p->text + r.from, ':', bar - r.from);
    const bool function =
        colon != NULL && wiki_template_shows(p->text + r.from, (size_t)(colon - p->text) - r.from);
    call.function = function;
    const size_t end = function ? (size_t)(colon - p->text) : bar;
    if (depth >= DEPTH_MAX || !wiki_template_shows(p->text + r.from, end - r.from))
        return 0;
    wiki_template_name(name, sizeof name, p->text + r.from, end - r.from);
    int rc = buf_reserve(&texts, r.to - end);
    for (size_t from = end; from < r.to && rc == 0;) {
        const size_t next = find_outer(p, (struct range){from + 1, r.to}, '|');
        rc = add_argument(&texts, &a, p, (struct range){from + 1, next}, depth);
        from = next;
    }
    if (rc == 0) {
        point_to(&call, &a, &texts);
        rc = wiki_template(out, &call);
    }
    buf_release(&texts);
    return rc;
}

/* ---- links ---- */

static bool has_prefix(const char *text, size_t n, const char *prefix)
{
    const size_t k = strlen(prefix);
    return n >= k && strncasecmp(text, prefix, k) == 0;
}

/* Files and categories show nothing here; nor do links to other languages. */
static bool is_hidden_link(const char *target, size_t n, bool labelled)
{
    static const char *const prefixes[] = {
        "file:", "image:", "category:", "media:", "datei:", "fichier:", "archivo:", "kategorie:"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (has_prefix(target, n, prefixes[i]))
            return true;
    size_t k = 0;
    while (k < n && islower((unsigned char)target[k]))
        k++;
    return !labelled && (k == 2 || k == 3) && k < n && target[k] == ':';
}

static int add_link(struct buf *out, const struct page *p, struct range r, int depth)
{
    const size_t bar = find_outer(p, r, '|');
    struct range target = trim_range(p, (struct range){r.from, bar});
    const bool labelled = bar < r.to;
    if (depth >= DEPTH_MAX ||
        is_hidden_link(p->text + target.from, target.to - target.from, labelled))
        return 0;
    if (labelled && bar + 1 < r.to)
        return add_inline(out, p, (struct range){bar + 1, r.to}, depth + 1);
    target.from += target.from < target.to && p->text[target.from] == ':';
    return add_inline(out, p, target, depth + 1);
}

/* [http://... text]: the text. *used: bytes of all of it, 0: it is none. */
static int add_outside_link(struct buf *out, const struct page *p, struct range r, int depth,
                            size_t *used)
{
    static const char *const schemes[] = {"http://", "https://", "ftp://",
                                          "//",      "mailto:",  "news:"};
    const char *at = p->text + r.from + 1;
    const size_t n = r.to - r.from - 1 < LINK_BYTES ? r.to - r.from - 1 : LINK_BYTES;
    bool link = false;
    *used = 0;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        link |= has_prefix(at, n, schemes[i]);
    const char *end = link ? memchr(at, ']', n) : NULL;
    if (end == NULL || memchr(at, '\n', (size_t)(end - at)) != NULL)
        return 0;
    const char *space = memchr(at, ' ', (size_t)(end - at));
    *used = (size_t)(end - at) + 2;
    if (space == NULL || depth >= DEPTH_MAX)
        return 0;
    return add_inline(
        out, p, (struct range){(size_t)(space + 1 - p->text), (size_t)(end - p->text)}, depth + 1);
}

/* ---- a line, or a part of one ---- */

/* Apostrophes mark italics (2), bold (3) and both (5); more are apostrophes. */
static int add_quotes(struct buf *out, size_t n)
{
    size_t real = n == 1 || n == 4 ? 1 : n > 5 ? n - 5 : 0;
    int rc = 0;
    while (real-- > 0 && rc == 0)
        rc = buf_char(out, '\'');
    return rc;
}

/* "__TOC__" */
static size_t magic_word(const char *text, size_t n)
{
    size_t k = 2;
    if (n < 5 || text[0] != '_' || text[1] != '_')
        return 0;
    while (k < n && k < 40 && isupper((unsigned char)text[k]))
        k++;
    return k > 2 && k + 1 < n && text[k] == '_' && text[k + 1] == '_' ? k + 2 : 0;
}

/* Whether the point at `at` ends a sentence that an abbreviation behind it has ended: of "[[Martin
 * Luther King, Jr.]]." the last, but none of an ellipsis. */
static bool is_second_point(const struct buf *out, const struct page *p, size_t at, size_t to)
{
    const char *end = out->n == 0 ? NULL : out->data + out->n - 1;
    return at < to && p->text[at] == '.' && (at + 1 == to || p->text[at + 1] != '.') &&
           end != NULL && *end == '.' && (out->n == 1 || end[-1] != '.');
}

/* What is bracketed at `at`, and where it goes on. */
static int add_bracketed(struct buf *out, const struct page *p, size_t at, int depth, size_t *next)
{
    const struct range inner = {at + 2, p->close[at]};
    *next = p->close[at] + 2;
    if (p->text[at] == '[')
        return add_link(out, p, inner, depth);
    if (p->text[at + 1] == '|')
        return 0;
    if (inner.from < inner.to && p->text[inner.from] == '{' && p->text[*next] == '}')
        ++*next; /* a parameter's three brackets */
    return add_template(out, p, inner, depth);
}

static bool is_pair(const struct page *p, size_t at, size_t to)
{
    const char c = p->text[at];
    return at + 1 < to && c == p->text[at + 1] && strchr("[]{}", c) != NULL && c != '\0';
}

/* How many bytes there are that mean themselves. */
static size_t plain_run(const char *text, size_t n)
{
    static const bool marks[UCHAR_MAX + 1] = {
        ['['] = true, [']'] = true, ['{'] = true, ['}'] = true, ['\''] = true, ['_'] = true};
    size_t i = 0;
    while (i < n && !marks[(unsigned char)text[i]])
        i++;
    return i;
}

static int add_inline(struct buf *out, const struct page *p, struct range r, int depth)
{
    int rc = 0;
    for (size_t i = r.from; i < r.to && rc == 0;) {
        const char c = p->text[i];
        size_t used = plain_run(p->text + i, r.to - i);
        if (used > 0) {
            rc = buf_add(out, p->text + i, used);
            i += used;
            continue;
        }
        if (p->close[i] != 0 && p->close[i] + 2 <= r.to) {
            rc = add_bracketed(out, p, i, depth, &i);
            i += rc == 0 && is_second_point(out, p, i, r.to);
            continue;
        }
        if (is_pair(p, i, r.to)) /* the other one is missing */
            used = 2;
        else if (c == '[')
            rc = add_outside_link(out, p, (struct range){i, r.to}, depth, &used);
        else if (c == '\'') {
            while (i + used < r.to && p->text[i + used] == '\'')
                used++;
            rc = add_quotes(out, used);
        } else if (c == '_')
            used = magic_word(p->text + i, r.to - i);
        if (rc == 0 && used == 0)
            rc = buf_char(out, p->text[i]);
        i += used == 0 ? 1 : used;
    }
    return rc;
}

int wiki_text(struct buf *out, const char *text, size_t n, const struct wiki_day *today)
{
    struct buf plain = {0}, lines = {0};
    uint32_t *close = NULL;
    if (n > WIKI_TEXT_MOST)
        return err_set(ERR_RANGE, "a page has %zu bytes, expected at most %zu", n, WIKI_TEXT_MOST);
    int rc = buf_reserve(&plain, n);
    if (rc == 0)
        rc = wiki_strip(&plain, text, n);
    if (rc == 0 && (close = mem_array(plain.n + 2, sizeof *close)) == NULL)
        rc = ERR_NOMEM;
    if (rc == 0)
        rc = wiki_match(close, buf_text(&plain), plain.n);
    const struct page p = {buf_text(&plain), close, today};
    if (rc == 0)
        rc = buf_reserve(&lines, plain.n);
    if (rc == 0)
        rc = add_inline(&lines, &p, (struct range){0, plain.n}, 0);
    if (rc == 0)
        rc = wiki_lines(out, buf_text(&lines), lines.n);
    mem_free(close);
    buf_release(&plain);
    buf_release(&lines);
    return rc;
}
