#include "repl/terminal/table_fit.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <string.h>

enum { INDENT = 2 };

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

/* The columns of a mask, the first broken to `room` where that is not 0. */
static int format_columns(const struct table *t, unsigned columns, int room, struct buf *out)
{
    const char **heads = mem_array((size_t)t->n_columns, sizeof *heads);
    struct table part;
    int n = 0, rc = heads == NULL ? ERR_NOMEM : 0;
    for (int c = 0; c < t->n_columns && rc == 0; c++)
        if (columns & 1u << c)
            heads[n++] = t->heads[c];
    table_init(&part, heads, n);
    for (int r = 0; r < t->n_rows && rc == 0; r++) {
        const struct buf *row = &t->cells[r * t->n_columns];
        int to = 0;
        rc = columns & 1 ? add_first_cell(&part, buf_text(&row[to++]), room) : table_row(&part);
        for (int c = 1; c < t->n_columns && rc == 0; c++)
            if (columns & 1u << c)
                rc = table_cell(&part, to++, "%s", buf_text(&row[c]));
    }
    if (rc == 0)
        rc = table_format(&part, TABLE_TEXT, out);
    table_release(&part);
    mem_free(heads);
    return rc;
}

/* Of the first column, and of the widest word in it. */
static int first_columns(const struct table *t, int *word)
{
    int most = 0;
    *word = 0;
    for (int r = 0; r < t->n_rows; r++) {
        const char *text = buf_text(&t->cells[r * t->n_columns]);
        const int n = term_columns(text, strlen(text));
        most = n > most ? n : most;
        for (size_t used; *text != '\0'; text += used + (text[used] == ' ')) {
            used = strcspn(text, " ");
            const int columns = term_columns(text, used);
            *word = columns > *word ? columns : *word;
        }
    }
    return most;
}

/* Whether the columns fit side by side, the first broken at spaces alone. */
static int squeeze_columns(const struct table *t, unsigned columns, int width, struct buf *text,
                           bool *fits)
{
    int word;
    text->n = 0;
    int rc = format_columns(t, columns, 0, text);
    const int over = rc == 0 ? term_widest(buf_text(text)) - width : 0,
              room = first_columns(t, &word) - over;
    *fits = over <= 0;
    if (over > 0 && room >= word) {
        text->n = 0;
        rc = format_columns(t, columns, room, text);
        *fits = term_widest(buf_text(text)) <= width;
    }
    return rc;
}

/* As many columns of a mask, from its first on, as fit into the width; one at the least. */
static int format_group(const struct table *t, unsigned *columns, int width, struct buf *out)
{
    unsigned group = 0;
    int rc = 0;
    for (int c = 1; c < t->n_columns && rc == 0; c++) {
        const unsigned wider = group | 1u << c;
        struct buf text = {0};
        if ((*columns & 1u << c) == 0)
            continue;
        rc = format_columns(t, wider, 0, &text);
        const bool fits = group == 0 || term_widest(buf_text(&text)) <= width;
        if (rc == 0 && fits) {
            group = wider;
            out->n = 0;
            rc = buf_add(out, buf_text(&text), text.n);
        }
        buf_release(&text);
        if (!fits)
            break;
    }
    *columns &= ~group;
    return rc;
}

/* The next line of a group, indented. */
static int take_line(struct buf *out, const char **line)
{
    const size_t n = strcspn(*line, "\n");
    int rc = n > 0 ? buf_printf(out, "%*s%.*s\n", INDENT, "", (int)n, *line) : 0;
    *line += n + ((*line)[n] == '\n');
    return rc;
}

/* A row's first cell on lines of its own, the others below it in as many lines as they need;
 * *fits: in one. */
static int stack_columns(const struct table *t, unsigned columns, int width, struct buf *out,
                         bool *fits)
{
    struct buf *groups = mem_array((size_t)t->n_columns, sizeof *groups);
    const char **lines = mem_array((size_t)t->n_columns, sizeof *lines);
    int n = 0, rc = groups == NULL || lines == NULL ? ERR_NOMEM : 0;
    out->n = 0;
    while (rc == 0 && (columns & ~1u) != 0) {
        rc = format_group(t, &columns, width - INDENT, &groups[n]);
        lines[n] = buf_text(&groups[n]);
        n++;
    }
    *fits = n <= 1;
    for (int r = -1; r < t->n_rows && rc == 0; r++) {
        const char *first = r < 0 ? t->heads[0] : buf_text(&t->cells[r * t->n_columns]);
        struct buf broken = {0};
        rc = wrap_into(&broken, first, width + 1);
        for (const char *at = buf_text(&broken); *at != '\0' && rc == 0;) {
            const size_t used = row_bytes(at, strcspn(at, "\n"), width);
            rc = buf_printf(out, "%.*s\n", (int)used, at);
            at += used + (at[used] == '\n');
        }
        buf_release(&broken);
        for (int g = 0; g < n && rc == 0; g++)
            rc = take_line(out, &lines[g]);
    }
    for (int g = 0; g < n; g++)
        buf_release(&groups[g]);
    mem_free(groups);
    mem_free(lines);
    return rc;
}

/* A mask of the columns with nothing in any row. */
static unsigned empty_columns(const struct table *t)
{
    unsigned empty = 0;
    for (int c = 1; c < t->n_columns; c++) {
        bool any = false;
        for (int r = 0; r < t->n_rows; r++)
            any |= t->cells[r * t->n_columns + c].n > 0;
        empty |= any ? 0 : 1u << c;
    }
    return empty;
}

int table_fit(const struct table *t, unsigned spare, unsigned more, int width, struct buf *out,
              enum table_fit *fit)
{
    const unsigned all = (1u << t->n_columns) - 1;
    struct buf text = {0};
    bool fits;
    *fit = TABLE_WHOLE;
    int rc = table_format(t, TABLE_TEXT, &text);
    fits = term_widest(buf_text(&text)) <= width;
    spare |= empty_columns(t);
    if (rc == 0 && !fits) {
        *fit = TABLE_LESS_SPARE;
        rc = squeeze_columns(t, all & ~spare, width, &text, &fits);
    }
    if (rc == 0 && !fits)
        rc = stack_columns(t, all & ~spare, width, &text, &fits);
    if (rc == 0 && !fits && more != 0) {
        *fit = TABLE_LESS_MORE;
        rc = squeeze_columns(t, all & ~(spare | more), width, &text, &fits);
    }
    if (rc == 0 && !fits)
        rc = stack_columns(t, all & ~(spare | more), width, &text, &fits);
    if (rc == 0)
        rc = buf_add(out, buf_text(&text), text.n);
    buf_release(&text);
    return rc;
}
