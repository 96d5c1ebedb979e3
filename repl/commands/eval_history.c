/* Results side by side: a column for each model as it was, a row for each figure. */
#include "repl/commands/eval_report.h"

#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "repl/terminal/number.h"
#include "repl/terminal/table.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is compared: a model's weights in a precision; and what was measured, by its definition. */
struct history_comparison {
    const struct records *h;
    const json_t **models;    /* [n_models]: the newest record of each, by the age of that */
    const json_t **questions; /* [n_questions]: a record of each definition */
    size_t n_models, n_questions;
    size_t first, end;             /* of the models shown */
    struct number_column *numbers; /* [n_models]: of each model's figures */
    int label_room;                /* columns of a figure's name in text; 0: as it is */
    bool loose;                    /* numbers are not aligned with those of other rows */
    size_t name_room;              /* bytes of a model's name and source; 0: as they are */
};

static const char *record_text(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));
    return text == NULL ? "" : text;
}

static bool members_agree(const json_t *a, const json_t *b, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        if (strcmp(record_text(a, *keys), record_text(b, *keys)) != 0)
            return false;
    return true;
}

/* Of the same weights, whatever they were called. */
static bool same_model(const json_t *a, const json_t *b)
{
    const json_t *adapter = json_object_get(a, "adapter"), *other = json_object_get(b, "adapter");
    return members_agree(a, b, (const char *const[]){"fingerprint", "dtype", NULL}) &&
           (adapter == NULL || other == NULL ? adapter == other : json_equal(adapter, other));
}

static json_int_t record_limit(const json_t *record)
{
    return json_integer_value(json_object_get(json_object_get(record, "settings"), "limit"));
}

/* The file may have been written anew; of folders, large files and old records that is not known,
 * which is a case of its own. */
static bool same_contents(const json_t *a, const json_t *b)
{
    return strcmp(record_text(a, "sha256"), record_text(b, "sha256")) == 0;
}

static bool same_question(const json_t *a, const json_t *b)
{
    return members_agree(a, b, (const char *const[]){"evaluation", "definition", "file", NULL}) &&
           record_limit(a) == record_limit(b) && same_contents(a, b);
}

/* A question stays where it was first. */
static void add_question(const json_t **list, size_t *n, const json_t *record)
{
    size_t i = 0;
    while (i < *n && !same_question(list[i], record))
        i++;
    list[i] = record;
    *n += i == *n;
}

/* A model goes behind the others with each result: in a narrow terminal the first are left out. */
static void add_model(const json_t **list, size_t *n, const json_t *record)
{
    size_t i = 0;
    while (i < *n && !same_model(list[i], record))
        i++;
    *n += i == *n;
    memmove(list + i, list + i + 1, (*n - 1 - i) * sizeof *list);
    list[*n - 1] = record;
}

static bool record_is_partial(const json_t *record)
{
    return json_is_true(json_object_get(record, "partial"));
}

/* The newest result that model m has for question q; a whole one rather than a part. */
static const json_t *find_record(const struct history_comparison *c, const json_t *m,
                                 const json_t *q)
{
    const json_t *found = NULL;
    for (size_t i = c->h->n; i-- > 0 && (found == NULL || record_is_partial(found));) {
        const json_t *o = c->h->list[i];
        if (same_model(o, m) && same_question(o, q) && (found == NULL || !record_is_partial(o)))
            found = o;
    }
    return found;
}

/* ---- cells ---- */

/* The end of what is longer than `room` bytes (0: nothing is), as of a path, which says most: from
 * a slash or a space on, where one is there. */
static int add_text_end(struct buf *out, const char *text, size_t room)
{
    const size_t n = strlen(text), dots = 3;
    if (room == 0 || n <= room)
        return term_visible(out, text, n);
    for (text += n - (room > dots ? room - dots : 0); (*text & 0xc0) == 0x80; text++)
        ;
    const size_t part = strcspn(text, "/ ");
    if (text[part] != '\0' && text[part + 1] != '\0')
        text += part;
    int rc = buf_str(out, "...");
    return rc == 0 ? term_visible(out, text, strlen(text)) : rc;
}

