#include "repl/wrap.h"

#include "repl/term.h"

#include <string.h>

enum { TAB = 8 };

void wrap_at(struct wrap *w, int column)
{
    w->column = column;
    w->word_columns = 0;
    w->word.n = w->fresh = 0;
    w->fixed = w->owes = false;
}

void wrap_release(struct wrap *w)
{
    buf_release(&w->word);
    wrap_at(w, 0);
}

static int new_line(struct wrap *w, struct buf *out)
{
    wrap_at(w, 0);
    return buf_char(out, '\n');
}

/* The word to the next line, where it is not the whole of this one. */
static int carry(struct wrap *w, struct buf *out)
{
    if (w->fixed || w->word_columns >= w->column)
        return 0;
    int rc = 0;
    if (w->fresh == w->word.n) /* none of it is on the screen yet */
        out->n -= w->fresh;
    else
        for (int i = 0; i < w->word_columns && rc == 0; i++)
            rc = buf_str(out, "\b \b");
    if (rc == 0)
        rc = buf_char(out, '\n');
    if (rc == 0)
        rc = buf_add(out, w->word.data, w->word.n);
    w->column = w->word_columns;
    w->fresh = w->word.n;
    return rc;
}

static int put_blank(struct wrap *w, struct buf *out, char blank, int width)
{
    int to = blank == '\t' ? (w->column / TAB + 1) * TAB : w->column + 1;
    bool owes = w->owes || to >= width;
    wrap_at(w, owes ? w->column : to);
    w->owes = owes;
    return owes ? 0 : buf_char(out, blank);
}

static int put_character(struct wrap *w, struct buf *out, const char *c, size_t n, int columns,
                         int width)
{
    int rc = w->owes ? new_line(w, out) : 0;
    if (rc == 0 && w->column + columns >= width)
        rc = carry(w, out);
    if (rc == 0)
        rc = buf_add(out, c, n);
    if (rc == 0)
        rc = buf_add(&w->word, c, n);
    w->fresh += n;
    w->word_columns += columns;
    w->fixed |= columns != 1;
    w->column += columns;
    if (w->column > width) /* the terminal's own break */
        w->column = columns;
    return rc;
}

int wrap_text(struct wrap *w, struct buf *out, const char *text, size_t n, int width)
{
    int rc = 0, columns;
    w->fresh = 0;
    for (size_t i = 0, used; i < n && rc == 0; i += used) {
        used = term_character(text + i, n - i, &columns);
        if (text[i] == '\n')
            rc = new_line(w, out);
        else if (text[i] == ' ' || text[i] == '\t')
            rc = put_blank(w, out, text[i], width);
        else
            rc = put_character(w, out, text + i, used, columns, width);
    }
    return rc;
}

void wrap_print(FILE *f, const char *text, bool wraps)
{
    struct wrap w = {0};
    struct buf out = {0};
    bool broken =
        wraps && term_is(f) && wrap_text(&w, &out, text, strlen(text), term_width(f)) == 0;
    fputs(broken ? buf_text(&out) : text, f);
    buf_release(&out);
    wrap_release(&w);
}
