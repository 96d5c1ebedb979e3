/*
 * The functions are declared here by hand, as Arrow's GLib documentation has them: its headers are
 * not needed to build, and all of its objects are pointers.
 */
#include "train/data/parquet.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "train/data/pairs.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 200, ROWS_AT_ONCE = 256, NEWEST = 40, OLDEST = 4 };

/* GLib's GError. */
struct glib_error {
    uint32_t domain;
    int code;
    char *message;
};

static struct arrow_calls {
    void *(*gparquet_arrow_file_reader_new_path)(const char *path, struct glib_error **e);
    int (*gparquet_arrow_file_reader_get_n_row_groups)(void *reader);
    void *(*gparquet_arrow_file_reader_get_schema)(void *reader, struct glib_error **e);
    void *(*gparquet_arrow_file_reader_read_row_group)(void *reader, int group, int *columns,
                                                       size_t n_columns, struct glib_error **e);
    unsigned (*garrow_schema_n_fields)(void *schema);
    void *(*garrow_schema_get_field)(void *schema, unsigned i);
    const char *(*garrow_field_get_name)(void *field);
    void *(*garrow_table_get_schema)(void *table);
    void *(*garrow_table_get_column_data)(void *table, int i);
    unsigned (*garrow_chunked_array_get_n_chunks)(void *chunks);
    void *(*garrow_chunked_array_get_chunk)(void *chunks, unsigned i);
    int64_t (*garrow_array_get_length)(void *array);
    int (*garrow_array_is_null)(void *array, int64_t i);
    char *(*garrow_string_array_get_string)(void *array, int64_t i);
    char *(*garrow_large_string_array_get_string)(void *array, int64_t i);
    const char *(*g_type_name_from_instance)(void *object);
    void (*g_object_unref)(void *object);
    void (*g_free)(void *block);
    void (*g_error_free)(struct glib_error *e);
} calls;

static const struct {
    const char *name;
    size_t offset;
} names[] = {
#define CALL(function)                                                                             \
    {                                                                                              \
#function, offsetof(struct arrow_calls, function)                                          \
    }
    CALL(gparquet_arrow_file_reader_new_path),
    CALL(gparquet_arrow_file_reader_get_n_row_groups),
    CALL(gparquet_arrow_file_reader_get_schema),
    CALL(gparquet_arrow_file_reader_read_row_group),
    CALL(garrow_schema_n_fields),
    CALL(garrow_schema_get_field),
    CALL(garrow_field_get_name),
    CALL(garrow_table_get_schema),
    CALL(garrow_table_get_column_data),
    CALL(garrow_chunked_array_get_n_chunks),
    CALL(garrow_chunked_array_get_chunk),
    CALL(garrow_array_get_length),
    CALL(garrow_array_is_null),
    CALL(garrow_string_array_get_string),
    CALL(garrow_large_string_array_get_string),
    CALL(g_type_name_from_instance),
    CALL(g_object_unref),
    CALL(g_free),
    CALL(g_error_free),
#undef CALL
};

/* One of the columns that are read. */
struct column {
    const char *name;     /* borrowed */
    int index;            /* among the file's */
    void *chunks, *array; /* of the row group in progress */
    unsigned chunk, n_chunks;
    int64_t row, n_rows; /* of the array */
    char *(*text)(void *array, int64_t i);
};

struct parquet {
    void *reader, *table; /* the table is of the row group in progress */
    char *name;           /* of the file, for messages; owned */
    struct column columns[PAIRS_FIELDS];
    int n_columns;
    int group, n_groups;
};

bool parquet_is_file(const char *head, size_t n)
{
    return n >= 4 && memcmp(head, "PAR1", 4) == 0;
}

/* ---- the libraries ---- */

/* libparquet-glib.so.2100 is of Arrow 21; the plain name is there for who develops with it. Each
 * brings arrow-glib and GLib with it. */
