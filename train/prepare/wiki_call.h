#ifndef PRATTLE_TRAIN_PREPARE_WIKI_CALL_H
#define PRATTLE_TRAIN_PREPARE_WIKI_CALL_H
/*
 * A use of a template, its arguments made plain text.
 */
#include "model/base/buf.h"

#include <stdbool.h>
#include <string.h>

struct wiki_day {
    int year, month, day;
};

enum { WIKI_ARGUMENTS = 48 };

struct wiki_call {
    const char *name;               /* lower case, blanks for underscores */
    const char *at[WIKI_ARGUMENTS]; /* [n], those without a name, from 0 */
    int n;
    struct {
        const char *key, *value;
    } named[WIKI_ARGUMENTS]; /* [n_named] */
    int n_named;
    bool function;                /* {{name:argument|...}} */
    const struct wiki_day *today; /* when the page was written, for ages; NULL: not known */
};
/* Append what it shows. ERR_NOMEM. */
typedef int wiki_show_fn(struct buf *out, const struct wiki_call *c);

/* Argument i, from 0; "" for none. */
const char *wiki_at(const struct wiki_call *c, int i);
/* The argument of this name, "" for none. */
const char *wiki_named(const struct wiki_call *c, const char *key);

/* Whether a name of a table is this one; most differ in their first byte. */
static inline bool wiki_same(const char *a, const char *b)
{
    return *a == *b && strcmp(a, b) == 0;
}

/* Append digits with a comma between groups of three; text that is no number as it is. */
int wiki_add_number(struct buf *out, const char *digits);

#endif
