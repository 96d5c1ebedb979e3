#ifndef PRATTLE_TRAIN_DATA_MARKUP_H
#define PRATTLE_TRAIN_DATA_MARKUP_H
/*
 * Texts that look like markup, which a model would learn to write. They are named, never refused: a
 * model of HTML may be what is wanted.
 */
#include "train/data/source.h"

#include <stddef.h>

struct markup {
    const char *name;   /* "a MediaWiki dump" */
    const char *advice; /* what makes text of it, with FILE and NEW */
};
/* By the first n bytes of a text; NULL: plain text, as far as can be seen. */
const struct markup *markup_find(const char *head, size_t n);

/* The sentence on the texts among the sources that look like it, one however many there are. What
 * is packed is looked into; what cannot be read is left to the reader of the text. */
void markup_note(const struct data_sources *s, const struct progress *p);

#endif
