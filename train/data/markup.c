#include "train/data/markup.h"

#include "model/base/err.h"
#include "train/data/advice.h"
#include "train/data/not_text.h"
#include "train/data/packing.h"
#include "train/data/text_stream.h"
#include "train/data/utf16.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { HEAD_BYTES = 4096, MANY_TAGS = 6, MANY_LINKS = 2, MANY_LINES = 3 };

enum { MEDIAWIKI, WIKI_TEXT, EXTRACTED, HTML, SVG, XML, LATEX, RTF, JSON_TEXTS, CSV };
static const struct markup kinds[] = {
    [MEDIAWIKI] = {"a MediaWiki dump", "`:data prepare FILE NEW.jsonl`", true},
    [WIKI_TEXT] = {"wiki markup", "`pandoc -f mediawiki -t plain --wrap=none FILE > NEW`", false},
    [EXTRACTED] = {"WikiExtractor's documents", "`:data prepare FILE NEW.jsonl`", true},
    [HTML] = {"HTML", "`pandoc -f html -t plain --wrap=none FILE > NEW`", false},
    [SVG] = {"SVG, a picture", "take it out of the tags", false},
    [XML] = {"XML", "take it out of the tags", false},
    [LATEX] = {"LaTeX", "`pandoc -f latex -t plain --wrap=none FILE > NEW`", false},
    [RTF] = {"RTF", "`pandoc -f rtf -t plain --wrap=none FILE > NEW`", false},
    [JSON_TEXTS] = {"JSON lines", "name it .jsonl", true},
    [CSV] = {"CSV", "`:data prepare FILE NEW.jsonl field=COLUMN`", true},
};

static bool begins_with(const char *text, const char *word)
{
    return strncasecmp(text, word, strlen(word)) == 0;
}

static int count_words(const char *text, const char *word, int most)
{
    int n = 0;
    for (const char *p = text; n < most && (p = strcasestr(p, word)) != NULL; p += strlen(word))
        n++;
    return n;
}

/* Tags that stand in no other text. */
static bool has_html_tags(const char *text)
{
    static const char *const tags[] = {"<p>",   "</p>", "<br", "<div", "</a>",
                                       "<span", "<li>", "<h1", "<h2"};
    int n = 0;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        n += count_words(text, tags[i], MANY_TAGS);
    return n >= MANY_TAGS;
}

/* "== Heading ==" as a line; WikiText's own have spaces between the signs. */
static bool has_wiki_heading(const char *text)
{
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const size_t n = strcspn(line, "\r\n");
        if (n > 5 && memcmp(line, "==", 2) == 0 && memcmp(line + n - 2, "==", 2) == 0 &&
            strspn(line, "= ") < n)
            return true;
    }
    return false;
}

/* A tag first, and many ends of elements, of more than one name. */
static bool is_xml(const char *text)
{
    const char *end = strstr(text, "</");
    if (*text != '<' || !isalpha((unsigned char)text[1]) || end == NULL ||
        count_words(text, "</", MANY_TAGS) < MANY_TAGS)
        return false;
    const size_t n = strcspn(end, ">") + 1;
    for (const char *p = end; (p = strstr(p + 2, "</")) != NULL;)
        if (strncmp(p, end, n) != 0)
            return true;
    return false;
}

static bool is_json_text(const char *text)
{
    const char *key = strstr(text, "\"text\"");
    return *text == '{' && key != NULL && key < text + strcspn(text, "\n");
}

/* What begins like nothing else; -1: none of these. */
static int classify_beginning(const char *text)
{
    if (begins_with(text, "<mediawiki") || begins_with(text, "<page>") ||
        (*text == '<' && strstr(text, "<mediawiki") != NULL))
        return MEDIAWIKI;
    if (begins_with(text, "<doc id=\""))
        return EXTRACTED;
    if (begins_with(text, "<!doctype html") || begins_with(text, "<html"))
        return HTML;
    if (not_text_is_svg(text, strlen(text)))
        return SVG;
    if (begins_with(text, "<?xml"))
        return strcasestr(text, "<html") != NULL ? HTML : XML;
    if (begins_with(text, "{\\rtf"))
        return RTF;
    return is_json_text(text) ? JSON_TEXTS : -1;
}