/* "runs/finetune, checkpoint of step 200" is "runs/finetune, step 200". */
static int add_model_name(struct buf *out, const json_t *m, size_t room)
{
    static const char words[] = ", checkpoint of step ";
    const char *name = record_text(m, "model"), *at = strstr(name, words);
    if (at == NULL)
        return add_text_end(out, name, room);
    char *text = mem_sprintf("%.*s, step %s", (int)(at - name), name, at + sizeof words - 1);
    const int rc = text == NULL ? ERR_NOMEM : add_text_end(out, text, room);
    mem_free(text);
    return rc;
}

static int put_source_cell(struct table *t, int column, const json_t *record, size_t room)
{
    struct buf shown = {0};
    int rc = add_text_end(&shown, record_text(record, "source"), room);
    if (rc == 0)
        rc = table_cell(t, column, "%s", buf_text(&shown));
    buf_release(&shown);
    return rc;
}

static int put_facts(struct table *t, const struct history_comparison *c)
{
    static const struct {
        const char *head, *key;
        size_t n;
    } facts[] = {
        {"weights", "fingerprint", 8}, {"precision", "dtype", SIZE_MAX}, {"measured", "date", 16}};
    int rc = table_row(t);
    if (rc == 0)
        rc = table_cell(t, 0, "from");
    for (size_t m = c->first; m < c->end && rc == 0; m++)
        rc = put_source_cell(t, (int)(m - c->first) + 1, c->models[m], c->name_room);
    for (size_t i = 0; i < sizeof facts / sizeof *facts && rc == 0; i++) {
        if ((rc = table_row(t)) == 0)
            rc = table_cell(t, 0, "%s", facts[i].head);
        for (size_t m = c->first; m < c->end && rc == 0; m++)
            rc = table_text(t, (int)(m - c->first) + 1, record_text(c->models[m], facts[i].key),
                            facts[i].n);
    }
    return rc;
}

struct figure_text {
    char value[NUMBER_TEXT], error[NUMBER_TEXT]; /* "": there is none */
};

static void format_figure(struct figure_text *out, const json_t *record, const char *name)
{
    const json_t *f = json_object_get(json_object_get(record, "figures"), name);
    const json_t *value = json_object_get(f, "value"), *error = json_object_get(f, "error");
    out->value[0] = out->error[0] = '\0';
    if (!json_is_number(value))
        return;
    if (json_is_number(error))
        number_pair(out->value, out->error, json_number_value(value), json_number_value(error));
    else
        number_text(out->value, json_number_value(value), EVAL_DIGITS);
}

static const char *error_text(const struct figure_text *t)
{
    return t->error[0] == '\0' ? NULL : t->error;
}

/* Of all figures of all models, before the first is put. */
static void measure_numbers(struct history_comparison *c)
{
    const char *name;
    json_t *figure;
    for (size_t q = 0; q < c->n_questions; q++)
        for (size_t m = 0; m < c->n_models; m++) {
            const json_t *record = find_record(c, c->models[m], c->questions[q]);
            json_object_foreach(json_object_get(record, "figures"), name, figure)
            {
                struct figure_text t;
                format_figure(&t, record, name);
                number_column_add(&c->numbers[m], t.value, error_text(&t));
            }
        }
}

/* In text numbers are aligned with those of the other rows. */
static int put_figure_cell(struct table *t, int column, const json_t *record, const char *name,
                           const struct number_column *aligned)
{
    struct figure_text text;
    struct number_column own = {0};
    struct buf cell = {0};
    format_figure(&text, record, name);
    if (text.value[0] == '\0')
        return 0;
    number_column_add(&own, text.value, error_text(&text));
    int rc =
        number_column_put(&cell, aligned != NULL ? aligned : &own, text.value, error_text(&text));
    if (rc == 0)
        rc = table_cell(t, column, "%s%s", buf_text(&cell),
                        record_is_partial(record) ? " (partial)" : "");
    buf_release(&cell);
    return rc;
}

/* A row for the figure's name, and where it takes more than one, the last is the one for values. */
static int put_label(struct table *t, const char *label, int room)
{
    struct buf shown = {0}, broken = {0};
    int rc = term_visible(&shown, label, strlen(label));
    if (rc == 0)
        rc = room > 0 ? wrap_into(&broken, buf_text(&shown), room + 1)
                      : buf_str(&broken, buf_text(&shown));
    const char *at = buf_text(&broken);
    do {
        const size_t n = strcspn(at, "\n");
        if (rc == 0 && (rc = table_row(t)) == 0)
            rc = table_cell(t, 0, "%.*s", (int)n, at);
        at += n + (at[n] == '\n');
    } while (rc == 0 && *at != '\0');
    buf_release(&shown);
    buf_release(&broken);
    return rc;
}

