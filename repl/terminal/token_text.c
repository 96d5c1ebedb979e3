#include "repl/terminal/token_text.h"

#include "repl/terminal/term.h"

#include <utf8proc.h>

/* What a character is written as where it would not be seen, or be taken for the text's end. */
static const char *escape_of(char c)
{
    static const char *const escapes[] = {"\n\\n", "\t\\t", "\r\\r", "\"\\\"", "\\\\\\"};
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (*escapes[i] == c)
            return escapes[i] + 1;
    return NULL;
}

/* The bytes of a character at the beginning that leaves no mark on paper and is no plain space;
 * *point is its number. 0: it is none. */
static size_t invisible_bytes(const char *text, size_t n, int *point)
{
    utf8proc_int32_t c;
    const utf8proc_ssize_t used =
        utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n, &c);
    const utf8proc_category_t k = used > 1 ? utf8proc_category(c) : UTF8PROC_CATEGORY_CN;
    *point = (int)c;
    return k == UTF8PROC_CATEGORY_ZS || k == UTF8PROC_CATEGORY_CF ? (size_t)used : 0;
}

/* On one line. */
static int put_bytes(struct buf *out, const char *bytes, size_t n)
{
    int rc = 0, point;
    for (size_t i = 0, run = 0; i < n && rc == 0; i += run, run = 0) {
        size_t hidden = 0;
        while (i + run < n && escape_of(bytes[i + run]) == NULL &&
               (hidden = invisible_bytes(bytes + i + run, n - i - run, &point)) == 0)
            run++;
        rc = term_visible(out, bytes + i, run);
        if (rc == 0 && hidden > 0)
            rc = buf_printf(out, "\\u%04x", (unsigned)point);
        else if (rc == 0 && i + run < n)
            rc = buf_str(out, escape_of(bytes[i + run]));
        run += hidden > 0 ? hidden : i + run < n;
    }
    return rc;
}

int token_text_quote(struct buf *out, const struct tokenizer *t, token_id id)
{
    size_t n = 0;
    const char *bytes = t == NULL ? NULL : tokenizer_bytes(t, id, &n);
    if (bytes == NULL)
        return buf_printf(out, "%d", id);
    size_t spaces = 0;
    while (spaces < n && bytes[spaces] == ' ')
        spaces++;
    if (n > 1 && spaces == n)
        return buf_printf(out, "\" \"x%zu", n);
    int rc = buf_char(out, '"');
    if (rc == 0)
        rc = put_bytes(out, bytes, n);
    return rc == 0 ? buf_char(out, '"') : rc;
}

int token_text_last(struct buf *out, const struct tokenizer *t, const token_id *ids, size_t n,
                    int columns)
{
    const size_t read = n < (size_t)columns ? n : (size_t)columns; /* no token is empty */
    struct buf bytes = {0}, text = {0};
    if (t == NULL)
        return 0;
    int rc = tokenizer_decode(t, &bytes, ids + n - read, read);
    if (rc == 0)
        rc = put_bytes(&text, bytes.data, bytes.n);
    size_t from = rc == 0 ? term_last_words(buf_text(&text), text.n, columns) : 0;
    if (rc == 0)
        rc = buf_str(out, from > 0 || read < n ? "\"..." : "\"");
    if (rc == 0 && from > 0)
        rc = buf_char(out, ' ');
    if (rc == 0)
        rc = buf_add(out, buf_text(&text) + from, text.n - from);
    buf_release(&bytes);
    buf_release(&text);
    return rc == 0 ? buf_char(out, '"') : rc;
}
