#ifndef PRATTLE_MODEL_BASE_SETTING_H
#define PRATTLE_MODEL_BASE_SETTING_H
/*
 * A setting: a row with the name, offset, type, range and help of a field of a struct. Tables of
 * rows (settings_table.h) belong to the owner of the struct; parsing, formatting, ranges and
 * messages are here. `base` is always the struct to which the offsets refer.
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
    SETTING_CHOICE,   /* int: the index in choices */
    SETTING_STRING,   /* char *, owned */
    SETTING_PATH,     /* char *, owned, "~" expanded */
    SETTING_SHORTHAND /* sets another row (settings_table_parse) */
};

/* Below every range: whoever owns the struct chooses. */
#define SETTING_AUTO (-1.0)

struct setting {
    const char *name;  /* with underscores */
    const char *also;  /* other names, "temp|t"; NULL: none */
    const char *group; /* in its table: a heading, or a section of a file */
    char letter;       /* -p; 0: none */
    bool call_only;    /* for the command line or one command, never stored */
    bool per_line;     /* allowed in a line of --jsonl */
    bool in_session;   /* saved in session files, as those of lines are */
    bool draws;        /* selects which draw an answer is */
    bool pairs;        /* may be written as an object of names and values */
    bool json;         /* a text that may be written as an object, which is its JSON */
    bool texts;        /* several, which commas divide; one alone may have commas in JSON */
    bool escapes;      /* a text in which \n is a new line, but in JSON, which has its own */
    bool paths;        /* a text of paths */
    bool once;         /* a command line that gives it twice is wrong, as of a list */
    int holds_from;    /* when a change takes effect, as the table's owner numbers it */
    enum setting_type type;
    size_t offset;
    double min, max;             /* of numbers, both included */
    bool or_auto;                /* a SETTING_DOUBLE may be "auto" too, SETTING_AUTO in its field */
    const char *const *choices;  /* "fp16|f16|half": the first name and others understood */
    const char *(*words)(int i); /* of a text: its i-th allowed value; NULL past the last */
    const char *minus_one;       /* of a number, what does what -1 does elsewhere; NULL: nothing */
    const char *shorthand_for, *shorthand_value; /* the row it sets, to what */
    const char *argument;                        /* shown in --help: "N", "FILE" */
    const char *help;                            /* one short line that is clear by itself */
    const char *more;                            /* further help, without a full stop; NULL: none */
};

/* Whether two names are equal, dashes and underscores being the same. */
bool setting_same_name(const char *a, const char *b);
/* Whether this is the setting's name, its letter or one of its other names. */
bool setting_called(const struct setting *s, const char *name);
/* Whether its text is several, with commas between them. */
bool setting_is_list(const struct setting *s);
/* Set "there is no setting NAME; did you mean NEAR?", NEAR among names [n]. Returns ERR_MISSING. */
int setting_unknown(const char *name, const char *const *names, size_t n);
/* Append the allowed values: "0 to 1", "on or off", "fp16, fp32 or bf16". */
int setting_range(const struct setting *s, struct buf *out);
/* Append the value as it would be typed. */
int setting_format(const struct setting *s, const void *base, struct buf *out);
/* Parse text into its field. ERR_RANGE names the setting, the value and the range; the
 * field is then unchanged. */
int setting_parse(const struct setting *s, void *base, const char *text);

/* Parse the value of a shorthand: on or off. */
int setting_switch(const struct setting *s, const char *text, bool *on);

/* For the text fields of rows [n]. Set borrowed texts to NULL. */
void settings_forget_texts(const struct setting *rows, size_t n, void *base);
/* Replace the texts of dst, a byte copy of src, by copies of its own; ERR_NOMEM. And free them. */
int settings_own_texts(const struct setting *rows, size_t n, void *dst, const void *src);
void settings_free_texts(const struct setting *rows, size_t n, void *base);

#endif