const struct markup *markup_find(const char *head, size_t n)
{
    char copy[HEAD_BYTES + 1];
    const char *text = copy;
    n = n < HEAD_BYTES ? n : HEAD_BYTES;
    memcpy(copy, head, n);
    copy[n] = '\0';
    text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (isspace((unsigned char)*text))
        text++;
    int kind = classify_beginning(text);
    if (kind < 0 &&
        (strstr(text, "\\documentclass") != NULL || strstr(text, "\\begin{document}") != NULL))
        kind = LATEX;
    if (kind < 0 && strstr(text, "<page>") != NULL && strstr(text, "<revision>") != NULL)
        kind = MEDIAWIKI;
    if (kind < 0 && count_words(text, "[[", MANY_LINKS) == MANY_LINKS &&
        (has_wiki_heading(text) || strstr(text, "'''") != NULL || strstr(text, "{{") != NULL))
        kind = WIKI_TEXT;
    if (kind < 0 && has_html_tags(text))
        kind = HTML;
    if (kind < 0 && is_xml(text))
        kind = XML;
    return kind < 0 ? NULL : &kinds[kind];
}

/* The fields of a record of CSV; *record is moved behind it, *whole: it ends within the text. */
static int count_fields(const char **record, char separator, bool *whole)
{
    const char *p = *record;
    bool quoted = false;
    int fields = 1;
    for (; *p != '\0' && (quoted || *p != '\n'); p++) {
        quoted ^= *p == '"';
        fields += !quoted && *p == separator;
    }
    *whole = *p == '\n';
    *record = p + *whole;
    return fields;
}

/* A header of several columns, and as many in every record that is seen whole; empty lines are
 * none. */
static bool has_columns(const char *text, char separator)
{
    bool whole;
    const int columns = count_fields(&text, separator, &whole);
    bool same = columns > 1 && whole && *text != '\0';
    while (same && *(text += strspn(text, "\r\n")) != '\0') {
        const int fields = count_fields(&text, separator, &whole);
        same = !whole || fields == columns;
    }
    return same;
}

const struct markup *markup_find_csv(const char *name, const char *head, size_t n)
{
    char copy[HEAD_BYTES + 1], inner[256];
    data_unpacked_name(inner, sizeof inner, name);
    n = n < HEAD_BYTES ? n : HEAD_BYTES;
    memcpy(copy, head, n);
    copy[n] = '\0';
    bool is = text_ends_in(inner, ".tsv") && has_columns(copy, '\t');
    for (const char *s = ",;\t|"; *s != '\0' && text_ends_in(inner, ".csv"); s++)
        is |= has_columns(copy, *s);
    return is ? &kinds[CSV] : NULL;
}

/* Of a larger archive only the first text is looked at: what is behind it takes as long to reach as
 * to read. */
static const uint64_t SMALL_ARCHIVE = 4 << 20;

/* A source that looks like markup: its first text does. */
struct marked {
    const struct markup *markup; /* NULL: none does */
    const char *dos; /* all lines of a beginning end in CR LF: what does without; NULL */
    const struct data_source *source;
    char name[TEXT_NAME];
};

/* Whether all line ends of the text are behind a CR; these are escapes in JSON. */
static bool has_dos_lines(const char *text, bool json)
{
    const char *const end = json ? "\\n" : "\n", *const both = json ? "\\r\\n" : "\r\n";
    const size_t before = strlen(both) - strlen(end);
    size_t lines = 0;
    for (const char *p = text; (p = strstr(p, end)) != NULL; p += strlen(end), lines++)
        if (p < text + before || strncmp(p - before, both, before) != 0)
            return false;
    return lines >= MANY_LINES;
}

