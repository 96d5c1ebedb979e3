#include "repl/terminal/token_text.h"

#include "repl/terminal/term.h"

/* On one line. */
static int put_bytes(struct buf *out, const char *bytes, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0;) {
        size_t run = 0;
        while (i + run < n && bytes[i + run] != '\n' && bytes[i + run] != '\t')
            run++;
        rc = term_visible(out, bytes + i, run);
        if ((i += run) < n && rc == 0)
            rc = buf_str(out, bytes[i++] == '\n' ? "\\n" : "\\t");
    }
    return rc;
}

int token_text_quote(struct buf *out, const struct tokenizer *t, token_id id)
{
    size_t n = 0;
    const char *bytes = t == NULL ? NULL : tokenizer_bytes(t, id, &n);
    if (bytes == NULL)
        return buf_printf(out, "%d", id);
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
