#include "repl/terminal/table.h"

#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "repl/terminal/number.h"
#include "repl/terminal/term.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void table_init(struct table *t, const char *const *heads, int n_columns)
{
    *t = (struct table){.heads = heads, .n_columns = n_columns};
}

void table_release(struct table *t)
{
    if (t == NULL)
        return;
    for (int i = 0; i < t->n_rows * t->n_columns; i++)
        buf_release(&t->cells[i]);
    mem_free(t->cells);
    *t = (struct table){0};
}

int table_row(struct table *t)
{
    size_t row = (size_t)t->n_columns * sizeof *t->cells, old = (size_t)t->n_rows * row;
    struct buf *cells = mem_grow(t->cells, old, old + row);
    if (cells == NULL)
        return ERR_NOMEM;
    t->cells = cells;
    t->n_rows++;
    return 0;
}

static struct buf *cell_at(const struct table *t, int row, int column)
{
    return &t->cells[row * t->n_columns + column];
}

int table_cell(struct table *t, int column, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int rc = buf_vprintf(cell_at(t, t->n_rows - 1, column), fmt, ap);
    va_end(ap);
    return rc;
}

int table_text(struct table *t, int column, const char *text, size_t n)
{
    struct buf shown = {0};
    int rc = term_visible(&shown, text, strnlen(text, n));
    if (rc == 0)
        rc = table_cell(t, column, "%s", buf_text(&shown));
    buf_release(&shown);
    return rc;
}

/* Decimal: "inf", "nan" and "0x10" are names. */
static bool is_number_text(const char *s)
{
    char *end;
    strtod(s, &end);
    return end != s && *end == '\0' && s[strspn(s, "0123456789+-.eE")] == '\0';
}

/* Columns of numbers stand to the right. */
static bool is_number_column(const struct table *t, int column)
{
    bool any = false;
    for (int r = 0; r < t->n_rows; r++) {
        const char *s = buf_text(cell_at(t, r, column));
        if (*s != '\0' && !is_number_text(s))
            return false;
        any |= *s != '\0';
    }
    return any;
}

static int add_spaces(struct buf *out, int n)
{
    int rc = 0;
    for (int i = 0; i < n && rc == 0; i++)
        rc = buf_char(out, ' ');
    return rc;
}

/* The points of its numbers stand below each other. */
static struct number_column align_numbers(const struct table *t, int column)
{
    struct number_column numbers = {0};
    for (int r = 0; r < t->n_rows; r++)
        number_column_add(&numbers, buf_text(cell_at(t, r, column)), NULL);
    return numbers;
}

/* How a column is set: all of its cells alike. */
struct column {
    bool is_number;
    struct number_column numbers; /* of a column of numbers */
    int width;
};

static struct column measure_column(const struct table *t, int column)
{
    struct column c = {.is_number = is_number_column(t, column),
                       .width = term_columns(t->heads[column], strlen(t->heads[column]))};
    if (c.is_number)
        c.numbers = align_numbers(t, column);
    const int numbers = c.is_number ? number_column_width(&c.numbers) : 0;
    c.width = numbers > c.width ? numbers : c.width;
    for (int r = 0; r < t->n_rows && !c.is_number; r++) {
        const struct buf *b = cell_at(t, r, column);
        const int w = term_columns(buf_text(b), b->n);
        c.width = w > c.width ? w : c.width;
    }
    return c;
}

/* [n_columns]; NULL: ERR_NOMEM. */
static struct column *measure_columns(const struct table *t)
{
    struct column *columns = mem_array((size_t)t->n_columns, sizeof *columns);
    for (int c = 0; columns != NULL && c < t->n_columns; c++)
        columns[c] = measure_column(t, c);
    return columns;
}

/* s is a head or a cell. */
static int format_cell(const struct column *c, const char *s, bool is_head, struct buf *out)
{
    const size_t start = out->n;
    int rc = 0;
    if (c->is_number && is_head) {
        rc = add_spaces(out, c->width - term_columns(s, strlen(s)));
    } else if (c->is_number) {
        rc = add_spaces(out, c->width - number_column_width(&c->numbers));
        if (rc == 0)
            rc = number_column_put(out, &c->numbers, s, NULL);
        s = "";
    }
    if (rc == 0)
        rc = buf_str(out, s);
    return rc == 0 ? add_spaces(out, c->width - term_columns(out->data + start, out->n - start))
                   : rc;
}

