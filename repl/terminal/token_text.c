#include "repl/terminal/token_text.h"

#include "repl/terminal/term.h"

int piece_quote(struct buf *out, const struct tokenizer *t, token_id id)
{
    size_t n = 0;
    const char *piece = t == NULL ? NULL : tokenizer_bytes(t, id, &n);
    if (piece == NULL)
        return buf_printf(out, "%d", id);
    int rc = buf_char(out, '"');
    for (size_t i = 0; i < n && rc == 0;) {
        size_t run = 0;
        while (i + run < n && piece[i + run] != '\n' && piece[i + run] != '\t')
            run++;
        rc = term_visible(out, piece + i, run);
        if ((i += run) < n && rc == 0)
            rc = buf_str(out, piece[i++] == '\n' ? "\\n" : "\\t");
    }
    return rc == 0 ? buf_char(out, '"') : rc;
}
