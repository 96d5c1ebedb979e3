/*
 * In a wide terminal a setting is a row of four columns. In a narrower one the range stands behind
 * the meaning, and in the narrowest both are below name and value. A text has no range worth a
 * column: its value takes that place too.
 */
#include "repl/commands/settings_list.h"

#include "repl/commands/help_lists.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"

#include <stdio.h>
#include <string.h>

enum { NAME = 20, VALUE = 7, RANGE = 28, BESIDE = 24, NARROW = 64, WIDE = 118 };

int settings_list_value(struct buf *out, const struct options *o, const struct setting *row)
{
    struct buf plain = {0};
    int rc = setting_format(row, &o->settings, &plain);
    bool quote = rc == 0 && (plain.n == 0 || strpbrk(plain.data, " \t\n") != NULL);
    if (rc == 0 && quote)
        rc = buf_char(out, '"');
    if (rc == 0)
        rc = term_visible(out, buf_text(&plain), plain.n);
    if (rc == 0 && quote)
        rc = buf_char(out, '"');
    buf_release(&plain);
    return rc;
}

static bool is_text(const struct setting *row)
{
    return row->type == SETTING_STRING || row->type == SETTING_PATH;
}

static int list_range(struct buf *out, const struct setting *row)
{
    return is_text(row) ? 0 : setting_range(row, out);
}

/* As much of text as so many columns take, cut where one of these characters ends a word; returns
 * the columns it took. */
static int print_cut(const struct buf *text, int room, const char *ends)
{
    const char *s = buf_text(text);
    if (term_columns(s, text->n) <= room) {
        fputs(s, stdout);
        return term_columns(s, text->n);
    }
    size_t fits = term_fit(s, text->n, room - 3), word = fits;
    while (word > 0 && strchr(ends, s[word]) == NULL)
        word--;
    fits = word > 0 ? word : fits;
    while (fits > 0 && strchr(" ,;:", s[fits - 1]) != NULL)
        fits--;
    printf("%.*s...", (int)fits, s);
    return term_columns(s, fits) + 3;
}

struct list_row {
    struct buf value, range, meaning;
};

static int fill_row(struct list_row *l, const struct options *o, const struct setting *row)
{
    const enum origin origin = settings_store_origin(&o->store, row);
    int rc = settings_list_value(&l->value, o, row);
    if (rc == 0)
        rc = list_range(&l->range, row);
    if (rc == 0 && origin != ORIGIN_BUILT_IN)
        rc = buf_printf(&l->meaning, "[%s] ", origin_name(origin));
    return rc == 0 ? buf_str(&l->meaning, row->help) : rc;
}

static void release_row(struct list_row *l)
{
    buf_release(&l->value);
    buf_release(&l->range);
    buf_release(&l->meaning);
}

/* Name and value; returns the columns behind NAME. A number or a choice is never cut: one that is
 * wider than VALUE begins under its name's padding, or moves what follows. A text is cut between
 * the items of a list or the folders of a path. */
static int print_value(const struct setting *row, const struct list_row *l, int room)
{
    const int name = (int)strlen(row->name),
              columns = term_columns(buf_text(&l->value), l->value.n);
    int spaces = NAME - name + 1 + (columns < VALUE ? VALUE - columns : 0);
    if (!is_text(row) && columns > VALUE)
        spaces = spaces > columns - VALUE + 1 ? spaces - (columns - VALUE) : 1;
    printf("  %s%*s", row->name, spaces, "");
    const int before = name + spaces - NAME - 1;
    return before + print_cut(&l->value, is_text(row) ? room : columns, " ,/");
}

/* The meaning whole, from here on. */
static void print_wide(const struct setting *row, const struct list_row *l)
{
    const int text = VALUE + 2 + RANGE;
    int at = print_value(row, l, BESIDE);
    fputs(term_dim(stdout), stdout);
    if (!is_text(row))
        at += printf("  %s", buf_text(&l->range));
    const int gap = at < text ? text + 2 - at : 2, before = 2 + NAME + 1 + at + gap;
    printf("%*s", gap, "");
    wrap_hanging(buf_text(&l->meaning), before, 2 + NAME + 1 + text + 2);
    fputs(term_plain(stdout), stdout);
}

/* "meaning (range)", the range in one line; on and off are said by the value itself. */
static int join_meaning(struct buf *out, const struct setting *row, const struct list_row *l)
{
    int rc = buf_str(out, buf_text(&l->meaning));
    if (rc != 0 || l->range.n == 0 || row->type == SETTING_BOOL)
        return rc;
    const size_t begin = out->n + 1;
    rc = buf_printf(out, " (%s)", buf_text(&l->range));
    for (size_t i = begin; rc == 0 && i < out->n; i++)
        if (out->data[i] == ' ')
            out->data[i] = '\t';
    return rc;
}

static void print_narrow(const struct setting *row, const struct list_row *l, int width)
{
    struct buf text = {0};
    const bool below = width < NARROW;
    const int value = 2 + NAME + 1, indent = below ? 4 : value + VALUE + 2;
    const int at = value + print_value(row, l, below ? width - value : BESIDE);
    fputs(term_dim(stdout), stdout);
    if (join_meaning(&text, row, l) == 0)
        wrap_column(buf_text(&text), at, indent);
    fputs(term_plain(stdout), stdout);
    buf_release(&text);
}

static void print_setting(const struct options *o, const struct setting *row)
{
    const int width = term_width(stdout) - 1;
    struct list_row l = {0};
    if (fill_row(&l, o, row) == 0)
        width < WIDE ? print_narrow(row, &l, width) : print_wide(row, &l);
    release_row(&l);
}

bool settings_list_show(const struct options *o, const char *group)
{
    const char *heading = "";
    const struct setting *row;
    bool any = false;
    for (int i = 0; (row = settings_table_at(&options_table, i)) != NULL; i++) {
        char word[32];
        help_group_word(word, sizeof word, row->group);
        if (row->call_only || row->type == SETTING_SHORTHAND ||
            (group != NULL && strcmp(word, group) != 0))
            continue;
        if (strcmp(heading, row->group) != 0)
            printf("%s%s%s\n", term_bold(stdout), heading = row->group, term_plain(stdout));
        print_setting(o, row);
        any = true;
    }
    return any;
}
