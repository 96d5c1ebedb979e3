#include "train/prepare/extracted.h"

#include "model/base/err.h"

#include <string.h>

static const char opening[] = "<doc id=\"", closing[] = "</doc>";

bool extracted_is(const char *head, size_t n)
{
    return n >= sizeof opening - 1 && memcmp(head, opening, sizeof opening - 1) == 0;
}

static void begin_extracted(struct text_reader *r, void *state)
{
    (void)r;
    (void)state;
}

/* Where a document's text begins and ends; false: it is not all there. */
static bool find_document(const char *text, size_t n, size_t *from, size_t *to, size_t *after)
{
    const char *head = memmem(text, n, opening, sizeof opening - 1);
    const char *line = head == NULL ? NULL : memchr(head, '\n', n - (size_t)(head - text));
    if (line == NULL)
        return false;
    *from = (size_t)(line - text) + 1;
    const char *end = memmem(text + *from, n - *from, closing, sizeof closing - 1);
    if (end == NULL)
        return false;
    *to = (size_t)(end - text);
    *after = *to + sizeof closing - 1;
    while (*from < *to && text[*from] == '\n')
        ++*from;
    while (*to > *from && text[*to - 1] == '\n')
        --*to;
    return true;
}

/* What is left at the end of the file has no document. */
static int check_end(const char *name, const char *text, size_t n)
{
    if (n == 0 || memmem(text, n, opening, sizeof opening - 1) == NULL)
        return 0;
    return err_set(ERR_FORMAT,
                   "%s ends inside a document, without </doc>: copy or extract it again", name);
}

static int next_extracted(struct text_reader *r, void *state, struct buf *out, bool *ends,
                          bool *got)
{
    (void)state;
    *ends = true;
    for (*got = false;;) {
        const char *text = r->window.data + r->used;
        const size_t n = r->window.n - r->used;
        size_t from, to, after;
        if (n > 0 && find_document(text, n, &from, &to, &after)) {
            int rc = buf_add(out, text + from, to - from);
            r->used += after;
            *got = to > from;
            if (rc != 0 || *got)
                return rc;
        } else if (r->ended) {
            return check_end(r->stream.name, text, n);
        } else {
            int rc = text_reader_refill(r);
            if (rc != 0)
                return rc;
        }
    }
}

const struct text_splitter extracted_splitter = {begin_extracted, next_extracted, NULL, false};
