#ifndef PRATTLE_TRAIN_DATA_MARKUP_H
#define PRATTLE_TRAIN_DATA_MARKUP_H
/*
 * Texts that look like markup, which a model would learn to write. The user gets a note but no
 * error, since a model of HTML may be wanted.
 */
#include "train/data/source.h"

#include <stddef.h>

struct markup {
    const char *name;   /* "a MediaWiki dump" */
    const char *advice; /* what makes plain text of it, with FILE for data_advice */
    bool prepared;      /* data prepare makes plain text of it */
};
/* What the first n bytes of a text look like; NULL: plain text. */
const struct markup *markup_find(const char *head, size_t n);
/* The same for a text of this name that is CSV: by its ending, and by as many columns in every
 * record as its header has. NULL: it is none. */
const struct markup *markup_find_csv(const char *name, const char *head, size_t n);

/* One note on all sources that look like markup, and one on those whose lines end in CR LF;
 * prepare: who reads them is data prepare. Looks into packed sources. Errors are ignored here: who
 * reads the text later reports them. */
void markup_note(const struct data_sources *s, bool prepare, const struct progress *p);

#endif