static void *open_library(void)
{
    char name[64];
    void *library = dlopen("libparquet-glib.so", RTLD_NOW | RTLD_LOCAL);
    for (int version = NEWEST; version >= OLDEST && library == NULL; version--) {
        snprintf(name, sizeof name, "libparquet-glib.so.%d00", version);
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

int parquet_load(void)
{
    struct arrow_calls found = {0};
    if (calls.g_free != NULL)
        return 0;
    void *library = open_library();
    if (library == NULL)
        return err_set(ERR_MISSING,
                       "Parquet files need Apache Arrow's library parquet-glib, which is not "
                       "installed (libparquet-glib-dev of Arrow's own repository, "
                       "https://arrow.apache.org/install); JSON lines and CSV need none");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *function = dlsym(library, names[i].name);
        if (function == NULL)
            return err_set(ERR_UNSUPPORTED, "Apache Arrow's parquet-glib has no %s", names[i].name);
        memcpy((char *)&found + names[i].offset, &function, sizeof function);
    }
    calls = found;
    return 0;
}

static void drop_object(void **object)
{
    if (*object != NULL)
        calls.g_object_unref(*object);
    *object = NULL;
}

/* What the library says; e goes. */
static int refuse_file(const struct parquet *q, struct glib_error *e)
{
    char shown[NAME_BYTES], said[NAME_BYTES];
    int rc = err_set(ERR_FORMAT, "%s: Apache Arrow cannot read it: %s",
                     file_show(shown, sizeof shown, q->name),
                     file_show(said, sizeof said,
                               e == NULL || e->message == NULL ? "no reason given" : e->message));
    if (e != NULL)
        calls.g_error_free(e);
    return rc;
}

/* ---- the columns ---- */

/* The place of the column in a schema, which goes; -1: none. all: the names, or NULL. */
static int find_index(void *schema, const char *column, struct buf *all)
{
    int found = -1, rc = 0;
    const unsigned n = schema == NULL ? 0 : calls.garrow_schema_n_fields(schema);
    for (unsigned i = 0; i < n && rc == 0; i++) {
        void *field = calls.garrow_schema_get_field(schema, i);
        const char *name = calls.garrow_field_get_name(field);
        if (found < 0 && strcmp(name, column) == 0)
            found = (int)i;
        if (all != NULL && all->n < NAME_BYTES)
            rc = buf_printf(all, i == 0 ? "%s" : ", %s", name);
        drop_object(&field);
    }
    drop_object(&schema);
    return found;
}

/* The place of each column. *missing: the first that is not there, or NULL; all: as find_index. */
static int find_columns(struct parquet *q, const char **missing, bool *any, struct buf *all)
{
    struct glib_error *e = NULL;
    *missing = NULL;
    *any = false;
    for (int i = 0; i < q->n_columns; i++) {
        void *schema = calls.gparquet_arrow_file_reader_get_schema(q->reader, &e);
        struct column *c = &q->columns[i];
        if (schema == NULL)
            return refuse_file(q, e);
        c->index = find_index(schema, c->name, i == 0 ? all : NULL);
        *any |= c->index >= 0;
        if (c->index < 0 && *missing == NULL)
            *missing = c->name;
    }
    return 0;
}

static void name_columns(struct parquet *q, const char *column, const struct pairs *pairs)
{
    q->n_columns = pairs == NULL ? 1 : pairs->n_fields;
    for (int i = 0; i < q->n_columns; i++)
        q->columns[i].name = pairs == NULL ? column : pairs->fields[i];
}

static int refuse_columns(const struct parquet *q, const char *missing, const struct buf *all,
                          const struct pairs *pairs)
{
    char shown[NAME_BYTES], wanted[NAME_BYTES], there[2 * NAME_BYTES];
    return err_set(
        ERR_MISSING, "%s has no column %s, it has %s; %s", file_show(shown, sizeof shown, q->name),
        file_show(wanted, sizeof wanted, missing), file_show(there, sizeof there, buf_text(all)),
        pairs == NULL  ? "field=NAME chooses one"
        : pairs->given ? "prompt_template and completion_template name the columns of "
                         "prompts and completions"
                       : "the settings data_field, or data_prompt_template and "
                         "data_completion_template, name others");
}

/* The column or those of the pairs, whichever come first. */
static int choose_columns(struct parquet *q, const char *column, const struct pairs *pairs)
{
    struct buf all = {0};
    const char *missing, *first;
    bool any;
    const bool given = pairs != NULL && pairs->given;
    name_columns(q, column, given ? pairs : NULL);
    int rc = find_columns(q, &missing, &any, &all);
    first = missing;
    /* Of given pairs a part is no text. */
    if (rc == 0 && missing != NULL && pairs != NULL && !(given && any)) {
        name_columns(q, column, given ? NULL : pairs);
        rc = find_columns(q, &missing, &any, NULL);
    }
    if (rc == 0 && missing != NULL)
        rc = refuse_columns(q, first, &all, pairs);
    buf_release(&all);
    return rc;
}

int parquet_open(struct parquet **out, const char *path, const char *name, const char *column,
                 const struct pairs *pairs)
{
    struct glib_error *e = NULL;
    int rc = parquet_load();
    struct parquet *q = rc == 0 ? mem_alloc(sizeof *q) : NULL;
    *out = NULL;
    if (q == NULL)
        return rc == 0 ? ERR_NOMEM : rc;
    if ((q->name = mem_strdup(name)) == NULL)
        rc = ERR_NOMEM;
    else if ((q->reader = calls.gparquet_arrow_file_reader_new_path(path, &e)) == NULL)
        rc = refuse_file(q, e);
    else
        rc = choose_columns(q, column, pairs);
    if (rc == 0)
        q->n_groups = calls.gparquet_arrow_file_reader_get_n_row_groups(q->reader);
    if (rc == 0)
        *out = q;
    else
        parquet_close(q);
    return rc;
}

static void drop_group(struct parquet *q)
{
    for (int i = 0; i < q->n_columns; i++) {
        drop_object(&q->columns[i].array);
        drop_object(&q->columns[i].chunks);
    }
    drop_object(&q->table);
}

void parquet_close(struct parquet *q)
{
    if (q == NULL)
        return;
    drop_group(q);
    drop_object(&q->reader);
    mem_free(q->name);
    mem_free(q);
}

/* ---- rows ---- */

/* The columns of the table in progress; false: it does not have them all. */
static bool find_chunks(struct parquet *q)
{
    for (int i = 0; i < q->n_columns; i++) {
        struct column *c = &q->columns[i];
        const int index = find_index(calls.garrow_table_get_schema(q->table), c->name, NULL);
        drop_object(&c->chunks);
        c->chunks = index < 0 ? NULL : calls.garrow_table_get_column_data(q->table, index);
        if (c->chunks == NULL)
            return false;
        c->n_chunks = calls.garrow_chunked_array_get_n_chunks(c->chunks);
        c->chunk = 0;
        c->row = c->n_rows = 0;
    }
    return true;
}

/* Columns are counted as the file stores them, where a nested one before it is several: then all of
 * them are read. */
static int open_group(struct parquet *q)
{
    struct glib_error *e = NULL;
    int wanted[PAIRS_FIELDS];
    for (int i = 0; i < q->n_columns; i++)
        wanted[i] = q->columns[i].index;
    drop_group(q);
    q->table = calls.gparquet_arrow_file_reader_read_row_group(q->reader, q->group, wanted,
                                                               (size_t)q->n_columns, &e);
    if (q->table == NULL)
        return refuse_file(q, e);
    if (!find_chunks(q)) {
        drop_group(q);
        q->table =
            calls.gparquet_arrow_file_reader_read_row_group(q->reader, q->group, NULL, 0, &e);
        if (q->table == NULL)
            return refuse_file(q, e);
        if (!find_chunks(q))
            return refuse_file(q, NULL);
    }
    q->group++;
    return 0;
}

static int open_chunk(struct parquet *q, struct column *c)
{
    char shown[NAME_BYTES], column[NAME_BYTES], type[NAME_BYTES];
    drop_object(&c->array);
    if ((c->array = calls.garrow_chunked_array_get_chunk(c->chunks, c->chunk++)) == NULL)
        return refuse_file(q, NULL);
    const char *is = calls.g_type_name_from_instance(c->array);
    c->text = strcmp(is, "GArrowStringArray") == 0 ? calls.garrow_string_array_get_string
              : strcmp(is, "GArrowLargeStringArray") == 0
                  ? calls.garrow_large_string_array_get_string
                  : NULL;
    if (c->text == NULL)
        return err_set(ERR_FORMAT, "%s: the column %s has no texts (%s)",
                       file_show(shown, sizeof shown, q->name),
                       file_show(column, sizeof column, c->name), file_show(type, sizeof type, is));
    c->row = 0;
    c->n_rows = calls.garrow_array_get_length(c->array);
    return 0;
}

/* A JSON string; what is no UTF-8 is refused by who reads the line. */
static int add_quoted(struct buf *out, const char *text)
{
    int rc = buf_char(out, '"');
    for (size_t n; *text != '\0' && rc == 0; text += n) {
        for (n = 0; (unsigned char)text[n] >= 0x20 && text[n] != '"' && text[n] != '\\'; n++)
            continue;
        if ((rc = buf_add(out, text, n)) != 0 || text[n] == '\0')
            continue;
        rc = buf_printf(out, "\\u%04x", (unsigned char)text[n]);
        n++;
    }
    return rc == 0 ? buf_char(out, '"') : rc;
}

/* Each column is at a row of the group in progress, in chunks of its own; *more false: one has no
 * more. */
static int find_row(struct parquet *q, bool *more)
{
    int rc = 0;
    *more = true;
    for (int i = 0; i < q->n_columns && rc == 0 && *more; i++) {
        struct column *c = &q->columns[i];
        while (rc == 0 && c->row == c->n_rows && c->chunk < c->n_chunks)
            rc = open_chunk(q, c);
        *more = c->row < c->n_rows;
    }
    return rc;
}

/* One object of the row's texts, where it has them all. */
static int add_row(struct parquet *q, struct buf *out)
{
    const size_t before = out->n;
    bool whole = true;
    int rc = 0;
    for (int i = 0; i < q->n_columns; i++) {
        struct column *c = &q->columns[i];
        char *text =
            calls.garrow_array_is_null(c->array, c->row) ? NULL : c->text(c->array, c->row);
        c->row++;
        whole = whole && text != NULL;
        if (whole && rc == 0 && (rc = buf_char(out, i == 0 ? '{' : ',')) == 0 &&
            (rc = add_quoted(out, c->name)) == 0 && (rc = buf_char(out, ':')) == 0)
            rc = add_quoted(out, text);
        calls.g_free(text);
    }
    if (!whole)
        out->n = before;
    return rc == 0 && whole ? buf_str(out, "}\n") : rc;
}

int parquet_read(struct parquet *q, struct buf *out, bool *more, double *done)
{
    int rc = 0;
    bool row = false;
    *more = true;
    while (rc == 0 && !row && *more) {
        if (q->table != NULL && ((rc = find_row(q, &row)) != 0 || row))
            break;
        *more = q->group < q->n_groups;
        rc = *more ? open_group(q) : 0;
    }
    for (int i = 0; i < ROWS_AT_ONCE && rc == 0 && row; i++)
        if ((rc = add_row(q, out)) == 0)
            rc = find_row(q, &row);
    *done = q->n_groups == 0 ? 1 : (double)q->group / q->n_groups;
    return rc;
}