/* Whether a model that is shown has a result of it. */
static bool question_is_shown(const struct history_comparison *c, size_t number)
{
    bool is = false;
    for (size_t m = c->first; m < c->end && !is; m++)
        is = find_record(c, c->models[m], c->questions[number]) != NULL;
    return is;
}

/* In text a heading says what was measured, which leaves the columns room; elsewhere each row. */
static int put_question(struct table *t, const struct history_comparison *c, size_t number,
                        enum table_format format)
{
    const json_t *q = c->questions[number];
    const char *name;
    json_t *figure;
    struct buf heading = {0};
    int rc = buf_printf(&heading, "%s [%zu]", record_text(q, "evaluation"), number + 1);
    if (rc == 0 && format == TABLE_TEXT && (rc = table_row(t)) == 0)
        rc = table_text(t, 0, buf_text(&heading), heading.n);
    json_object_foreach(json_object_get(q, "figures"), name, figure)
    {
        const char *text = record_text(figure, "text");
        struct buf label = {0};
        if (rc == 0 &&
            (rc = buf_printf(&label, "%s %s", format == TABLE_TEXT ? "" : buf_text(&heading),
                             *text != '\0' ? text : name)) == 0)
            rc = put_label(t, buf_text(&label), format == TABLE_TEXT ? c->label_room : 0);
        buf_release(&label);
        for (size_t m = c->first; m < c->end && rc == 0; m++) {
            const json_t *record = find_record(c, c->models[m], q);
            if (record != NULL)
                rc = put_figure_cell(t, (int)(m - c->first) + 1, record, name,
                                     format == TABLE_TEXT && !c->loose ? &c->numbers[m] : NULL);
        }
    }
    buf_release(&heading);
    return rc;
}

/* ---- the whole ---- */

static int make_table(struct buf *out, const struct history_comparison *c, enum table_format format)
{
    const size_t n = c->end - c->first;
    struct buf *names = mem_array(n, sizeof *names);
    const char **heads = mem_array(n + 1, sizeof *heads);
    struct table t = {0};
    int rc = names == NULL || heads == NULL ? ERR_NOMEM : 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        const json_t *m = c->models[c->first + i];
        rc = add_model_name(&names[i], m, c->name_room);
        if (rc == 0 && json_is_true(json_object_get(m, "changed")))
            rc = buf_str(&names[i], ", changed");
        if (rc == 0 && json_object_get(m, "adapter") != NULL)
            rc = buf_str(&names[i], ", adapter");
        heads[i + 1] = buf_text(&names[i]);
    }
    if (rc == 0) {
        heads[0] = "";
        table_init(&t, heads, (int)n + 1);
        rc = put_facts(&t, c);
    }
    for (size_t i = 0; i < c->n_questions && rc == 0; i++)
        if (question_is_shown(c, i))
            rc = put_question(&t, c, i, format);
    if (rc == 0)
        rc = table_format(&t, format, out);
    table_release(&t);
    for (size_t i = 0; i < n && names != NULL; i++)
        buf_release(&names[i]);
    mem_free(names);
    mem_free(heads);
    return rc;
}

/* Whether another question differs in what the file had in it alone. */
static bool differs_in_contents(const struct history_comparison *c, const json_t *q)
{
    for (size_t i = 0; i < c->n_questions; i++)
        if (!same_contents(q, c->questions[i]) &&
            members_agree(q, c->questions[i],
                          (const char *const[]){"evaluation", "definition", "file", NULL}))
            return true;
    return false;
}

