#include "model/base/settings_table.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/words.h"

#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 128, FULL_NAME = 64 };

const struct setting *settings_table_at(const struct settings_table *t, int i)
{
    return i >= 0 && i < t->n ? &t->rows[i] : NULL;
}

/* The part of name after "section." if that is the row's section; else NULL. */
static const char *name_within(const struct settings_table *t, const struct setting *row,
                               const char *name)
{
    size_t n = strlen(row->group);
    bool within = t->sections && strncmp(name, row->group, n) == 0 && name[n] == '.';
    return within ? name + n + 1 : NULL;
}

/* The first row of that name, or of that section and name; *other: a second row of the name without
 * a section; NULL: none. */
static const struct setting *find_row(const struct settings_table *t, const char *name,
                                      const struct setting **other)
{
    const struct setting *found = NULL;
    *other = NULL;
    for (int i = 0; i < t->n; i++) {
        const struct setting *row = &t->rows[i];
        const char *within = name_within(t, row, name);
        if (within != NULL && setting_called(row, within)) {
            *other = NULL;
            return row;
        }
        if (!setting_called(row, name))
            continue;
        if (found == NULL)
            found = row;
        else if (*other == NULL)
            *other = row;
    }
    return found;
}

const struct setting *settings_table_find(const struct settings_table *t, const char *name)
{
    const struct setting *other, *row = find_row(t, name, &other);
    return other == NULL ? row : NULL;
}

const struct setting *settings_table_field(const struct settings_table *t, size_t offset)
{
    const struct setting *row = t->rows;
    while (row->type == SETTING_SHORTHAND || row->offset != offset)
        row++;
    return row;
}

const struct setting *settings_table_by_letter(const struct settings_table *t, char letter)
{
    for (int i = 0; i < t->n && letter != 0; i++)
        if (t->rows[i].letter == letter)
            return &t->rows[i];
    return NULL;
}

/* The suggestion is a "section.name" for a name with a point (the same name in another section, if
 * there is one), else a name or one of a row's other names. */
static int refuse_row(const struct settings_table *t, const char *name, bool settable)
{
    const char *point = t->sections ? strrchr(name, '.') : NULL, *names[2 * MAX_ROWS];
    char full[MAX_ROWS][FULL_NAME], others[MAX_ROWS][FULL_NAME], shown[80];
    size_t n = 0, n_others = 0;
    for (int i = 0; i < t->n && n < MAX_ROWS; i++) {
        const struct setting *row = &t->rows[i];
        if (settable && row->call_only)
            continue;
        snprintf(full[n], sizeof full[n], "%s.%s", row->group, row->name);
        if (point != NULL && setting_called(row, point + 1))
            return err_set(ERR_MISSING, "there is no setting %s; did you mean %s?",
                           file_show(shown, sizeof shown, name), full[n]);
        names[n] = point != NULL ? full[n] : row->name;
        n++;
    }
    for (int i = 0; i < t->n && point == NULL; i++) {
        const char *p = settable && t->rows[i].call_only ? NULL : t->rows[i].also;
        while (p != NULL && *p != '\0' && n_others < MAX_ROWS) {
            int length = (int)strcspn(p, "|");
            snprintf(others[n_others], FULL_NAME, "%.*s", length, p);
            names[n++] = others[n_others++];
            p += length + (p[length] == '|');
        }
    }
    return setting_unknown(name, names, n);
}

int settings_table_lookup(const struct settings_table *t, const struct setting **out,
                          const char *name, bool settable)
{
    const struct setting *other, *row = find_row(t, name, &other);
    if (row == NULL)
        return refuse_row(t, name, settable);
    if (other != NULL)
        return err_set(ERR_RANGE, "%s is in two sections: %s.%s and %s.%s", row->name, row->group,
                       row->name, other->group, other->name);
    if (settable && row->call_only)
        return err_set(ERR_UNSUPPORTED, "%s is for one command, not kept as a setting", row->name);
    *out = row;
    return 0;
}

bool settings_table_has_section(const struct settings_table *t, const char *name)
{
    for (int i = 0; i < t->n && t->sections; i++)
        if (strcmp(t->rows[i].group, name) == 0)
            return true;
    return false;
}

int settings_table_no_section(const struct settings_table *t, const char *name)
{
    const char *sections[MAX_ROWS];
    char shown[80];
    size_t n = 0;
    for (int i = 0; i < t->n && n < MAX_ROWS; i++)
        if (n == 0 || strcmp(sections[n - 1], t->rows[i].group) != 0)
            sections[n++] = t->rows[i].group;
    const char *near = words_nearest(name, sections, n);
    file_show(shown, sizeof shown, name);
    return near == NULL
               ? err_set(ERR_MISSING, "there is no section %s", shown)
               : err_set(ERR_MISSING, "there is no section %s; did you mean %s?", shown, near);
}

/* Check what a path expands to: a home folder can have any name. */
static int check_expanded_path(const struct settings_table *t, const struct setting *row,
                               const char *text)
{
    char *path = file_expand(text);
    int rc = path == NULL ? ERR_NOMEM : t->check(row, path);
    mem_free(path);
    return rc;
}

int settings_table_parse(const struct settings_table *t, const struct setting *row, void *values,
                         const char *text)
{
    if (row->type == SETTING_SHORTHAND) {
        bool on;
        int rc = setting_switch(row, text, &on);
        return rc != 0 || !on ? rc
                              : settings_table_parse(t, settings_table_find(t, row->shorthand_for),
                                                     values, row->shorthand_value);
    }
    int rc = t->check != NULL ? t->check(row, text) : 0;
    if (rc == 0 && t->check != NULL && row->type == SETTING_PATH)
        rc = check_expanded_path(t, row, text);
    return rc == 0 ? setting_parse(row, values, text) : rc;
}

void settings_table_release(const struct settings_table *t, void *values)
{
    settings_free_texts(t->rows, (size_t)t->n, values);
}

int settings_table_copy(const struct settings_table *t, void *dst, const void *src)
{
    memcpy(dst, src, t->bytes);
    return settings_own_texts(t->rows, (size_t)t->n, dst, src);
}
