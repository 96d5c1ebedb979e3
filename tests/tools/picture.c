/*
 * Draws what a terminal shows as SVG, in a window, light or dark as the reader has it.
 *
 *   picture COLUMNS ROWS TITLE DESCRIPTION <BYTES >PICTURE.svg
 *
 * BYTES are what the terminal of that size was sent (transcript's `record`); lines that have
 * scrolled off are drawn too. Text is drawn as text, each run of it as wide as its columns, so
 * that columns stand below each other in any font; blocks, lines and dots (braille) as shapes,
 * since fonts differ in those.
 */
#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "tests/lib/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utf8proc.h>

/* In units of the picture, SCALE of them a pixel: type of 20 has characters 12 wide in the usual
 * fonts, and dots of braille then lie in squares. */
enum { CELL_X = 12, CELL_Y = 24, BASELINE = 18, TYPE = 20, BAR = 40, MARGIN = 24 };
static const double SCALE = 4.0 / 3;

enum shape { BLANK, TEXT, DOTS, BLOCK, LINES };

static uint32_t cell_character(const struct cell *c)
{
    utf8proc_int32_t code = ' ';
    utf8proc_iterate((const utf8proc_uint8_t *)c->text, (utf8proc_ssize_t)strlen(c->text), &code);
    return c->text[0] == '\0' ? ' ' : (uint32_t)code;
}

/* To where a line goes from the middle of its cell. */
enum { UP = 1, DOWN = 2, LEFT = 4, RIGHT = 8 };

static int line_ends(uint32_t c)
{
    static const struct {
        uint32_t c;
        int ends;
    } table[] = {{0x2500, LEFT | RIGHT},
                 {0x2502, UP | DOWN},
                 {0x250c, DOWN | RIGHT},
                 {0x2510, DOWN | LEFT},
                 {0x2514, UP | RIGHT},
                 {0x2518, UP | LEFT},
                 {0x251c, UP | DOWN | RIGHT},
                 {0x2524, UP | DOWN | LEFT},
                 {0x252c, DOWN | LEFT | RIGHT},
                 {0x2534, UP | LEFT | RIGHT},
                 {0x253c, UP | DOWN | LEFT | RIGHT}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].c == c)
            return table[i].ends;
    return 0;
}

/* Signs of points, full and hollow, drawn from the middle of the cell. */
static const struct mark {
    uint32_t full, hollow;
    const char *path;
} marks[] = {{0x25cf, 0x25cb, "m-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z"},
             {0x25a0, 0x25a1, "m-4.5-4.5h9v9h-9z"},
             {0x25b2, 0x25b3, "m0-5.5l5.5 9.5h-11z"},
             {0x25c6, 0x25c7, "m0-6l6 6-6 6-6-6z"}};

static const struct mark *find_mark(uint32_t c)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (marks[i].full == c || marks[i].hollow == c)
            return &marks[i];
    return NULL;
}

static enum shape cell_shape(const struct cell *cell)
{
    uint32_t c = cell_character(cell);
    if (c == ' ' || cell->columns == 0)
        return BLANK;
    if (c >= 0x2800 && c <= 0x28ff)
        return DOTS;
    const struct mark *mark = find_mark(c);
    if ((c >= 0x2581 && c <= 0x258f) || (mark != NULL && mark->full == c))
        return BLOCK;
    return line_ends(c) != 0 || mark != NULL ? LINES : TEXT;
}

static int cell_left(int column)
{
    return MARGIN + column * CELL_X;
}

static int cell_top(int line)
{
    return BAR + MARGIN / 2 + line * CELL_Y;
}

/* "&", "<" and ">" as XML has them. */
static int add_escaped(struct buf *out, const char *text)
{
    int rc = 0;
    for (; *text != '\0' && rc == 0; text++)
        rc = *text == '&'   ? buf_str(out, "&amp;")
             : *text == '<' ? buf_str(out, "&lt;")
             : *text == '>' ? buf_str(out, "&gt;")
                            : buf_char(out, *text);
    return rc;
}