/* "[1] FILE: definition", the file's name in the row of its number. */
static int add_definition(struct buf *line, const struct history_comparison *c, size_t i, int width)
{
    const json_t *q = c->questions[i];
    const char *unit = record_text(q, "unit");
    struct buf file = {0};
    int rc = buf_printf(line, "[%zu] ", i + 1);
    if (rc == 0)
        rc = add_text_end(&file, record_text(q, "file"),
                          width > 0 ? (size_t)width - line->n - strlen(": ") : 0);
    if (rc == 0)
        rc = buf_printf(line, "%s: %s", buf_text(&file), record_text(q, "definition"));
    if (rc == 0 && record_limit(q) == 1)
        rc = buf_printf(line, "; the first %.*s", (int)strlen(unit) - 1, unit);
    else if (rc == 0 && record_limit(q) > 1)
        rc = buf_printf(line, "; the first %" JSON_INTEGER_FORMAT " %s", record_limit(q), unit);
    const char *sum = record_text(q, "sha256");
    if (rc == 0 && differs_in_contents(c, q))
        rc = *sum == '\0' ? buf_str(line, "; what the file had in it was not recorded")
                          : buf_printf(line, "; of the file whose SHA-256 begins with %.8s", sum);
    buf_release(&file);
    return rc;
}

/* What the numbers in brackets stand for, broken for so many columns (0: not at all). */
static int put_definitions(struct buf *out, const struct history_comparison *c, int width)
{
    int rc = 0;
    for (size_t i = 0; i < c->n_questions && rc == 0; i++) {
        struct buf line = {0}, shown = {0};
        if (!question_is_shown(c, i))
            continue;
        rc = add_definition(&line, c, i, width);
        if (rc == 0 && (rc = term_visible(&shown, line.data, line.n)) == 0)
            rc = width > 0 ? wrap_into(out, buf_text(&shown), width)
                           : buf_str(out, buf_text(&shown));
        if (rc == 0)
            rc = buf_char(out, '\n');
        buf_release(&line);
        buf_release(&shown);
    }
    return rc;
}

static int widest_name(const struct history_comparison *c)
{
    int most = 0;
    for (size_t q = 0; q < c->n_questions; q++) {
        const char *name;
        json_t *figure;
        json_object_foreach(json_object_get(c->questions[q], "figures"), name, figure)
        {
            const char *text = record_text(figure, "text");
            const int n = 1 + term_columns(text, strlen(text));
            most = n > most ? n : most;
        }
    }
    return most;
}

/* In a width that is too narrow the names of models give way, then those of figures, then models:
 * of all that follow in a table of their own (whole) the last, else the oldest. What one is too
 * wide for gives up that its numbers are below each other. */
static int make_fitting_table(struct buf *table, struct history_comparison *c, int width,
                              bool whole)
{
    enum { LEAST = 18, LEAST_OF_ONE = 12 };
    static const size_t name_rooms[] = {0, 48, 32, 20};
    for (;;) {
        int rc = 0, over = 1;
        c->label_room = 0;
        c->loose = false;
        for (size_t i = 0; i < sizeof name_rooms / sizeof *name_rooms && rc == 0 && over > 0; i++) {
            table->n = 0;
            c->name_room = name_rooms[i];
            rc = make_table(table, c, TABLE_TEXT);
            over = term_widest(buf_text(table)) - width;
        }
        const int room = widest_name(c) - over;
        const bool one = c->end - c->first <= 1;
        if (rc != 0 || over <= 0)
            return rc;
        if (room >= LEAST || one) {
            table->n = 0;
            c->label_room = room < LEAST_OF_ONE ? LEAST_OF_ONE : room;
            rc = make_table(table, c, TABLE_TEXT);
            if (rc == 0 && one && term_widest(buf_text(table)) > width) {
                c->loose = true;
                table->n = 0;
                rc = make_table(table, c, TABLE_TEXT);
            }
            if (rc != 0 || one || term_widest(buf_text(table)) <= width)
                return rc;
        }
        if (whole)
            c->end--;
        else
            c->first++;
    }
}

/* Tables of as many models as fit, below each other. */
static int put_tables(struct buf *out, struct history_comparison *c, int width)
{
    struct buf table = {0};
    int rc = 0;
    for (c->first = 0; c->first < c->n_models && rc == 0; c->first = c->end) {
        c->end = c->n_models;
        table.n = 0;
        rc = c->first > 0 ? buf_char(out, '\n') : 0;
        if (rc == 0)
            rc = make_fitting_table(&table, c, width, true);
        if (rc == 0)
            rc = buf_add(out, buf_text(&table), table.n);
    }
    c->first = 0;
    buf_release(&table);
    return rc;
}

static int put_newest(struct buf *out, struct history_comparison *c, int width)
{
    struct buf table = {0};
    int rc = make_fitting_table(&table, c, width, false);
    if (rc == 0)
        rc = buf_add(out, buf_text(&table), table.n);
    buf_release(&table);
    return rc;
}

