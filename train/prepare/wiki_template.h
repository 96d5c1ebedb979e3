#ifndef PRATTLE_TRAIN_PREPARE_WIKI_TEMPLATE_H
#define PRATTLE_TRAIN_PREPARE_WIKI_TEMPLATE_H
/*
 * What templates of Wikipedia show that stand inside sentences: numbers, dates, units, other
 * languages, signs. All others show nothing: references, notes, boxes.
 */
#include "train/prepare/wiki_call.h"

#include <stdbool.h>

/* Whether the template shows something: only then are its arguments looked at. name is not in lower
 * case yet; n bytes. */
bool wiki_template_shows(const char *name, size_t n);
/* Append what it shows. ERR_NOMEM. */
int wiki_template(struct buf *out, const struct wiki_call *c);
/* The name as wiki_call has it, in out [size]. */
void wiki_template_name(char *out, size_t size, const char *name, size_t n);

#endif
