#ifndef PRATTLE_MODEL_BASE_SETTINGS_FILE_H
#define PRATTLE_MODEL_BASE_SETTINGS_FILE_H
/*
 * Settings as YAML or JSON, into a layer of a store: a mapping of names to values, and where the
 * table has sections of these to mappings, mixed as one likes.
 */
#include "model/base/settings_store.h"

struct settings_text {
    const char *label; /* where it comes from, for sentences */
    const char *text;
    size_t n;
    bool derived; /* made from what LABEL has: its lines are not LABEL's, and not said */
    /* The settings it may give; NULL: all. */
    bool (*may_set)(const struct setting *row);
    /* Told of a value that is no good, which is then left out; NULL: it fails the text. */
    void (*left_out)(const char *sentence);
};
/* ERR_* with "LABEL line 3: ..."; on failure nothing is changed. */
int settings_read(struct settings_store *s, void *values, int layer,
                  const struct settings_text *from);
/* Whether that would succeed. */
int settings_check(const struct settings_store *s, const void *values, int layer,
                   const struct settings_text *from);
/* Tell from->left_out that err_text() is why something is left out; place is where it is, NULL:
 * somewhere in it. */
void settings_report_left_out(const struct settings_text *from, const char *place,
                              const char *what);

#endif
