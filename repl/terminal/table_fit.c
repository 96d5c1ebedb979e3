#include "repl/terminal/table_fit.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <string.h>

enum { LEAST = 12 };

/* What of a line of n bytes is a row: all, or of a word that is too wide the part before a mark. */
static size_t row_bytes(const char *line, size_t n, int room)
{
    if (room <= 0 || term_columns(line, n) <= room)
        return n;
    size_t fits = term_fit(line, n, room), marked = fits;
    while (marked > 1 && strchr("/-_.", line[marked - 1]) == NULL)
        marked--;
    fits = marked > fits / 2 ? marked : fits;
    return fits > 0 ? fits : n;
}

/* A row for each line of the first cell but the last, which has the others beside it. */
static int add_first_cell(struct table *t, const char *text, int room)
{
    struct buf broken = {0};
    int rc = room > 0 ? wrap_into(&broken, text, room + 1) : buf_str(&broken, text);
    const char *at = buf_text(&broken);
    do {
        const size_t n = row_bytes(at, strcspn(at, "\n"), room);
        if (rc == 0 && (rc = table_row(t)) == 0)
            rc = table_cell(t, 0, "%.*s", (int)n, at);
        at += n + (at[n] == '\n');
    } while (rc == 0 && *at != '\0');
    buf_release(&broken);
    return rc;
}

static int format_narrow(const struct table *t, unsigned spare, int room, struct buf *out)
{
    const char **heads = mem_array((size_t)t->n_columns, sizeof *heads);
    struct table narrow;
    int n = 0, rc = heads == NULL ? ERR_NOMEM : 0;
    for (int c = 0; c < t->n_columns && rc == 0; c++)
        if ((spare & 1u << c) == 0)
            heads[n++] = t->heads[c];
    table_init(&narrow, heads, n);
    for (int r = 0; r < t->n_rows && rc == 0; r++) {
        const struct buf *row = &t->cells[r * t->n_columns];
        rc = add_first_cell(&narrow, buf_text(&row[0]), room);
        for (int c = 1, to = 1; c < t->n_columns && rc == 0; c++)
            if ((spare & 1u << c) == 0)
                rc = table_cell(&narrow, to++, "%s", buf_text(&row[c]));
    }
    if (rc == 0)
        rc = table_format(&narrow, TABLE_TEXT, out);
    table_release(&narrow);
    mem_free(heads);
    return rc;
}

static int first_columns(const struct table *t)
{
    int most = 0;
    for (int r = 0; r < t->n_rows; r++) {
        const struct buf *cell = &t->cells[r * t->n_columns];
        const int n = term_columns(buf_text(cell), cell->n);
        most = n > most ? n : most;
    }
    return most;
}

/* Without the columns of spare, the first no wider than what they leave of the width. */
static int squeeze_table(const struct table *t, unsigned spare, int width, struct buf *text)
{
    text->n = 0;
    int rc = format_narrow(t, spare, 0, text);
    const int over = rc == 0 ? term_widest(buf_text(text)) - width : 0;
    if (over > 0) {
        const int room = first_columns(t) - over;
        text->n = 0;
        rc = format_narrow(t, spare, room < LEAST ? LEAST : room, text);
    }
    return rc;
}

int table_fit(const struct table *t, unsigned spare, unsigned more, int width, struct buf *out,
              enum table_fit *fit)
{
    struct buf text = {0};
    *fit = TABLE_WHOLE;
    int rc = table_format(t, TABLE_TEXT, &text);
    if (rc == 0 && term_widest(buf_text(&text)) > width) {
        *fit = TABLE_LESS_SPARE;
        rc = squeeze_table(t, spare, width, &text);
    }
    if (rc == 0 && more != 0 && term_widest(buf_text(&text)) > width) {
        *fit = TABLE_LESS_MORE;
        rc = squeeze_table(t, spare | more, width, &text);
    }
    if (rc == 0)
        rc = buf_add(out, buf_text(&text), text.n);
    buf_release(&text);
    return rc;
}
