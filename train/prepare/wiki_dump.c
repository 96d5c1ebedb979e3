#include "train/prepare/wiki_dump.h"

#include "model/base/err.h"
#include "train/prepare/wiki_text.h"

#include <expat.h>
#include <string.h>
#include <strings.h>

enum { FEED_BYTES = 1 << 16 };

bool wiki_dump_is(const char *head, size_t n)
{
    const size_t look = n < 2048 ? n : 2048;
    return memmem(head, look, "<mediawiki", 10) != NULL && memchr("<", *head, 1) != NULL;
}

static void start_element(void *user, const char *name, const char **attributes)
{
    struct wiki_dump *d = user;
    (void)attributes;
    d->into = NULL;
    if (strcmp(name, "page") == 0) {
        d->title.n = d->text.n = d->ns.n = d->model.n = d->written.n = 0;
        d->redirect = d->too_long = false;
    } else if (strcmp(name, "redirect") == 0) {
        d->redirect = true;
    } else if (strcmp(name, "text") == 0) {
        d->text.n = 0;
        d->into = &d->text;
    } else if (strcmp(name, "title") == 0) {
        d->into = &d->title;
    } else if (strcmp(name, "ns") == 0) {
        d->into = &d->ns;
    } else if (strcmp(name, "timestamp") == 0) {
        d->written.n = 0;
        d->into = &d->written;
    } else if (strcmp(name, "model") == 0) {
        d->model.n = 0;
        d->into = &d->model;
    }
}

static bool is_redirect(const struct wiki_dump *d)
{
    return d->redirect || (d->text.n > 9 && strncasecmp(d->text.data, "#redirect", 9) == 0);
}

static bool is_article(const struct wiki_dump *d)
{
    return (d->ns.n == 0 || strcmp(d->ns.data, "0") == 0) && !is_redirect(d) && !d->too_long &&
           (d->model.n == 0 || strcmp(d->model.data, "wikitext") == 0) && d->text.n > 0;
}

static void end_element(void *user, const char *name)
{
    struct wiki_dump *d = user;
    d->into = NULL;
    if (strcmp(name, "page") == 0 && is_article(d)) {
        d->ready = true;
        XML_StopParser(d->parser, XML_TRUE);
    }
}

static void add_characters(void *user, const char *text, int n)
{
    struct wiki_dump *d = user;
    if (d->into == NULL)
        return;
    if (d->into->n + (size_t)n > WIKI_TEXT_MOST) {
        d->too_long = true;
    } else if (buf_add(d->into, text, (size_t)n) != 0) {
        d->no_memory = true;
        XML_StopParser(d->parser, XML_FALSE);
    }
}

/* No dump has one, and entities can be made to grow without end. */
static void refuse_doctype(void *user, const char *name, const char *system_id,
                           const char *public_id, int internal)
{
    struct wiki_dump *d = user;
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)internal;
    d->refused = true;
    XML_StopParser(d->parser, XML_FALSE);
}

static void begin_dump(struct text_reader *r, void *state)
{
    struct wiki_dump *d = state;
    (void)r;
    if (d->parser != NULL)
        XML_ParserFree(d->parser);
    d->parser = XML_ParserCreate("UTF-8");
    d->into = NULL;
    d->ready = d->suspended = d->refused = d->no_memory = d->last = false;
    if (d->parser == NULL)
        return;
    XML_SetUserData(d->parser, d);
    XML_SetElementHandler(d->parser, start_element, end_element);
    XML_SetCharacterDataHandler(d->parser, add_characters);
    XML_SetStartDoctypeDeclHandler(d->parser, refuse_doctype);
}

static int set_parse_error(const struct wiki_dump *d, const struct text_reader *r)
{
    if (d->no_memory || XML_GetErrorCode(d->parser) == XML_ERROR_NO_MEMORY)
        return err_set(ERR_NOMEM, "no memory to read %s", r->stream.name);
    if (d->refused)
        return err_set(ERR_FORMAT, "%s has a document type declaration, as no MediaWiki dump has",
                       r->stream.name);
    return err_set(ERR_FORMAT, "%s line %lu: %s", r->stream.name,
                   (unsigned long)XML_GetCurrentLineNumber(d->parser),
                   XML_ErrorString(XML_GetErrorCode(d->parser)));
}

/* More of the window to the parser, until a page is ready. Since expat 2.6 pages may be ready only
 * once it is told that the text ends. */
static int feed_parser(struct wiki_dump *d, struct text_reader *r)
{
    enum XML_Status status;
    size_t n = r->window.n - r->used;
    if (d->suspended) {
        status = XML_ResumeParser(d->parser);
    } else if (n == 0 && !r->ended) {
        return text_reader_refill(r);
    } else {
        n = n < FEED_BYTES ? n : FEED_BYTES;
        d->last = n == 0;
        status = XML_Parse(d->parser, r->window.data + r->used, (int)n, d->last);
        r->used += n;
    }
    d->suspended = status == XML_STATUS_SUSPENDED;
    return status == XML_STATUS_ERROR ? set_parse_error(d, r) : 0;
}

static int next_page(struct text_reader *r, void *state, struct buf *out, bool *ends, bool *got)
{
    struct wiki_dump *d = state;
    int rc = d->parser == NULL ? err_set(ERR_NOMEM, "no memory to read XML") : 0;
    *ends = true;
    while (rc == 0 && !d->ready && (d->suspended || !d->last))
        rc = feed_parser(d, r);
    *got = rc == 0 && d->ready;
    if (!*got)
        return rc;
    d->ready = false;
    for (size_t i = 0; i < d->title.n; i++)
        d->title.data[i] = d->title.data[i] == '\n' ? ' ' : d->title.data[i];
    rc = buf_add(out, d->title.data, d->title.n);
    for (size_t i = 0; i < d->written.n; i++)
        d->written.data[i] = d->written.data[i] == '\n' ? ' ' : d->written.data[i];
    if (rc == 0)
        rc = buf_printf(out, "\n%s\n", buf_text(&d->written));
    return rc == 0 ? buf_add(out, d->text.data, d->text.n) : rc;
}

void wiki_dump_init(struct wiki_dump *d)
{
    *d = (struct wiki_dump){0};
    d->splitter = (struct text_splitter){begin_dump, next_page, d, true};
}

void wiki_dump_release(struct wiki_dump *d)
{
    if (d->parser != NULL)
        XML_ParserFree(d->parser);
    buf_release(&d->title);
    buf_release(&d->text);
    buf_release(&d->ns);
    buf_release(&d->model);
    buf_release(&d->written);
    *d = (struct wiki_dump){0};
}
