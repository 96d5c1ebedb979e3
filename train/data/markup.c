#include "train/data/markup.h"

#include "model/base/err.h"
#include "train/data/packing.h"
#include "train/data/text_stream.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { HEAD_BYTES = 4096, MANY_TAGS = 6, MANY_LINKS = 2 };

enum { MEDIAWIKI, WIKI_TEXT, EXTRACTED, HTML, XML, LATEX, RTF, JSON_TEXTS, CSV };
static const struct markup kinds[] = {
    [MEDIAWIKI] = {"a MediaWiki dump", "`:data prepare FILE NEW`"},
    [WIKI_TEXT] = {"wiki markup", "`pandoc -f mediawiki -t plain --wrap=none FILE > NEW`"},
    [EXTRACTED] = {"WikiExtractor's documents", "`:data prepare FILE NEW`"},
    [HTML] = {"HTML", "`pandoc -f html -t plain --wrap=none FILE > NEW`"},
    [XML] = {"XML", "take it out of the tags"},
    [LATEX] = {"LaTeX", "`pandoc -f latex -t plain --wrap=none FILE > NEW`"},
    [RTF] = {"RTF", "`pandoc -f rtf -t plain --wrap=none FILE > NEW`"},
    [JSON_TEXTS] = {"JSON lines", "name it .jsonl"},
    [CSV] = {"CSV", "prattle data prepare FILE NEW field=COLUMN"},
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

/* A header of several columns, and as many in every record that is seen whole. */
static bool has_columns(const char *text, char separator)
{
    bool whole;
    const int columns = count_fields(&text, separator, &whole);
    bool same = columns > 1 && whole && *text != '\0';
    while (same && *text != '\0') {
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

/* The first text of a source that looks like markup; name: what it is called. */
static const struct markup *find_source_markup(const struct data_source *source, char *name,
                                               size_t size)
{
    struct text_stream s;
    const struct markup *found = NULL;
    char head[HEAD_BYTES];
    size_t n = 0;
    bool got = false;
    int rc = text_stream_open(&s, source, "text");
    if (rc != 0)
        return NULL;
    if (text_stream_next(&s, &got) == 0 && got && s.kind == DATA_TEXT &&
        text_stream_read(&s, head, sizeof head, &n) == 0)
        found = (found = markup_find_csv(s.name, head, n)) == NULL ? markup_find(head, n) : found;
    snprintf(name, size, "%s", s.name);
    text_stream_close(&s);
    return found;
}

void markup_note(const struct data_sources *s, const struct progress *p)
{
    const struct markup *first = NULL, *found;
    char name[256], named[256];
    size_t others = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->list[i].kind != DATA_TEXT ||
            (found = find_source_markup(&s->list[i], name, sizeof name)) == NULL)
            continue;
        if (first == NULL)
            memcpy(named, name, sizeof named);
        others += first != NULL;
        first = first == NULL ? found : first;
    }
    err_clear();
    if (first != NULL && others == 0)
        progress_note(p, "%s looks like %s: the model will learn its markup; for plain text: %s",
                      named, first->name, first->advice);
    else if (first != NULL)
        progress_note(p,
                      "%s and %zu more look like markup (%s): the model will learn it; for plain "
                      "text: %s",
                      named, others, first->name, first->advice);
}
