#ifndef PRATTLE_TRAIN_PREPARE_WIKI_STRIP_H
#define PRATTLE_TRAIN_PREPARE_WIKI_STRIP_H
/*
 * Wiki text without its comments and HTML tags: references, galleries and the like are dropped with
 * what they have, formulas and nowiki keep it, with signs of wiki text as HTML entities.
 */
#include "model/base/buf.h"

int wiki_strip(struct buf *out, const char *text, size_t n);

#endif
