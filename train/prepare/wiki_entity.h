#ifndef PRATTLE_TRAIN_PREPARE_WIKI_ENTITY_H
#define PRATTLE_TRAIN_PREPARE_WIKI_ENTITY_H
/* HTML's entities (HTML 4.01, chapter 24) as characters. */
#include "model/base/buf.h"

/* Append n bytes of text with entities as UTF-8; those that are none stay as they are. Blanks that
 * do not break a line are blanks, and marks without width are left out. */
int wiki_entities(struct buf *out, const char *text, size_t n);

#endif