/* Row -1 is the heads. */
static int format_text_row(const struct table *t, const struct column *columns, int row,
                           const char *between, struct buf *out)
{
    int rc = 0;
    for (int c = 0; c < t->n_columns && rc == 0; c++) {
        rc = c > 0 ? buf_str(out, between) : 0;
        if (rc == 0)
            rc = format_cell(&columns[c], row < 0 ? t->heads[c] : buf_text(cell_at(t, row, c)),
                             row < 0, out);
    }
    return rc;
}

static int format_text(const struct table *t, struct buf *out)
{
    struct column *columns = measure_columns(t);
    int rc = columns == NULL ? ERR_NOMEM : 0;
    for (int r = -1; r < t->n_rows && rc == 0; r++) {
        const size_t start = out->n;
        rc = format_text_row(t, columns, r, "  ", out);
        while (out->n > start && out->data[out->n - 1] == ' ')
            out->n--;
        if (rc == 0)
            rc = buf_char(out, '\n');
    }
    mem_free(columns);
    return rc;
}

/* What would end a cell, or be taken for HTML. */
static int escape_cells(struct table *escaped, const struct table *t)
{
    int rc = 0;
    table_init(escaped, t->heads, t->n_columns);
    for (int r = 0; r < t->n_rows && rc == 0; r++) {
        rc = table_row(escaped);
        for (int c = 0; c < t->n_columns; c++)
            for (const char *s = buf_text(cell_at(t, r, c)); *s != '\0' && rc == 0; s++) {
                if (*s == '|' || *s == '<')
                    rc = buf_char(cell_at(escaped, r, c), '\\');
                if (rc == 0)
                    rc = buf_char(cell_at(escaped, r, c), *s);
            }
    }
    return rc;
}

static int format_markdown(const struct table *plain, struct buf *out)
{
    struct table escaped, *t = &escaped;
    int rc = escape_cells(t, plain);
    struct column *columns = rc == 0 ? measure_columns(t) : NULL;
    if (rc == 0 && columns == NULL)
        rc = ERR_NOMEM;
    for (int r = -1; r < t->n_rows && rc == 0; r++) {
        rc = buf_str(out, "| ");
        if (rc == 0)
            rc = format_text_row(t, columns, r, " | ", out);
        if (rc == 0)
            rc = buf_str(out, " |\n");
        for (int c = 0; r < 0 && c < t->n_columns && rc == 0; c++)
            rc = buf_str(out, columns[c].is_number ? "| ---: " : "| --- ");
        if (r < 0 && rc == 0)
            rc = buf_str(out, "|\n");
    }
    mem_free(columns);
    table_release(t);
    return rc;
}

static int format_csv_cell(const char *s, struct buf *out)
{
    if (strpbrk(s, ",\"\n") == NULL)
        return buf_str(out, s);
    int rc = buf_char(out, '"');
    for (; *s != '\0' && rc == 0; s++)
        rc = *s == '"' ? buf_str(out, "\"\"") : buf_char(out, *s);
    return rc == 0 ? buf_char(out, '"') : rc;
}

static int format_csv(const struct table *t, struct buf *out)
{
    int rc = 0;
    for (int r = -1; r < t->n_rows; r++)
        for (int c = 0; c < t->n_columns && rc == 0; c++) {
            rc = format_csv_cell(r < 0 ? t->heads[c] : buf_text(cell_at(t, r, c)), out);
            if (rc == 0)
                rc = buf_char(out, c == t->n_columns - 1 ? '\n' : ',');
        }
    return rc;
}

/* As it is written: counts stay whole. */
static json_t *make_number(const char *s)
{
    const size_t sign = *s == '-';
    const bool whole = s[sign + strspn(s + sign, "0123456789")] == '\0' && strlen(s) < 18;
    return whole ? json_integer(strtoll(s, NULL, 10)) : json_real(strtod(s, NULL));
}

static int format_json(const struct table *t, struct buf *out)
{
    json_t *rows = json_array();
    for (int r = 0; r < t->n_rows; r++) {
        json_t *row = json_object();
        for (int c = 0; c < t->n_columns; c++) {
            const char *s = buf_text(cell_at(t, r, c));
            json_object_set_new(row, t->heads[c],
                                *s == '\0'          ? json_null()
                                : is_number_text(s) ? make_number(s)
                                                    : json_string(s));
        }
        json_array_append_new(rows, row);
    }
    int rc = json_print(out, rows, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    json_decref(rows);
    return rc == 0 ? buf_char(out, '\n') : rc;
}

int table_format(const struct table *t, enum table_format format, struct buf *out)
{
    switch (format) {
    case TABLE_MARKDOWN:
        return format_markdown(t, out);
    case TABLE_CSV:
        return format_csv(t, out);
    case TABLE_JSON:
        return format_json(t, out);
    case TABLE_TEXT:
        break;
    }
    return format_text(t, out);
}
