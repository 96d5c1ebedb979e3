#ifndef PRATTLE_MODEL_BASE_SETTINGS_STORE_H
#define PRATTLE_MODEL_BASE_SETTINGS_STORE_H
/*
 * Who gave which value of a table's settings, and where it is written. Values lie in layers, each
 * of one origin; the topmost layer that gives a row is in force, and what it hides comes back when
 * it is taken away. The layer at the bottom is what is built in. `values` is always the struct the
 * table is of: its fields are those in force.
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
    ORIGIN_CALL, /* an option of one command: gone after it */
    ORIGIN_LINE, /* a member of one line of JSON: gone after it */
    N_ORIGINS
};
/* "built in", "command line", ":set". */
const char *origin_name(enum origin o);

struct settings_store {
    const struct settings_table *table;
    struct settings_layer {
        enum origin origin;
        char **texts;   /* [rows], as it was given; NULL: it was not */
        char **sources; /* [rows], where: "settings.yaml line 3", "--top-k"; NULL: the origin says
                           all there is to say */
    } * layers;
    int n_layers;
    bool *follows; /* [rows]: the value in force is not as given, it was resolved from others */
};

/* values are those built in, their texts borrowed; then these are owned, and empty where NULL. On
 * failure there is nothing to release. */
int settings_store_init(struct settings_store *s, const struct settings_table *t, void *values);
void settings_store_release(struct settings_store *s);
/* Without the values. On failure dst is empty. */
int settings_store_copy(struct settings_store *dst, const struct settings_store *src);

/* A layer over all others, its number n_layers - 1; and the topmost taken away, which has
 * given nothing. */
int settings_store_push(struct settings_store *s, enum origin origin);
void settings_store_pop(struct settings_store *s);

/* A layer gives a row; text NULL: it takes its value back. ERR_RANGE names the row, the value and
 * the range; nothing is then changed. */
int settings_store_set(struct settings_store *s, void *values, int layer, const struct setting *row,
                       const char *text);
/* The same of a value that is written somewhere: a place of a file, or an option as it was typed;
 * source, copied, says where. */
int settings_store_set_from(struct settings_store *s, void *values, int layer,
                            const struct setting *row, const char *text, const char *source);
/* Take back all that a layer gives. */
void settings_store_clear(struct settings_store *s, void *values, int layer);
/* What a layer gives, NULL: nothing. */
const char *settings_store_text(const struct settings_store *s, int layer,
                                const struct setting *row);
/* The layer in force; 0: what is built in. */
int settings_store_layer(const struct settings_store *s, const struct setting *row);
enum origin settings_store_origin(const struct settings_store *s, const struct setting *row);
/* Where the value that a layer gives is written; NULL as in the layer. */
const char *settings_store_source(const struct settings_store *s, int layer,
                                  const struct setting *row);
/*
 * The last error is about the values in force of these rows, NULL past the last: if a file that
 * people write has one of them, where each is written goes before the sentence: "run.yaml line 3
 * and learning_rate=1: ". Returns the error's code.
 */
int settings_store_blame(const struct settings_store *s, const struct setting *const *rows);
bool settings_store_follows(const struct settings_store *s, const struct setting *row);

#endif