/* The beginning of the text in progress, as UTF-8. */
static int read_beginning(struct text_stream *s, struct buf *out, bool *utf16)
{
    char head[HEAD_BYTES];
    struct utf16 u = {0};
    size_t n = 0;
    int rc = text_stream_read(s, head, sizeof head, &n);
    *utf16 = rc == 0 && s->kind == DATA_TEXT && utf16_has_mark(head, n);
    if (!*utf16)
        return rc != 0 ? rc : buf_add(out, head, n);
    utf16_begin(&u, head);
    return utf16_decode(&u, out, s->name, head + 2, n - 2, false);
}

static void look_at_text(struct marked *m, struct text_stream *s)
{
    struct buf head = {0};
    bool utf16 = false;
    const bool json = s->kind == DATA_JSON_LINES;
    const int rc = read_beginning(s, &head, &utf16);
    if (rc == 0 && !json && s->texts == 1) {
        m->markup = markup_find_csv(s->name, buf_text(&head), head.n);
        m->markup = m->markup == NULL ? markup_find(buf_text(&head), head.n) : m->markup;
    }
    if (rc == 0 && m->markup == NULL && has_dos_lines(buf_text(&head), json))
        m->dos = json    ? "`sed 's/\\\\r\\\\n/\\\\n/g' FILE > NEW`"
                 : utf16 ? "`iconv -f UTF-16 -t UTF-8 FILE | tr -d '\\r' > NEW`"
                         : "`tr -d '\\r' < FILE > NEW`";
    memcpy(m->name, s->name, sizeof m->name);
    buf_release(&head);
}

static void look_at_source(struct marked *m, const struct data_source *source)
{
    struct text_stream s;
    bool got = false;
    if (!data_kind_is_text(source->kind) || source->parquet ||
        text_stream_open(&s, source, "text", false) != 0)
        return;
    m->source = source;
    while (text_stream_next(&s, &got) == 0 && got && m->markup == NULL && m->dos == NULL) {
        if (data_kind_is_text(s.kind) && !s.rows)
            look_at_text(m, &s);
        if (s.file.bytes > SMALL_ARCHIVE)
            break;
    }
    text_stream_close(&s);
}

/* n: sources of the kind, this one among them. */
static void note_dos_lines(const struct marked *m, size_t n, const struct progress *p)
{
    char advice[512], more[40] = "";
    data_advice(advice, sizeof advice, m->dos, m->source->packed ? m->name : m->source->path,
                m->source->packed);
    if (n > 1)
        snprintf(more, sizeof more, " and %zu more", n - 1);
    progress_note(p, "%s%s: lines end in CR LF, and the CR counts as text; without it: %s", m->name,
                  more, advice);
}

static const char *advise(char *out, size_t size, const struct marked *m)
{
    const bool packed = m->source->packed && !m->markup->prepared;
    return data_advice(out, size, m->markup->advice, packed ? m->name : m->source->path, packed);
}

void markup_note(const struct data_sources *s, bool prepare, const struct progress *p)
{
    struct marked first = {0}, dos = {0};
    size_t others = 0, n_dos = 0;
    char advice[512];
    for (size_t i = 0; i < s->n; i++) {
        struct marked one = {0};
        look_at_source(&one, &s->list[i]);
        dos = one.dos != NULL && n_dos == 0 ? one : dos;
        n_dos += one.dos != NULL;
        if (one.markup == NULL || (prepare && one.markup->prepared))
            continue;
        others += first.markup != NULL;
        first = first.markup == NULL ? one : first;
    }
    err_clear();
    if (n_dos > 0)
        note_dos_lines(&dos, n_dos, p);
    if (first.markup != NULL && others == 0)
        progress_note(p, "%s looks like %s, and its markup counts as text; for plain text: %s",
                      first.name, first.markup->name, advise(advice, sizeof advice, &first));
    else if (first.markup != NULL)
        progress_note(p,
                      "%s and %zu more look like markup (%s), which counts as text; for plain "
                      "text: %s",
                      first.name, others, first.markup->name,
                      advise(advice, sizeof advice, &first));
}
