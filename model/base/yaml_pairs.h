#ifndef PRATTLE_MODEL_BASE_YAML_PAIRS_H
#define PRATTLE_MODEL_BASE_YAML_PAIRS_H
/*
 * Settings written as YAML (or JSON, which YAML reads): one mapping of names to single
 * values, and, where sections are allowed, of sections to such mappings. Anchors and
 * aliases are refused: nothing expands.
 */
#include "model/base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct yaml_pair {
    const char *section; /* "": none */
    const char *name;
    const char *place; /* "LABEL line N" */
    const char *text;  /* of a list the items, joined by commas, "\\," for one in an item; NULL:
                           null, "~" or nothing */
};
/* A mapping in a list, which its setting's owner makes an item's text of. */
struct yaml_item {
    const char *const *keys; /* it may have, NULL-terminated, at most YAML_ITEM_KEYS */
    /* Whether a value of key number k is one. */
    int (*check)(int k, const char *value);
    /* Append the text; values [of keys], NULL: not given. */
    int (*write)(struct buf *out, const char *const *values);
};
enum { YAML_ITEM_KEYS = 8 };

struct yaml_shape {
    bool sections, lists; /* what is allowed beside "name: value" */
    /* What mappings in the list of a setting are, NULL: none are allowed. NULL: in no list. */
    const struct yaml_item *(*item)(const char *section, const char *name);
};
/*
 * take is called for each pair in order; its error ends the reading. Every error begins
 * with "LABEL line N: ". Text without a mapping in it has no pairs.
 */
int yaml_read_pairs(const char *label, const char *text, size_t n, struct yaml_shape shape,
                    int (*take)(void *user, const struct yaml_pair *p), void *user);

#endif
