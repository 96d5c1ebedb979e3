#include "train/prepare/csv.h"

#include "model/base/err.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_SHOWN = 200 };

bool csv_is_name(const char *name, char *given)
{
    *given = text_ends_in(name, ".tsv") ? '\t' : 0;
    return text_ends_in(name, ".csv") || text_ends_in(name, ".tsv");
}

/* Where in a field a byte leaves a reader: at its begin, in it, in its quotes, behind those. */
enum csv_place { BEGIN, PLAIN, QUOTED, CLOSED };

static enum csv_place csv_step(enum csv_place at, char c, char separator)
{
    if (at == QUOTED)
        return c == '"' ? CLOSED : QUOTED;
    if (c == '"' && at != PLAIN)
        return QUOTED;
    return c == separator || c == '\n' ? BEGIN : PLAIN;
}

size_t csv_record(const char *text, size_t n, char separator, bool ends, bool *open)
{
    enum csv_place at = BEGIN;
    *open = false;
    for (size_t i = 0; i < n; i++) {
        at = csv_step(at, text[i], separator);
        if (at == BEGIN && text[i] == '\n')
            return i + 1;
    }
    *open = ends && at == QUOTED;
    return ends ? n : 0;
}

/* The fields of a record, one after the other. */
struct fields {
    const char *record;
    size_t n, at; /* its bytes without the line break, and those that are read */
    char separator;
    bool ended;
};

static struct fields fields_of(const char *record, size_t n, char separator)
{
    while (n > 0 && (record[n - 1] == '\n' || record[n - 1] == '\r'))
        n--;
    return (struct fields){.record = record, .n = n, .separator = separator};
}

/* Append the next to out (NULL: pass over it). False: there is none, or rc says why. */
static bool next_field(struct fields *f, struct buf *out, int *rc)
{
    enum csv_place before, at = BEGIN;
    if (f->ended)
        return false;
    while (f->at < f->n && *rc == 0) {
        const char c = f->record[f->at++];
        before = at;
        at = csv_step(at, c, f->separator);
        if (at == BEGIN)
            return true;
        const bool is_text = at == PLAIN || (at == QUOTED && before != BEGIN);
        if (is_text && out != NULL)
            *rc = buf_char(out, c);
    }
    f->ended = true;
    return *rc == 0;
}

int csv_field(struct buf *out, const char *record, size_t n, char separator, int wanted, bool *got)
{
    struct fields f = fields_of(record, n, separator);
    int rc = 0;
    *got = true;
    for (int i = 0; i <= wanted && *got; i++)
        *got = next_field(&f, i == wanted ? out : NULL, &rc);
    return rc;
}

/* How many fields of a record there are up to the last that has text. */
static int count_fields(const char *record, size_t n, char separator)
{
    enum csv_place at = BEGIN;
    int field = 0, filled = 0;
    while (n > 0 && (record[n - 1] == '\n' || record[n - 1] == '\r'))
        n--;
    for (size_t i = 0; i < n; i++) {
        const enum csv_place before = at;
        at = csv_step(at, record[i], separator);
        field += at == BEGIN;
        const bool is_text = at == PLAIN || (at == QUOTED && before != BEGIN);
        if (is_text && record[i] != ' ' && record[i] != '\t')
            filled = field + 1;
    }
    return filled;
}

static int check_fields(const struct csv *c, const struct text_reader *r, const char *record,
                        size_t n)
{
    const int fields = count_fields(record, n, c->separator);
    if (fields <= c->columns)
        return 0;
    return err_set(ERR_FORMAT,
                   "%s record %" PRIu64 " has %d fields, and the first record names %d: a text "
                   "with a %s in it must stand in quotes",
                   r->stream.name, c->records, fields, c->columns,
                   c->separator == '\t' ? "tab" : (char[]){c->separator, '\0'});
}

