#ifndef PRATTLE_TRAIN_PREPARE_WIKI_LINES_H
#define PRATTLE_TRAIN_PREPARE_WIKI_LINES_H
/*
 * Lines of wiki text, without templates and links, as paragraphs: headings as lines, items of lists
 * behind "- ", HTML entities as characters. Sections without text, and those of references and
 * links, are left out.
 */
#include "model/base/buf.h"

int wiki_lines(struct buf *out, const char *text, size_t n);

/* Append text with entities as characters, blanks made one, and without what a dropped template
 * leaves: "( )", " ,", ". " at the beginning. */
int wiki_tidy(struct buf *out, const char *text, size_t n);

#endif
