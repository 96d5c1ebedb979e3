/*
 * A stand-in for Apache Arrow's parquet-glib: the functions that train/data/parquet.c asks for,
 * over a text file in place of Parquet. After "PAR1" come lines:
 *
 *   columns ID TEXT     the names
 *   nested N            the first counts as so many columns of the file, else 1
 *   group               a row group begins
 *   1<TAB>One day.      a row; \N is null, \n a line break
 *
 * The column n3 has numbers. When a reader goes, the file that ARROW_LOG names gets what was alive.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct glib_error {
    uint32_t domain;
    int code;
    char *message;
};

enum { COLUMNS = 8, ROWS = 4096, GROUPS = 64, IN_CHUNK = 2 };

struct object {
    const char *type;
    int references;
    struct object *of; /* held */
    int first, n;      /* columns of a table; rows of an array */
    int column, group;
    const char *name; /* of a field */
};

struct reader {
    struct object object;
    int n_columns, nested, n_rows, n_groups;
    char *names[COLUMNS], *cells[ROWS][COLUMNS];
    int begins[GROUPS + 1];
    char *text;
};

static int alive, tables, most_tables;

static struct object *new_object(const char *type, size_t size, struct object *of)
{
    struct object *o = calloc(1, size);
    o->type = type;
    o->references = 1;
    o->of = of;
    if (of != NULL)
        of->references++;
    alive++;
    return o;
}

static struct reader *reader_of(struct object *o)
{
    while (o->of != NULL)
        o = o->of;
    return (struct reader *)o;
}

const char *g_type_name_from_instance(struct object *o);
void g_object_unref(struct object *o);
void g_free(void *block);
void g_error_free(struct glib_error *e);
struct object *gparquet_arrow_file_reader_new_path(const char *path, struct glib_error **e);
int gparquet_arrow_file_reader_get_n_row_groups(struct object *o);
struct object *gparquet_arrow_file_reader_get_schema(struct object *o, struct glib_error **e);
struct object *gparquet_arrow_file_reader_read_row_group(struct object *o, int group, int *columns,
                                                         size_t n, struct glib_error **e);
unsigned garrow_schema_n_fields(struct object *o);
struct object *garrow_schema_get_field(struct object *o, unsigned i);
const char *garrow_field_get_name(struct object *o);
struct object *garrow_table_get_schema(struct object *o);
struct object *garrow_table_get_column_data(struct object *o, int i);
unsigned garrow_chunked_array_get_n_chunks(struct object *o);
struct object *garrow_chunked_array_get_chunk(struct object *o, unsigned i);
int64_t garrow_array_get_length(struct object *o);
int garrow_array_is_null(struct object *o, int64_t i);
char *garrow_string_array_get_string(struct object *o, int64_t i);
char *garrow_large_string_array_get_string(struct object *o, int64_t i);

const char *g_type_name_from_instance(struct object *o)
{
    return o->type;
}

static void log_counts(void)
{
    const char *path = getenv("ARROW_LOG");
    FILE *f = path == NULL ? NULL : fopen(path, "a");
    if (f == NULL)
        return;
    fprintf(f, "%d objects left, at most %d tables\n", alive, most_tables);
    fclose(f);
}

void g_object_unref(struct object *o)
{
    if (--o->references > 0)
        return;
    struct object *of = o->of;
    tables -= strcmp(o->type, "GArrowTable") == 0;
    alive--;
    if (of == NULL) {
        log_counts();
        free(((struct reader *)o)->text);
    }
    free(o);
    if (of != NULL)
        g_object_unref(of);
}

void g_free(void *block)
{
    free(block);
}

void g_error_free(struct glib_error *e)
{
    free(e->message);
    free(e);
}

static struct object *fail(struct glib_error **e, const char *message)
{
    *e = calloc(1, sizeof **e);
    (*e)->message = strdup(message);
    return NULL;
}

static void unescape(char *text)
{
    char *to = text;
    for (; *text != '\0'; text++)
        if (text[0] == '\\' && text[1] == 'n')
            *to++ = '\n', text++;
        else
            *to++ = *text;
    *to = '\0';
}

