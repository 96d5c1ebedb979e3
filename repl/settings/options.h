#ifndef PRATTLE_REPL_SETTINGS_OPTIONS_H
#define PRATTLE_REPL_SETTINGS_OPTIONS_H
/*
 * The settings in force, and who gave them. A setting may be given in several places; the later
 * origin wins, and what it hides comes back when it is taken away. A value of a file never excludes
 * what the user asked for, nor a model's what the user's file has: it is left out for as long.
 */
#include "model/base/settings_file.h"
#include "model/base/settings_words.h"
#include "repl/settings/options_table.h"

struct options {
    struct settings settings;    /* in force */
    struct settings_store store; /* a layer for each origin, which is its number */
    bool *told;                  /* [rows]: that a file's value is left out was said */
};
int options_init(struct options *o);
void options_release(struct options *o);
/* text NULL takes the origin's value away. */
int options_set(struct options *o, const struct setting *row, enum origin origin, const char *text);
/* Take away all values of an origin. */
void options_clear(struct options *o, enum origin origin);
/* The last error is about the value in force of row; NULL: of the setting that its sentence begins
 * with, if with one. As settings_store_blame. */
int options_blame(const struct options *o, const struct setting *row);
/* Tell of the values of files that are left out, of each once for a model. */
int options_say_left_out(struct options *o, void (*tell)(const char *sentence));
/* That, and generate_config_check of the settings in force. */
int options_check_answers(struct options *o, void (*tell)(const char *sentence));
/* As settings_take_options. */
int options_take(struct options *o, enum origin origin, char **words, int *n);

/* As settings_read and settings_check. */
int options_read(struct options *o, enum origin origin, const struct settings_text *from);
int options_check(const struct options *o, enum origin origin, const struct settings_text *from);
/*
 * The settings stored with a model, as such text; values that are no good, or exclude each other
 * or what the user gave, are left out, and from->left_out is told of each.
 */
int options_read_stored(struct options *o, const struct settings_text *from);
/* $XDG_CONFIG_HOME/prattle/settings.yaml; 0 when there is none. */
int options_read_user_file(struct options *o);

/* "--top-k" of top_k. */
void option_dashed(char *out, size_t n, const char *name);

#endif
