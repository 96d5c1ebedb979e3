#ifndef PRATTLE_MODEL_BASE_SETTINGS_FILE_H
#define PRATTLE_MODEL_BASE_SETTINGS_FILE_H
/*
 * Settings in YAML or JSON, read into a layer of a store: a mapping of names to values and, if the
 * table has sections, of sections to such mappings, in any mixture.
 */
#include "model/base/settings_store.h"

struct settings_text {
    const char *label; /* where the text is from, for messages */
    const char *text;
    size_t n;
    bool derived; /* the text was made from LABEL, so its line numbers are not LABEL's */
    /* Whether the text may set this row; NULL: all. */
    bool (*may_set)(const struct setting *row);
    /* Told of an invalid value, which is then left out; NULL: such a value is an error. */
    void (*left_out)(const char *sentence);
};
/* Errors begin "LABEL line 3: "; on failure s and values are unchanged. */
int settings_read(struct settings_store *s, void *values, int layer,
                  const struct settings_text *from);
/* Check whether settings_read would succeed; changes nothing. */
int settings_check(const struct settings_store *s, const void *values, int layer,
                   const struct settings_text *from);
/* Tell from->left_out that err_text() is the reason why something is left out (`what`). place: its
 * line; NULL: not known. */
void settings_report_left_out(const struct settings_text *from, const char *place,
                              const char *what);

#endif
