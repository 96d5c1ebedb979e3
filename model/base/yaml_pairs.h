#ifndef PRATTLE_MODEL_BASE_YAML_PAIRS_H
#define PRATTLE_MODEL_BASE_YAML_PAIRS_H
/*
 * Settings written as YAML (or JSON, a subset of it): one mapping of names to single values and, if
 * sections are allowed, of sections to such mappings. Aliases are refused, so nothing expands.
 */
#include "model/base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct yaml_pair {
    const char *section; /* "": none */
    const char *name;
    const char *place; /* "LABEL line N" */
    const char *text;  /* of a list, the items joined by commas, with "\\," for a comma in one;
                           NULL: null, "~" or nothing */
};
/* How a mapping in a setting's list becomes the text of an item. */
struct yaml_item {
    const char *const *keys; /* the keys allowed, NULL-terminated, at most YAML_ITEM_KEYS */
    /* Check a value of key k. Returns 0 or an error code. */
    int (*check)(int k, const char *value);
    /* Append the text of an item with these values, one for each key; NULL: not given. */
    int (*write)(struct buf *out, const char *const *values);
};
enum { YAML_ITEM_KEYS = 8 };

struct yaml_shape {
    bool sections, lists; /* what is allowed besides "name: value" */
    /* Without `lists`: whether this name's value may be one. NULL: none may. */
    bool (*list)(void *user, const char *name);
    /* Set the error of a list, or of a mapping, that this name's value may not be. NULL: a general
     * one. */
    int (*refuse)(void *user, const char *name, bool list);
    /* The mappings allowed in a setting's list; NULL: none, and as a field, in no list. */
    const struct yaml_item *(*item)(const char *section, const char *name);
};
/*
 * Call take for each pair in order, with user as list and refuse have it; an error from it ends the
 * reading. Every error begins with "LABEL line N: ". A text without a mapping has no pairs.
 */
int yaml_read_pairs(const char *label, const char *text, size_t n, struct yaml_shape shape,
                    int (*take)(void *user, const struct yaml_pair *p), void *user);

/* Append a text as a double-quoted scalar, which JSON and YAML read alike. ERR_FORMAT: it is not
 * UTF-8. */
int yaml_quote(struct buf *out, const char *text);

#endif