static void read_line(struct reader *r, char *line)
{
    char *save = NULL;
    if (strncmp(line, "columns ", 8) == 0) {
        for (char *w = strtok_r(line + 8, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
            r->names[r->n_columns++] = w;
    } else if (strncmp(line, "nested ", 7) == 0) {
        r->nested = atoi(line + 7);
    } else if (strcmp(line, "group") == 0) {
        r->begins[r->n_groups++] = r->n_rows;
    } else if (r->n_groups > 0) {
        for (int i = 0; i < r->n_columns; i++) {
            char *cell = strsep(&line, "\t");
            r->cells[r->n_rows][i] = cell;
            if (cell != NULL && strcmp(cell, "\\N") == 0)
                r->cells[r->n_rows][i] = NULL;
            else if (cell != NULL)
                unescape(cell);
        }
        r->n_rows++;
    }
    r->begins[r->n_groups] = r->n_rows;
}

struct object *gparquet_arrow_file_reader_new_path(const char *path, struct glib_error **e)
{
    FILE *f = fopen(path, "rb");
    size_t n = 0;
    char *text = NULL, *at, *line;
    if (f == NULL)
        return fail(e, "[parquet][arrow][file-reader][new-path]: IOError: no such file");
    if (getdelim(&text, &n, '\0', f) < 0 || strncmp(text, "PAR1\n", 5) != 0) {
        fclose(f);
        free(text);
        return fail(e, "[parquet][arrow][file-reader][new-path]: Invalid: magic bytes not found");
    }
    fclose(f);
    struct reader *r = (struct reader *)new_object("GParquetArrowFileReader", sizeof *r, NULL);
    r->nested = 1;
    r->text = text;
    for (at = text + 5; (line = strsep(&at, "\n")) != NULL;)
        if (*line != '\0' && r->n_rows < ROWS && r->n_groups < GROUPS)
            read_line(r, line);
    return &r->object;
}

int gparquet_arrow_file_reader_get_n_row_groups(struct object *o)
{
    return ((struct reader *)o)->n_groups;
}

static struct object *new_schema(struct object *of, int first, int n)
{
    struct object *s = new_object("GArrowSchema", sizeof *s, of);
    s->first = first;
    s->n = n;
    return s;
}

struct object *gparquet_arrow_file_reader_get_schema(struct object *o, struct glib_error **e)
{
    (void)e;
    return new_schema(o, 0, reader_of(o)->n_columns);
}

struct object *gparquet_arrow_file_reader_read_row_group(struct object *o, int group, int *columns,
                                                         size_t n, struct glib_error **e)
{
    struct reader *r = reader_of(o);
    if (group == 3)
        return fail(e, "[parquet][arrow][file-reader][read-row-group]: IOError: truncated");
    struct object *t = new_object("GArrowTable", sizeof *t, o);
    int leaf = columns == NULL ? 0 : columns[0];
    t->group = group;
    t->first = columns == NULL ? 0 : leaf < r->nested ? 0 : leaf - r->nested + 1;
    t->n = columns == NULL ? r->n_columns : (int)n;
    t->n = t->n < r->n_columns - t->first ? t->n : r->n_columns - t->first;
    most_tables = ++tables > most_tables ? tables : most_tables;
    return t;
}

unsigned garrow_schema_n_fields(struct object *o)
{
    return (unsigned)o->n;
}

struct object *garrow_schema_get_field(struct object *o, unsigned i)
{
    struct object *f = new_object("GArrowField", sizeof *f, o);
    f->name = reader_of(o)->names[o->first + (int)i];
    return f;
}

const char *garrow_field_get_name(struct object *o)
{
    return o->name;
}

struct object *garrow_table_get_schema(struct object *o)
{
    return new_schema(o, o->first, o->n);
}

struct object *garrow_table_get_column_data(struct object *o, int i)
{
    struct object *c = new_object("GArrowChunkedArray", sizeof *c, o);
    c->column = o->first + i;
    c->first = reader_of(o)->begins[o->group];
    c->n = reader_of(o)->begins[o->group + 1] - c->first;
    return c;
}

unsigned garrow_chunked_array_get_n_chunks(struct object *o)
{
    return (unsigned)(o->n + IN_CHUNK - 1) / IN_CHUNK;
}

struct object *garrow_chunked_array_get_chunk(struct object *o, unsigned i)
{
    const char *name = reader_of(o)->names[o->column];
    struct object *a = new_object(strcmp(name, "n3") == 0     ? "GArrowInt64Array"
                                  : strcmp(name, "long") == 0 ? "GArrowLargeStringArray"
                                                              : "GArrowStringArray",
                                  sizeof *a, o);
    a->column = o->column;
    a->first = o->first + (int)i * IN_CHUNK;
    a->n = o->n - (int)i * IN_CHUNK < IN_CHUNK ? o->n - (int)i * IN_CHUNK : IN_CHUNK;
    return a;
}

int64_t garrow_array_get_length(struct object *o)
{
    return o->n;
}

static char *cell_of(struct object *o, int64_t i)
{
    return reader_of(o)->cells[o->first + (int)i][o->column];
}

int garrow_array_is_null(struct object *o, int64_t i)
{
    return cell_of(o, i) == NULL;
}

char *garrow_string_array_get_string(struct object *o, int64_t i)
{
    return strcmp(o->type, "GArrowStringArray") == 0 ? strdup(cell_of(o, i)) : NULL;
}

char *garrow_large_string_array_get_string(struct object *o, int64_t i)
{
    return strcmp(o->type, "GArrowLargeStringArray") == 0 ? strdup(cell_of(o, i)) : NULL;
}
