#ifndef PRATTLE_MODEL_BASE_SETTINGS_TABLE_H
#define PRATTLE_MODEL_BASE_SETTINGS_TABLE_H
/*
 * The settings of one struct: rows by name, and copies of the struct. One table serves the
 * command line, files, completion and help.
 */
#include "model/base/setting.h"

struct settings_store;
struct yaml_item;

struct settings_table {
    const struct setting *rows;
    int n;
    size_t bytes; /* of the struct, as far as rows have fields in it */
    /* Groups are sections: a row is called "section.name" too, and files have sections and
     * lists. */
    bool sections;
    /* What a value must be besides its row's type and range; of a path also the text that "~"
     * expands to. NULL: nothing. */
    int (*check)(const struct setting *row, const char *text);
    /* Told that a layer of the store has given a row, whose field has the value; what it sets in
     * turn. NULL: nothing. */
    int (*given)(struct settings_store *s, void *values, int layer, const struct setting *row);
    /* What mappings in a setting's list are in files (yaml_pairs.h). NULL: nowhere are any. */
    const struct yaml_item *(*item)(const char *section, const char *name);
};

/* Row i, NULL past the end. */
const struct setting *settings_table_at(const struct settings_table *t, int i);
/* By any of its names, with dashes or underscores; NULL: none. */
const struct setting *settings_table_find(const struct settings_table *t, const char *name);
const struct setting *settings_table_by_letter(const struct settings_table *t, char letter);
/*
 * As settings_table_find, but ERR_MISSING names the nearest and ERR_RANGE two sections that share
 * the name. settable: not those for one command only (ERR_UNSUPPORTED).
 */
int settings_table_lookup(const struct settings_table *t, const struct setting **out,
                          const char *name, bool settable);
bool settings_table_has_section(const struct settings_table *t, const char *name);
/* ERR_MISSING: "there is no section NAME; did you mean NEAR?" */
int settings_table_no_section(const struct settings_table *t, const char *name);

/* As setting_parse, with the table's check; a shorthand that is on sets the row it stands for. */
int settings_table_parse(const struct settings_table *t, const struct setting *row, void *values,
                         const char *text);

/* Deep copies of the struct. dst is overwritten without being released. */
int settings_table_copy(const struct settings_table *t, void *dst, const void *src);
void settings_table_release(const struct settings_table *t, void *values);

#endif
