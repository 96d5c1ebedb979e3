#include "tests/lib/screen.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { ESCAPE = 0x1b, DELETE = 0x7f, TAB = 8, MAX_NUMBERS = 8 };

static struct cell *cell_at(struct screen *s, int line, int column)
{
    return s->cells + (size_t)line * (size_t)s->columns + column;
}

const struct cell *screen_line(const struct screen *s, int line)
{
    return s->cells + (size_t)line * (size_t)s->columns;
}

static void blank_cells(struct screen *s, int line, int from, int to)
{
    for (int c = from; c < to; c++)
        *cell_at(s, line, c) = (struct cell){.columns = 1};
}

static int add_line(struct screen *s)
{
    size_t line_bytes = (size_t)s->columns * sizeof(struct cell), old = (size_t)s->n_lines;
    struct cell *cells = mem_grow(s->cells, old * line_bytes, (old + 1) * line_bytes);
    if (cells == NULL)
        return ERR_NOMEM;
    s->cells = cells;
    blank_cells(s, s->n_lines++, 0, s->columns);
    return 0;
}

int screen_init(struct screen *s, int columns, int rows)
{
    *s = (struct screen){.columns = columns, .rows = rows, .cursor = true};
    int rc = 0;
    while (s->n_lines < rows && rc == 0)
        rc = add_line(s);
    return rc;
}

void screen_release(struct screen *s)
{
    mem_free(s->cells);
    *s = (struct screen){0};
}

static int clamp(int x, int low, int high)
{
    return x < low ? low : x > high ? high : x;
}

static void move_cursor(struct screen *s, int line, int column)
{
    s->line = clamp(line, s->top, s->top + s->rows - 1);
    s->column = clamp(column, 0, s->columns - 1);
    s->full = false;
}

static int next_line(struct screen *s)
{
    int rc = 0;
    if (s->line == s->top + s->rows - 1) {
        rc = add_line(s);
        s->top += rc == 0;
    }
    if (rc == 0)
        move_cursor(s, s->line + 1, s->column);
    return rc;
}

/* What is written over one half of a wide character takes the other away. */
static void cut_wide(struct screen *s, int column)
{
    if (column < s->columns && cell_at(s, s->line, column)->columns == 0)
        blank_cells(s, s->line, column - 1, column + 1);
}

/* What combines with the character before the cursor. */
static void put_mark(struct screen *s, const char *text)
{
    int column = s->full ? s->column : s->column - 1;
    struct cell *c = column < 0 ? NULL : cell_at(s, s->line, column);
    if (c != NULL && c->columns == 0)
        c--;
    if (c != NULL && strlen(c->text) + strlen(text) < sizeof c->text)
        strcat(c->text, text);
}

/* text: one character. */
static int put_character(struct screen *s, const char *text, int columns)
{
    int rc = 0;
    if (s->full || s->column + columns > s->columns) {
        rc = next_line(s);
        move_cursor(s, s->line, 0);
    }
    if (rc != 0)
        return rc;
    cut_wide(s, s->column);
    cut_wide(s, s->column + columns);
    struct cell *c = cell_at(s, s->line, s->column);
    *c = (struct cell){.columns = (uint8_t)columns, .look = s->look};
    memcpy(c->text, text, strlen(text) + 1);
    if (columns == 2)
        c[1] = (struct cell){.columns = 0, .look = s->look};
    s->full = s->column + columns == s->columns;
    s->column = s->full ? s->columns - 1 : s->column + columns;
    return 0;
}

static int take_character(struct screen *s)
{
    utf8proc_int32_t c;
    if (utf8proc_iterate((const utf8proc_uint8_t *)s->part, (utf8proc_ssize_t)s->n_part, &c) !=
        (utf8proc_ssize_t)s->n_part)
        return err_set(ERR_FORMAT, "what a terminal is sent must be UTF-8");
    int columns = utf8proc_charwidth(c);
    if (columns > 0)
        return put_character(s, s->part, columns);
    put_mark(s, s->part);
    return 0;
}

static int take_control(struct screen *s, char c)
{
    switch (c) {
    case '\a':
        return 0;
    case '\b':
        move_cursor(s, s->line, s->column - 1);
        return 0;
    case '\t':
        move_cursor(s, s->line, (s->column / TAB + 1) * TAB);
        return 0;
    case '\r':
        move_cursor(s, s->line, 0);
        return 0;
    case '\n':
        return next_line(s);
    default:
        return err_set(ERR_UNSUPPORTED, "unknown control character 0x%02x", (unsigned char)c);
    }
}

/* false: an attribute that is not known here. */
static bool set_look(struct screen *s, int n)
{
    const int color = n >= 90 ? n - 90 + 9 : n - 30 + 1;
    if (n == 0)
        s->look = 0;
    else if (n == 1)
        s->look |= LOOK_BOLD;
    else if (n == 2)
        s->look |= LOOK_DIM;
    else if (n == 22)
        s->look &= LOOK_COLOR;
    else if (n == 39)
        s->look &= LOOK_BOLD | LOOK_DIM;
    else if ((n >= 30 && n <= 37) || (n >= 90 && n <= 97))
        s->look = (uint8_t)((s->look & ~LOOK_COLOR) | color);
    else
        return false;
    return true;
}