static int format_comparison(struct buf *out, struct history_comparison *c,
                             enum table_format format, int width, bool all)
{
    const bool fits = format == TABLE_TEXT && width > 0;
    c->end = c->n_models;
    int rc = !fits ? make_table(out, c, format)
             : all ? put_tables(out, c, width)
                   : put_newest(out, c, width);
    if (rc == 0 && format == TABLE_TEXT)
        rc = put_definitions(out, c, width);
    if (rc == 0 && c->first > 0) {
        char more[80];
        snprintf(more, sizeof more, "%zu more model%s to the left; --all shows %s\n", c->first,
                 c->first == 1 ? "" : "s", c->first == 1 ? "it" : "them");
        rc = wrap_into(out, more, width);
    }
    return rc;
}

/* For programs, the records of what a table would show. */
static int put_records(struct buf *out, const struct history_comparison *c)
{
    json_t *all = json_array();
    for (size_t q = 0; q < c->n_questions; q++)
        for (size_t m = 0; m < c->n_models; m++)
            json_array_append(all,
                              (json_t *)(uintptr_t)find_record(c, c->models[m], c->questions[q]));
    int rc = json_print(out, all, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    json_decref(all);
    return rc == 0 ? buf_char(out, '\n') : rc;
}

/* For a spreadsheet: a row for each figure of each result, value and error in cells of their own.
 */
static int put_rows(struct buf *out, const struct history_comparison *c)
{
    static const char *const heads[] = {"evaluation", "file",    "limit",   "figure",
                                        "model",      "weights", "dtype",   "date",
                                        "value",      "error",   "partial", "definition"};
    static const char *const texts[] = {"evaluation", "file", "", "", "model", "fingerprint",
                                        "dtype",      "date", "", "", "",      "definition"};
    struct table t;
    json_t *figure, *number;
    const char *name;
    int rc = 0;
    table_init(&t, heads, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < c->n_questions * c->n_models; i++) {
        const json_t *o = find_record(c, c->models[i % c->n_models], c->questions[i / c->n_models]);
        json_object_foreach(json_object_get(o, "figures"), name, figure)
        {
            rc = rc == 0 ? table_row(&t) : rc;
            for (int k = 0; k < t.n_columns && rc == 0; k++)
                if (*texts[k] != '\0')
                    rc = table_text(&t, k, record_text(o, texts[k]), SIZE_MAX);
            if (rc == 0)
                rc = table_cell(&t, 2, "%" JSON_INTEGER_FORMAT, record_limit(o));
            if (rc == 0)
                rc = table_text(&t, 3, name, SIZE_MAX);
            if (rc == 0 && json_is_number(number = json_object_get(figure, "value")))
                rc = table_cell(&t, 8, "%.9g", json_number_value(number));
            if (rc == 0 && json_is_number(number = json_object_get(figure, "error")))
                rc = table_cell(&t, 9, "%.9g", json_number_value(number));
            if (rc == 0)
                rc = table_cell(&t, 10, "%s", record_is_partial(o) ? "yes" : "no");
        }
    }
    if (rc == 0)
        rc = table_format(&t, TABLE_CSV, out);
    table_release(&t);
    return rc;
}

int eval_report_history(const struct records *h, enum table_format format, int width, bool all,
                        struct buf *out)
{
    struct history_comparison c = {.h = h};
    c.models = mem_array(h->n, sizeof *c.models);
    c.questions = mem_array(h->n, sizeof *c.questions);
    c.numbers = mem_array(h->n, sizeof *c.numbers);
    int rc = c.models == NULL || c.questions == NULL || c.numbers == NULL ? ERR_NOMEM : 0;
    for (size_t i = 0; i < h->n && rc == 0; i++) {
        add_model(c.models, &c.n_models, h->list[i]);
        add_question(c.questions, &c.n_questions, h->list[i]);
    }
    if (rc == 0)
        measure_numbers(&c);
    if (rc == 0 && (h->n > 0 || format == TABLE_JSON))
        rc = format == TABLE_JSON  ? put_records(out, &c)
             : format == TABLE_CSV ? put_rows(out, &c)
                                   : format_comparison(out, &c, format, width, all);
    mem_free(c.models);
    mem_free(c.questions);
    mem_free(c.numbers);
    return rc;
}