/* ` class="..."`: a shape's, if any, and a look's; nothing for text that is plain. */
static int add_class(struct buf *out, const char *shape, int look)
{
    struct buf names = {0};
    int rc = buf_str(&names, shape);
    if (rc == 0 && (look & LOOK_COLOR) != 0)
        rc = buf_printf(&names, " c%d", look & LOOK_COLOR);
    if (rc == 0 && (look & LOOK_BOLD) != 0)
        rc = buf_str(&names, " b");
    if (rc == 0 && (look & LOOK_DIM) != 0)
        rc = buf_str(&names, " d");
    if (rc == 0 && names.n > 0)
        rc = buf_printf(out, " class=\"%s\"", names.data + (names.data[0] == ' '));
    buf_release(&names);
    return rc;
}

/* From column `at` of a line the text of one look up to two blanks, or to what is no text; *end:
 * behind it. */
static int add_run(struct buf *out, const struct cell *line, int columns, int at, int y, int *end)
{
    int stop = at + 1;
    for (int c = at + 1; c < columns && line[c].look == line[at].look; c++) {
        enum shape s = cell_shape(&line[c]);
        if (s == TEXT || line[c].columns == 0)
            stop = c + 1;
        else if (s != BLANK || c > stop)
            break;
    }
    *end = stop;
    int rc = buf_printf(out, "<text x=\"%d\" y=\"%d\" textLength=\"%d\"", cell_left(at), y,
                        (stop - at) * CELL_X);
    if (rc == 0)
        rc = add_class(out, "", line[at].look);
    if (rc == 0)
        rc = buf_char(out, '>');
    for (int c = at; c < stop && rc == 0; c++)
        if (line[c].columns != 0)
            rc = add_escaped(out, line[c].text[0] == '\0' ? " " : line[c].text);
    return rc == 0 ? buf_str(out, "</text>\n") : rc;
}

static int add_text(struct buf *out, const struct screen *s, int n_lines)
{
    int rc = 0;
    for (int l = 0; l < n_lines && rc == 0; l++) {
        const struct cell *line = screen_line(s, l);
        for (int c = 0, end; c < s->columns && rc == 0; c = end) {
            end = c + 1;
            if (cell_shape(&line[c]) == TEXT)
                rc = add_run(out, line, s->columns, c, cell_top(l) + BASELINE, &end);
        }
    }
    return rc;
}

/* A dot is a line of no length with round ends. */
static int add_dots(struct buf *out, uint32_t c, int x, int y)
{
    static const int bit[4][2] = {{0, 3}, {1, 4}, {2, 5}, {6, 7}};
    int rc = 0;
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 2 && rc == 0; column++)
            if ((c >> bit[row][column] & 1) != 0)
                rc = buf_printf(out, "M%d %dh0", x + CELL_X / 4 + column * (CELL_X / 2),
                                y + CELL_Y / 8 + row * (CELL_Y / 4));
    return rc;
}

/* U+2588 is full, each up to U+258F an eighth less from the right; bars of them keep apart, as they
 * do in a font. U+2581 to U+2587 are eighths from below. */
static int add_block(struct buf *out, uint32_t c, int x, int y)
{
    enum { APART = 2 };
    if (c >= 0x2588)
        return buf_printf(out, "M%d %dh%gv%dh-%gz", x, y + APART, CELL_X * (0x2590 - c) / 8.0,
                          CELL_Y - 2 * APART, CELL_X * (0x2590 - c) / 8.0);
    const int high = CELL_Y * (int)(c - 0x2580) / 8;
    return buf_printf(out, "M%d %dh%dv%dh-%dz", x, y + CELL_Y - high, CELL_X, high, CELL_X);
}

static int add_lines(struct buf *out, uint32_t c, int x, int y)
{
    const int ends = line_ends(c), left = (ends & LEFT) != 0 ? x : x + CELL_X / 2;
    const int right = (ends & RIGHT) != 0 ? x + CELL_X : x + CELL_X / 2;
    const int up = (ends & UP) != 0 ? y : y + CELL_Y / 2;
    const int down = (ends & DOWN) != 0 ? y + CELL_Y : y + CELL_Y / 2;
    int rc = 0;
    if (left != right)
        rc = buf_printf(out, "M%d %dH%d", left, y + CELL_Y / 2, right);
    if (rc == 0 && up != down)
        rc = buf_printf(out, "M%d %dV%d", x + CELL_X / 2, up, down);
    return rc;
}

