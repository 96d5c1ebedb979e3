#ifndef PRATTLE_MODEL_BASE_SETTINGS_STORE_H
#define PRATTLE_MODEL_BASE_SETTINGS_STORE_H
/*
 * The values of a table's settings by origin, and where each is written. Values are in layers of
 * one origin each; the topmost layer that gives a row is in force, and clearing it restores the one
 * below. The bottom layer has the built-in values. `values` is always the table's struct, whose
 * fields are the values in force.
 */
#include "model/base/settings_table.h"

enum origin {
    ORIGIN_BUILT_IN,
    ORIGIN_PRESET,
    ORIGIN_FILE,
    ORIGIN_USER_FILE, /* the user's settings.yaml */
    ORIGIN_MODEL,
    ORIGIN_CHECKPOINT,
    ORIGIN_LEFT_OUT, /* what holds in place of a file's value that something excludes */
    ORIGIN_COMMAND_LINE,
    ORIGIN_SET,
    ORIGIN_CALL, /* an option of one command, popped after it */
    ORIGIN_LINE, /* a member of one line of JSON, popped after it */
    N_ORIGINS
};
/* "built in", "command line", ":set". */
const char *origin_name(enum origin o);

struct settings_store {
    const struct settings_table *table;
    struct settings_layer {
        enum origin origin;
        char **texts;   /* [rows], as given; NULL: not given */
        char **sources; /* [rows], where: "settings.yaml line 3", "--top-k"; NULL: known by the
                           origin alone */
    } * layers;
    int n_layers;
    bool *follows; /* [rows]: the value in force was derived from other settings */
};

/* values has the built-in values with borrowed texts; afterwards its texts are owned, "" for NULL.
 * On failure there is nothing to release. */
int settings_store_init(struct settings_store *s, const struct settings_table *t, void *values);
void settings_store_release(struct settings_store *s);
/* Copy the store, not the values. ERR_NOMEM: dst is empty. */
int settings_store_copy(struct settings_store *dst, const struct settings_store *src);

/* Add a layer on top, number n_layers - 1; remove the topmost, which must be clear. */
int settings_store_push(struct settings_store *s, enum origin origin);
void settings_store_pop(struct settings_store *s);

/* Set a row in a layer, or clear it (text NULL). ERR_RANGE names the row, the value and the range;
 * nothing is then changed. */
int settings_store_set(struct settings_store *s, void *values, int layer, const struct setting *row,
                       const char *text);
/* The same with the source of the value, which is copied: a line of a file, or the option as typed.
 */
int settings_store_set_from(struct settings_store *s, void *values, int layer,
                            const struct setting *row, const char *text, const char *source);
/* Clear all rows of a layer. */
void settings_store_clear(struct settings_store *s, void *values, int layer);
/* The text that a layer gives; NULL: none. */
const char *settings_store_text(const struct settings_store *s, int layer,
                                const struct setting *row);
/* The layer in force for a row; 0: the built-in value. */
int settings_store_layer(const struct settings_store *s, const struct setting *row);
enum origin settings_store_origin(const struct settings_store *s, const struct setting *row);
/* The source of the value that a layer gives; NULL: none. */
const char *settings_store_source(const struct settings_store *s, int layer,
                                  const struct setting *row);
/*
 * Put the sources of these rows (NULL past the last), whose values in force caused the last error,
 * before its message: "run.yaml line 3 and learning_rate=1: ". Only if one of them is in a file
 * that users write. Returns the error's code.
 */
int settings_store_blame(const struct settings_store *s, const struct setting *const *rows);
/* Whether the row's value was derived from other settings (struct settings_store). */
bool settings_store_follows(const struct settings_store *s, const struct setting *row);

#endif
