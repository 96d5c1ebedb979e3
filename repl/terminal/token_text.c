#include "repl/terminal/token_text.h"

#include "repl/terminal/term.h"

int token_text_quote(struct buf *out, const struct tokenizer *t, token_id id)
{
    size_t n = 0;
    const char *bytes = t == NULL ? NULL : tokenizer_bytes(t, id, &n);
    if (bytes == NULL)
        return buf_printf(out, "%d", id);
    int rc = buf_char(out, '"');
    for (size_t i = 0; i < n && rc == 0;) {
        size_t run = 0;
        while (i + run < n && bytes[i + run] != '\n' && bytes[i + run] != '\t')
            run++;
        rc = term_visible(out, bytes + i, run);
        if ((i += run) < n && rc == 0)
            rc = buf_str(out, bytes[i++] == '\n' ? "\\n" : "\\t");
    }
    return rc == 0 ? buf_char(out, '"') : rc;
}