static int add_shape(struct buf *out, enum shape shape, uint32_t c, int x, int y)
{
    const struct mark *mark = find_mark(c);
    if (mark != NULL)
        return buf_printf(out, "M%d %d%s", x + CELL_X / 2, y + CELL_Y / 2, mark->path);
    return shape == DOTS    ? add_dots(out, c, x, y)
           : shape == BLOCK ? add_block(out, c, x, y)
                            : add_lines(out, c, x, y);
}

/* One path for all cells of a shape and a look. */
static int add_path(struct buf *out, const struct screen *s, int n_lines, enum shape shape,
                    int look)
{
    static const char *const names[] = {[DOTS] = "dots", [BLOCK] = "blocks", [LINES] = "lines"};
    struct buf path = {0};
    int rc = 0;
    for (int l = 0; l < n_lines; l++) {
        const struct cell *line = screen_line(s, l);
        for (int c = 0; c < s->columns && rc == 0; c++) {
            if (line[c].look != look || cell_shape(&line[c]) != shape)
                continue;
            rc = add_shape(&path, shape, cell_character(&line[c]), cell_left(c), cell_top(l));
        }
    }
    if (rc == 0 && path.n > 0) {
        rc = buf_str(out, "<path");
        if (rc == 0)
            rc = add_class(out, names[shape], look);
        if (rc == 0)
            rc = buf_printf(out, " d=\"%s\"/>\n", path.data);
    }
    buf_release(&path);
    return rc;
}

static int add_paths(struct buf *out, const struct screen *s, int n_lines)
{
    int rc = 0;
    for (enum shape shape = DOTS; shape <= LINES; shape++)
        for (int look = 0; look < LOOKS && rc == 0; look++)
            rc = add_path(out, s, n_lines, shape, look);
    return rc;
}

/* Light and dark: the window, its edge, text, then LOOK_COLOR's 1 to 16. */
enum { N_COLORS = 3 + 16 };
static const char *const light[N_COLORS] = {"#ffffff", "#d1d9e0", "#1f2328", "#1f2328", "#cf222e",
                                            "#1a7f37", "#9a6700", "#0969da", "#8250df", "#0b7285",
                                            "#59636e", "#59636e", "#a40e26", "#116329", "#7d4e00",
                                            "#0550ae", "#6639ba", "#095c6b", "#818b98"};
static const char *const dark[N_COLORS] = {"#0d1117", "#3d444d", "#e6edf3", "#484f58", "#ff7b72",
                                           "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd",
                                           "#b1bac4", "#6e7681", "#ffa198", "#7ee787", "#f2cc60",
                                           "#a5d6ff", "#e2c5ff", "#b3f0ff", "#f0f6fc"};

static int add_colors(struct buf *out, const char *const colors[N_COLORS], unsigned used)
{
    int rc = buf_printf(out, ".w{fill:%s;stroke:%s}svg{color:%s}", colors[0], colors[1], colors[2]);
    for (int i = 3; i < N_COLORS && rc == 0; i++)
        if ((used >> (i - 2) & 1) != 0)
            rc = buf_printf(out, ".c%d{color:%s}", i - 2, colors[i]);
    return rc;
}

static unsigned used_colors(const struct screen *s)
{
    unsigned used = 0;
    for (int l = 0; l < s->n_lines; l++)
        for (int c = 0; c < s->columns; c++)
            used |= 1u << (screen_line(s, l)[c].look & LOOK_COLOR);
    return used;
}

