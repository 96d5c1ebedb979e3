#ifndef PRATTLE_TRAIN_PREPARE_WIKI_TEXT_H
#define PRATTLE_TRAIN_PREPARE_WIKI_TEXT_H
/*
 * MediaWiki's wiki text as plain paragraphs (mediawiki.org/wiki/Help:Formatting): links as their
 * text, numbers, dates and units of templates as these show them; tables, files, categories,
 * references and all other templates left out. Any bytes are taken; time grows with their number.
 */
#include "train/prepare/wiki_call.h"

#define WIKI_TEXT_MOST ((size_t)1 << 26)

/* Append the paragraphs, an empty line between them. today: for ages; may be NULL. ERR_NOMEM;
 * ERR_RANGE: more than WIKI_TEXT_MOST bytes. */
int wiki_text(struct buf *out, const char *text, size_t n, const struct wiki_day *today);

#endif
