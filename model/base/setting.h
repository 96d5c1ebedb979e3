#ifndef PRATTLE_MODEL_BASE_SETTING_H
#define PRATTLE_MODEL_BASE_SETTING_H
/*
 * One setting: a row that says what a field of a struct is called, where it lies, what
 * it may be and what it is for. Tables of rows (settings_table.h) belong to whoever owns the
 * struct; parsing, formatting, ranges and the sentences about them are here. `base` is
 * always the struct the offsets are of.
 */
#include "model/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum setting_type {
    SETTING_BOOL,     /* bool: on off, yes no, true false, 1 0 */
    SETTING_INT,      /* int */
    SETTING_INT64,    /* int64_t */
    SETTING_UINT64,   /* uint64_t */
    SETTING_FLOAT,    /* float, finite */
    SETTING_DOUBLE,   /* double, finite */
    SETTING_CHOICE,   /* int: the place in choices */
    SETTING_STRING,   /* char *, owned */
    SETTING_PATH,     /* char *, owned, "~" expanded */
    SETTING_SHORTHAND /* sets another; its table does that */
};

struct setting {
    const char *name;  /* with underscores */
    const char *also;  /* other names understood, "temp|t"; NULL: none */
    const char *group; /* of the table: a heading, or a section of a file */
    char letter;       /* -p; 0: none */
    bool call_only;    /* for the command line or one command, never kept */
    bool per_line;     /* a line of --jsonl may give it */
    bool in_session;   /* a session keeps it, as it keeps those of lines */
    bool draws;        /* says which draw an answer is */
    bool pairs;        /* may be written as an object of names and values */
    bool paths;        /* a text of paths */
    int holds_from;    /* what a change waits for; the table's owner says what there is */
    enum setting_type type;
    size_t offset;
    double min, max;             /* of numbers, both included */
    const char *const *choices;  /* "fp16|f16|half": the first name and others understood */
    const char *(*words)(int i); /* of a text: the i-th it may be, NULL past the last */
    const char *shorthand_for, *shorthand_value; /* the row it sets, to what */
    const char *argument;                        /* shown in --help: "N", "FILE" */
    const char *help; /* one short line that is understood alone */
    const char *more; /* what there is to say besides, without a full stop; NULL: nothing */
};

/* Dashes and underscores are the same. */
bool setting_same_name(const char *a, const char *b);
/* Whether it is called so: by its name, its letter or one of the other names. */
bool setting_called(const struct setting *s, const char *name);
/* ERR_MISSING: "there is no setting NAME; did you mean NEAR?", of n names. */
int setting_unknown(const char *name, const char *const *names, size_t n);
/* "0 to 1", "on or off", "fp16, fp32 or bf16": what a value may be. */
int setting_range(const struct setting *s, struct buf *out);
/* The value as it would be typed. */
int setting_format(const struct setting *s, const void *base, struct buf *out);
/* Parse text into its field. ERR_RANGE names the setting, the value and the range; the
 * field is then unchanged. */
int setting_parse(const struct setting *s, void *base, const char *text);

/* What a shorthand is told: on or off. */
int setting_switch(const struct setting *s, const char *text, bool *on);

/* The texts of n rows, borrowed ones: no longer there. */
void settings_forget_texts(const struct setting *rows, size_t n, void *base);
/* The texts of n rows: those of dst, a byte for byte copy of src, become its own; and
 * given back. */
int settings_own_texts(const struct setting *rows, size_t n, void *dst, const void *src);
void settings_free_texts(const struct setting *rows, size_t n, void *base);

#endif