static int add_style(struct buf *out, unsigned used)
{
    int rc = buf_printf(
        out,
        "<style>text{font:%dpx ui-monospace,SFMono-Regular,\"SF Mono\",Menlo,Consolas,"
        "\"DejaVu Sans Mono\",\"Liberation Mono\",monospace;fill:currentColor}"
        ".b{font-weight:bold}.d{opacity:.65}.t{text-anchor:middle}"
        ".blocks{fill:currentColor}.dots,.lines{fill:none;stroke:currentColor;stroke-width:2}"
        ".dots{stroke-width:5;stroke-linecap:round}"
        ".buttons{stroke:currentColor;opacity:.3;stroke-width:12;stroke-linecap:round}"
        ".w{stroke-width:2}.cursor{fill:currentColor;opacity:.5}\n",
        TYPE);
    if (rc == 0)
        rc = add_colors(out, light, used);
    if (rc == 0)
        rc = buf_str(out, "\n@media(prefers-color-scheme:dark){");
    if (rc == 0)
        rc = add_colors(out, dark, used);
    return rc == 0 ? buf_str(out, "}</style>\n") : rc;
}

/* The lines up to the last that has something, or the cursor. */
static int shown_lines(const struct screen *s)
{
    int n = s->cursor ? s->line + 1 : 1;
    for (int l = 0; l < s->n_lines; l++)
        for (int c = 0; c < s->columns; c++)
            if (l >= n && cell_shape(&screen_line(s, l)[c]) != BLANK)
                n = l + 1;
    return n;
}

static int add_window(struct buf *out, int width, int height, const char *title,
                      const char *description)
{
    int rc = buf_str(out, "<title id=\"title\">");
    if (rc == 0)
        rc = add_escaped(out, title);
    if (rc == 0)
        rc = buf_str(out, "</title>\n<desc id=\"description\">");
    if (rc == 0)
        rc = add_escaped(out, description);
    if (rc == 0)
        rc = buf_printf(out,
                        "</desc>\n<rect class=\"w\" x=\"1\" y=\"1\" width=\"%d\" height=\"%d\" "
                        "rx=\"12\"/>\n<path class=\"buttons\" d=\"M%d %dh0m20 0h0m20 0h0\"/>\n"
                        "<text class=\"t d\" x=\"%d\" y=\"%d\">",
                        width - 2, height - 2, MARGIN + 4, BAR / 2 + 2, width / 2, BAR / 2 + 9);
    if (rc == 0)
        rc = add_escaped(out, title);
    return rc == 0 ? buf_str(out, "</text>\n") : rc;
}

static int draw_picture(struct buf *out, const struct screen *s, const char *title,
                        const char *description)
{
    const int n = shown_lines(s), width = s->columns * CELL_X + 2 * MARGIN;
    const int height = cell_top(n) + MARGIN;
    int rc =
        buf_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
                   "viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"title description\">\n",
                   width / SCALE, height / SCALE, width, height);
    if (rc == 0)
        rc = add_style(out, used_colors(s));
    if (rc == 0)
        rc = add_window(out, width, height, title, description);
    if (rc == 0)
        rc = add_text(out, s, n);
    if (rc == 0)
        rc = add_paths(out, s, n);
    if (rc == 0 && s->cursor)
        rc = buf_printf(out,
                        "<rect class=\"cursor\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
                        cell_left(s->column), cell_top(s->line), CELL_X, CELL_Y);
    return rc == 0 ? buf_str(out, "</svg>\n") : rc;
}

int main(int argc, char **argv)
{
    const int columns = argc == 5 ? atoi(argv[1]) : 0, rows = argc == 5 ? atoi(argv[2]) : 0;
    if (columns < 1 || rows < 1) {
        fprintf(stderr, "usage: %s COLUMNS ROWS TITLE DESCRIPTION <BYTES >PICTURE.svg\n", argv[0]);
        return 2;
    }
    struct screen s;
    struct buf bytes = {0}, picture = {0};
    int rc = screen_init(&s, columns, rows);
    if (rc == 0)
        rc = file_read_fd(&bytes, STDIN_FILENO);
    if (rc == 0)
        rc = screen_write(&s, bytes.data, bytes.n);
    if (rc == 0)
        rc = draw_picture(&picture, &s, argv[3], argv[4]);
    if (rc == 0 && fwrite(picture.data, 1, picture.n, stdout) != picture.n)
        rc = err_errno("cannot write the picture");
    if (rc != 0)
        fprintf(stderr, "%s\n", err_text());
    screen_release(&s);
    buf_release(&bytes);
    buf_release(&picture);
    return rc != 0;
}
