#ifndef PRATTLE_MODEL_BASE_SETTINGS_TABLE_H
#define PRATTLE_MODEL_BASE_SETTINGS_TABLE_H
/*
 * The settings of one struct: looking up rows by name, and copying the struct. One table serves the
 * command line, files, completion and help.
 */
#include "model/base/setting.h"

struct settings_store;
struct yaml_item;

struct settings_table {
    const struct setting *rows;
    int n;
    size_t bytes; /* of the struct, as far as rows have fields in it */
    /* Groups are sections: a row can also be named "section.name", and files have sections and
     * lists. */
    bool sections;
    /* Further checks of a value's text; of a path, before and after "~" is expanded. NULL: none. */
    int (*check)(const struct setting *row, const char *text);
    /* Called after a layer of the store has set a row and its field; may set others. NULL: none. */
    int (*given)(struct settings_store *s, void *values, int layer, const struct setting *row);
    /* The mappings allowed in a setting's list in files (yaml_pairs.h). NULL: none. */
    const struct yaml_item *(*item)(const char *section, const char *name);
};

/* Row i; NULL past the end. */
const struct setting *settings_table_at(const struct settings_table *t, int i);
/* By any of its names, with dashes or underscores; NULL: none. */
const struct setting *settings_table_find(const struct settings_table *t, const char *name);
/* Of the field at this offset, which has a row. */
const struct setting *settings_table_field(const struct settings_table *t, size_t offset);
const struct setting *settings_table_by_letter(const struct settings_table *t, char letter);
/*
 * As settings_table_find, with errors: ERR_MISSING names the nearest setting, ERR_RANGE two
 * sections that share the name. settable: settings for one command only are ERR_UNSUPPORTED.
 */
int settings_table_lookup(const struct settings_table *t, const struct setting **out,
                          const char *name, bool settable);
bool settings_table_has_section(const struct settings_table *t, const char *name);
/* Set "there is no section NAME; did you mean NEAR?". Returns ERR_MISSING. */
int settings_table_no_section(const struct settings_table *t, const char *name);

/* As setting_parse, with the table's check; a shorthand that is on sets the row it stands for. */
int settings_table_parse(const struct settings_table *t, const struct setting *row, void *values,
                         const char *text);

/* Deep copies of the struct. dst is overwritten without being released. */
int settings_table_copy(const struct settings_table *t, void *dst, const void *src);
void settings_table_release(const struct settings_table *t, void *values);

#endif
