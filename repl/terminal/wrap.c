/*
 * What holds between calls: the terminal has been sent all of the text up to w->column, of which
 * the last w->word_columns are the word in progress, kept in w->word. A character that would pass
 * the edge takes that word to the next line: out of `out`, where none of it has been sent (w->fresh
 * is all of it), else by steps back over what is on the screen. A space at the edge is not written
 * but owed, and a character that takes no or two columns fixes its word in place.
 */
#include "repl/terminal/wrap.h"

#include "model/base/file_show.h"
#include "repl/terminal/term.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
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

/* In the middle of a text's line. */
static int break_line(struct wrap *w, struct buf *out)
{
    int rc = buf_char(out, '\n');
    for (int i = 0; i < w->indent && rc == 0; i++)
        rc = buf_char(out, ' ');
    return rc;
}

/* Behind the last of these marks, of several the last if that is known; 0: there is none. */
static size_t last_mark(const struct buf *word, const char *marks)
{
    for (size_t at = word->n; at > 1; at--) {
        const char beside = word->data[at == word->n ? at - 2 : at];
        if (strchr(marks, word->data[at - 1]) != NULL && strchr(marks, beside) == NULL)
            return at;
    }
    return 0;
}

/* Of a list, path or name that is the whole of a line, only what came behind its last comma, slash
 * and the like is a word to carry. */
static void part_word(struct wrap *w)
{
    const size_t joint = last_mark(&w->word, ",/="),
                 at = joint > 0 ? joint : last_mark(&w->word, "_-");
    if (at == 0)
        return;
    w->word.n -= at;
    memmove(w->word.data, w->word.data + at, w->word.n);
    w->word_columns = term_columns(w->word.data, w->word.n);
    w->fresh = w->fresh < w->word.n ? w->fresh : w->word.n;
}

/* What is no word that could be carried is left to the terminal, except where the next line is
 * indented. */
static int cut_word(struct wrap *w, struct buf *out)
{
    if (w->fixed || w->indent == 0)
        return 0;
    wrap_at(w, w->indent);
    return break_line(w, out);
}

/* The word to the next line, where it is not the whole of this one. */
static int carry_word(struct wrap *w, struct buf *out)
{
    if (!w->fixed && w->indent + w->word_columns >= w->column)
        part_word(w);
    if (w->fixed || w->indent + w->word_columns >= w->column)
        return cut_word(w, out);
    int rc = 0;
    if (w->fresh == w->word.n) { /* none of it is on the screen yet */
        out->n -= w->fresh;
        while (out->n > w->sent && out->data[out->n - 1] == ' ')
            out->n--;
    } else {
        for (int i = 0; i < w->word_columns && rc == 0; i++)
            rc = buf_str(out, "\b \b");
    }
    if (rc == 0)
        rc = break_line(w, out);
    if (rc == 0)
        rc = buf_add(out, w->word.data, w->word.n);
    w->column = w->indent + w->word_columns;
    w->fresh = w->word.n;
    return rc;
}

static int put_space(struct wrap *w, struct buf *out, char space, int width)
{
    int to = space == '\t' ? (w->column / TAB + 1) * TAB : w->column + 1;
    bool owes = w->owes || to >= width;
    wrap_at(w, owes ? w->column : to);
    w->owes = owes;
    return owes ? 0 : buf_char(out, space);
}