/* The text of a record. Of an empty line there is none. */
static int take_field(struct buf *out, const struct csv *c, const struct text_reader *r,
                      const char *record, size_t n)
{
    bool there;
    int rc = csv_field(out, record, n, c->separator, c->wanted, &there);
    if (rc != 0 || there || count_fields(record, n, c->separator) == 0)
        return rc;
    return err_set(ERR_FORMAT,
                   "%s record %" PRIu64 " ends before its text, which is field %d as the first "
                   "record names them",
                   r->stream.name, c->records, c->wanted + 1);
}

static void begin_csv(struct text_reader *r, void *state)
{
    (void)r;
    struct csv *c = state;
    c->wanted = -1;
    c->separator = c->given == 0 ? ',' : c->given;
    c->records = 0;
}

/* What a header says if its names have this separator between them. */
struct header {
    char separator;
    int columns, named; /* named: the place of the wanted one, -1: it has none of this name */
    struct buf names;   /* the first of them, for a message */
};

static int read_header(struct header *h, const struct csv *c, const char *record, size_t n)
{
    struct fields f = fields_of(record, n, h->separator);
    struct buf name = {0};
    int rc = 0;
    while (next_field(&f, &name, &rc)) {
        if (h->named < 0 && strcmp(buf_text(&name), c->column) == 0)
            h->named = h->columns;
        if (h->names.n < COLUMNS_SHOWN)
            rc = buf_printf(&h->names, h->columns == 0 ? "%s" : ", %s", buf_text(&name));
        h->columns++;
        name.n = 0;
    }
    buf_release(&name);
    return rc;
}

/* Of the separators that give the wanted name the first, else of those with most columns. */
static int find_column(struct csv *c, const struct text_reader *r, const char *record, size_t n)
{
    static const char separators[] = {',', ';', '\t', '|'};
    struct header best = {.named = -1};
    char *end;
    int rc = 0;
    for (size_t i = 0; i < sizeof separators && rc == 0 && best.named < 0; i++) {
        struct header h = {.separator = c->given == 0 ? separators[i] : c->given, .named = -1};
        rc = read_header(&h, c, record, n);
        if (rc == 0 && (h.named >= 0 || h.columns > best.columns)) {
            buf_release(&best.names);
            best = h;
        } else {
            buf_release(&h.names);
        }
    }
    const long number = strtol(c->column, &end, 10);
    c->separator = best.separator;
    c->columns = best.columns;
    c->wanted = best.named >= 0                                               ? best.named
                : *end == '\0' && number >= 1 && number <= (long)best.columns ? (int)number - 1
                                                                              : -1;
    if (rc == 0 && c->wanted < 0)
        rc = err_set(ERR_MISSING, "%s has no column %s, it has %s; field=NAME chooses one",
                     r->stream.name, file_quote(c->column), file_quote(buf_text(&best.names)));
    buf_release(&best.names);
    return rc;
}

static int next_csv(struct text_reader *r, void *state, struct buf *out, bool *ends, bool *got)
{
    struct csv *c = state;
    bool open;
    *ends = true;
    for (*got = false; !*got;) {
        const char *record = r->window.data + r->used;
        const size_t left = r->window.n - r->used;
        const size_t n = csv_record(record, left, c->separator, r->ended, &open);
        int rc = 0;
        if (n == 0 && r->ended)
            return 0;
        if (n == 0) {
            if ((rc = text_reader_refill(r)) != 0)
                return rc;
            continue;
        }
        c->records++;
        if (open)
            return err_set(ERR_FORMAT, "%s record %" PRIu64 ": its quotes are not closed",
                           r->stream.name, c->records);
        if (c->wanted < 0)
            rc = find_column(c, r, record, n);
        else if ((rc = check_fields(c, r, record, n)) == 0)
            rc = take_field(out, c, r, record, n);
        r->used += n;
        *got = out->n > 0;
        if (rc != 0)
            return rc;
    }
    return 0;
}

void csv_init(struct csv *c, const char *column)
{
    *c = (struct csv){.column = column, .wanted = -1};
    c->splitter = (struct text_splitter){begin_csv, next_csv, c, false};
}
