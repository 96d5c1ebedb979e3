#ifndef PRATTLE_MODEL_BASE_YAML_TREE_H
#define PRATTLE_MODEL_BASE_YAML_TREE_H
/*
 * A YAML document of any shape (yaml_pairs.h reads settings) as JSON values: mappings are objects,
 * lists arrays, every scalar a string, and "~", null and nothing are null. Anchors, aliases and
 * merge keys ("<<: *common", also a list of them; a mapping's own keys win) are resolved.
 *
 * What an alias stands for is counted each time it is used, so that a small file cannot stand for a
 * large tree: ERR_FORMAT beyond YAML_TREE_VALUES values or YAML_TREE_DEPTH levels, for duplicate
 * keys, for keys that are no scalars, and for an alias of what is not complete.
 */
#include "model/base/json.h"

enum { YAML_TREE_VALUES = 20000, YAML_TREE_DEPTH = 16, YAML_TREE_ANCHORS = 256 };

/* Read n bytes of text; free *out with json_decref, and do not change it: aliases share values. It
 * is null for a text without a document. Every error of the text begins with "LABEL line N: ". */
int yaml_read_tree(json_t **out, const char *label, const char *text, size_t n);

#endif