static int put_character(struct wrap *w, struct buf *out, const char *c, size_t n, int columns,
                         int width)
{
    int rc = 0;
    if (w->owes) {
        wrap_at(w, w->indent);
        rc = break_line(w, out);
    }
    if (rc == 0 && w->column + columns >= width)
        rc = carry_word(w, out);
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

/* Whether the space text[i] has a number on one side, and no comma or the like before it. */
static bool joins_figure(const char *text, size_t i, size_t n)
{
    const char before = i > 0 ? text[i - 1] : ' ', after = i + 1 < n ? text[i + 1] : ' ';
    return strchr(" ,;:", before) == NULL &&
           (isdigit((unsigned char)before) || isdigit((unsigned char)after));
}

/* Bytes of the command in backquotes, or of the optional arguments in brackets, "[KEY=VALUE ...]",
 * that text begins with, and of what stands right behind; 0: that is none, or has no room in a
 * line. */
static size_t command_bytes(const char *text, size_t n, int room)
{
    const char *line_end = memchr(text, '\n', n);
    const size_t line = line_end == NULL ? n : (size_t)(line_end - text);
    const bool command = line > 1 && *text == '`',
               optional = line > 1 && *text == '[' && isupper((unsigned char)text[1]);
    const char *close =
        command || optional ? memchr(text + 1, command ? '`' : ']', line - 1) : NULL;
    size_t bytes = close == NULL ? 0 : (size_t)(close - text);
    while (bytes > 0 && bytes < line && text[bytes] != ' ')
        bytes++;
    return bytes > 0 && term_columns(text, bytes) < room ? bytes : 0;
}

int wrap_text(struct wrap *w, struct buf *out, const char *text, size_t n, int width)
{
    int rc = 0, columns;
    size_t whole = 0; /* spaces before it do not break lines */
    w->fresh = 0;
    w->sent = out->n;
    for (size_t i = 0, used; i < n && rc == 0; i += used) {
        used = term_character(text + i, n - i, &columns);
        if (w->sentence && i >= whole)
            whole = i + command_bytes(text + i, n - i, width - w->indent);
        if (text[i] == '\n') {
            wrap_at(w, 0);
            rc = buf_char(out, '\n');
        } else if ((text[i] == ' ' && i >= whole && !(w->figures && joins_figure(text, i, n))) ||
                   text[i] == '\t') {
            rc = put_space(w, out, text[i], width);
        } else {
            rc = put_character(w, out, text + i, used, columns, width);
        }
    }
    return rc;
}

static bool switched_off;

void wrap_switch(bool on)
{
    switched_off = !on;
}

/* From column `column` on; what goes on in another line is `hang` further in than its line. */
static int break_lines(struct buf *out, const char *text, int width, int column, int hang,
                       bool figures)
{
    struct wrap w = {.column = column, .sentence = true, .figures = figures};
    int rc = 0;
    for (size_t n; *text != '\0' && rc == 0; text += n) {
        n = strcspn(text, "\n");
        n += text[n] == '\n';
        w.indent = hang + (int)strspn(text, " ");
        if (w.indent >= width / 2)
            w.indent = 0;
        rc = wrap_text(&w, out, text, n, width);
    }
    wrap_release(&w);
    return rc;
}

int wrap_into(struct buf *out, const char *text, int width)
{
    return switched_off ? buf_str(out, text) : break_lines(out, text, width, 0, 0, false);
}

/* Behind so many columns. */
static void print_lines(FILE *f, const char *color, const char *text, int column, int hang,
                        bool figures)
{
    struct buf safe = {0}, broken = {0};
    const char *shown = text;
    if (term_visible(&safe, text, strlen(text)) == 0)
        shown = buf_text(&safe);
    if (!switched_off && term_is(f) &&
        break_lines(&broken, shown, term_width(f), column, hang, figures) == 0)
        shown = buf_text(&broken);
    fprintf(f, "%s%s%s", color, shown, *color != '\0' ? term_plain(f) : "");
    buf_release(&safe);
    buf_release(&broken);
}

void wrap_lines(FILE *f, const char *color, const char *text)
{
    print_lines(f, color, text, 0, 0, false);
}

void wrap_figures(FILE *f, const char *color, const char *text)
{
    print_lines(f, color, text, 0, 0, true);
}

void wrap_labelled(FILE *f, const char *color, const char *label, const char *text)
{
    fprintf(f, "%s%s%s", color, label, term_plain(f));
    print_lines(f, "", text, term_columns(label, strlen(label)), 0, false);
}

void wrap_say(FILE *f, const char *color, const char *fmt, ...)
{
    va_list args;
    struct buf line = {0};
    va_start(args, fmt);
    int rc = buf_vprintf(&line, fmt, args);
    va_end(args);
    if (rc == 0) {
        wrap_lines(f, color, buf_text(&line));
    } else { /* the sentence may be that memory is short */
        va_start(args, fmt);
        vfprintf(f, fmt, args);
        va_end(args);
    }
    fputc('\n', f);
    buf_release(&line);
}

void wrap_wrote(const char *path, const char *what)
{
    char shown[PATH_MAX];
    wrap_say(stdout, term_dim(stdout), "wrote %s%s", file_show(shown, sizeof shown, path), what);
}

void wrap_hanging(const char *text, int at, int hang)
{
    print_lines(stdout, "", text, at, hang, false);
    putchar('\n');
}

void wrap_row(const char *what, const char *text)
{
    const int column = printf("  %-12s ", what);
    wrap_hanging(text, column, column);
}

enum { LEAST_BESIDE = 16, BELOW = 6 };

void wrap_column(const char *text, int at, int indent)
{
    if (indent > BELOW && term_width(stdout) < indent + LEAST_BESIDE)
        indent = BELOW;
    if (at >= indent)
        printf("\n%*s", indent, "");
    else
        printf("%*s", indent - at, "");
    wrap_beside(text, indent);
}

/* Bytes of a word that is longer than a line of `room` columns that it has: up to behind a mark
 * between choices or parts. */
static int part_bytes(const char *word, int n, int room)
{
    int at = n > room ? room : 0;
    while (at > 0 && strchr("|,/=", word[at - 1]) == NULL)
        at--;
    return at > 0 ? at : n;
}

void wrap_beside(const char *text, int indent)
{
    int width = term_width(stdout), at = indent;
    width = width > 100 ? 100 : width < indent + LEAST_BESIDE ? indent + LEAST_BESIDE : width;
    for (const char *p = text; *p != '\0';) {
        const size_t quoted = strcspn(p, " `["),
                     command = command_bytes(p + quoted, strlen(p + quoted), width - indent);
        int n = (int)(command > 0 ? quoted + command : strcspn(p, " "));
        const bool goes_on = p > text && p[-1] != ' ';
        if ((at > indent && at + 1 + n >= width) || goes_on) {
            printf("\n%*s", indent, "");
            at = indent;
        } else if (at > indent) {
            at += printf(" ");
        }
        n = part_bytes(p, n, width - 1 - at);
        for (const char *end = p + n; p < end; p++, at++)
            putchar(*p == '\t' ? ' ' : *p);
        p += *p == ' ';
    }
    fputc('\n', stdout);
}