/* 0: from the cursor to the end, 1: from the beginning to the cursor, 2: all. */
static bool erase_in_line(struct screen *s, int how)
{
    blank_cells(s, s->line, how == 0 ? s->column : 0, how == 1 ? s->column + 1 : s->columns);
    return how >= 0 && how <= 2;
}

static bool erase_in_screen(struct screen *s, int how)
{
    int from = how == 0 ? s->line + 1 : s->top, to = how == 1 ? s->line : s->top + s->rows;
    for (int line = from; line < to; line++)
        blank_cells(s, line, 0, s->columns);
    return erase_in_line(s, how);
}

/* n blanks in at the cursor (n > 0), or -n characters out. */
static void shift_cells(struct screen *s, int n)
{
    struct cell *at = cell_at(s, s->line, s->column);
    int room = s->columns - s->column, by = clamp(abs(n), 0, room);
    size_t stay = (size_t)(room - by);
    memmove(n > 0 ? at + by : at, n > 0 ? at : at + by, stay * sizeof *at);
    if (n > 0)
        blank_cells(s, s->line, s->column, s->column + by);
    else
        blank_cells(s, s->line, s->columns - by, s->columns);
}

/* ESC [ numbers letter; false: not known here. */
static bool take_csi(struct screen *s, const int *numbers, int n_numbers, char letter)
{
    int n = numbers[0], many = n == 0 ? 1 : n;
    switch (letter) {
    case 'A':
        return move_cursor(s, s->line - many, s->column), true;
    case 'B':
        return move_cursor(s, s->line + many, s->column), true;
    case 'C':
        return move_cursor(s, s->line, s->column + many), true;
    case 'D':
        return move_cursor(s, s->line, s->column - many), true;
    case 'G':
        return move_cursor(s, s->line, many - 1), true;
    case 'H':
        return move_cursor(s, s->top + many - 1, (numbers[1] == 0 ? 1 : numbers[1]) - 1), true;
    case 'J':
        return erase_in_screen(s, n);
    case 'K':
        return erase_in_line(s, n);
    case '@':
        return shift_cells(s, many), true;
    case 'P':
        return shift_cells(s, -many), true;
    case 'X':
        return blank_cells(s, s->line, s->column, clamp(s->column + many, 0, s->columns)), true;
    case 'm':
        for (int i = 0; i < n_numbers; i++)
            if (!set_look(s, numbers[i]))
                return false;
        return true;
    default:
        return false;
    }
}

/* The terminal's switches: only the cursor's changes what is seen, wrapping stays on. */
static bool take_switch(struct screen *s, int n, char letter)
{
    if (n == 25)
        s->cursor = letter == 'h';
    return (letter == 'h' || letter == 'l') && n != 7;
}

static bool is_whole(const char *part, size_t n)
{
    if (part[0] != ESCAPE)
        return n == (size_t)utf8proc_utf8class[(unsigned char)part[0]];
    char last = part[n - 1];
    if (n == 1)
        return false;
    if (part[1] == '[')
        return n > 2 && last >= '@' && last <= '~';
    if (part[1] == ']')
        return last == '\a' || (last == '\\' && part[n - 2] == ESCAPE);
    return n == (part[1] == '(' ? 3 : 2);
}

static int take_sequence(struct screen *s)
{
    int numbers[MAX_NUMBERS] = {0}, n_numbers = 1;
    char *at = s->part + 2, letter = s->part[s->n_part - 1];
    bool known = strchr("]=>", s->part[1]) != NULL || strcmp(s->part + 1, "(B") == 0;
    if (s->part[1] == '[') {
        bool private = *at == '?';
        at += private;
        while ((*at >= '0' && *at <= '9') || (*at == ';' && n_numbers < MAX_NUMBERS)) {
            if (*at == ';')
                n_numbers++;
            else
                numbers[n_numbers - 1] = clamp(numbers[n_numbers - 1] * 10 + *at - '0', 0, 9999);
            at++;
        }
        known =
            at == s->part + s->n_part - 1 && (private ? take_switch(s, numbers[0], letter)
                                                      : take_csi(s, numbers, n_numbers, letter));
    }
    return known ? 0 : err_set(ERR_UNSUPPORTED, "unknown escape sequence ESC %s", s->part + 1);
}

static int take_byte(struct screen *s, char byte)
{
    bool control = ((unsigned char)byte < ' ' && byte != ESCAPE) || byte == DELETE;
    if (s->n_part == 0 && control)
        return take_control(s, byte);
    if (s->n_part == 0 && utf8proc_utf8class[(unsigned char)byte] == 0)
        return err_set(ERR_FORMAT, "what a terminal is sent must be UTF-8");
    if (s->n_part == sizeof s->part - 1)
        return err_set(ERR_UNSUPPORTED, "an escape sequence of more than %zu bytes", s->n_part);
    s->part[s->n_part++] = byte;
    s->part[s->n_part] = '\0';
    if (!is_whole(s->part, s->n_part))
        return 0;
    int rc = s->part[0] == ESCAPE ? take_sequence(s) : take_character(s);
    s->n_part = 0;
    return rc;
}

int screen_write(struct screen *s, const char *bytes, size_t n)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = take_byte(s, bytes[i]);
    return rc;
}
