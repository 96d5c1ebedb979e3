#ifndef PRATTLE_TRAIN_PREPARE_WIKI_CONVERT_H
#define PRATTLE_TRAIN_PREPARE_WIKI_CONVERT_H
/*
 * Wikipedia's template convert: "5 kilometres (3.1 mi)".
 */
#include "train/prepare/wiki_call.h"

/* Append what the template shows. Of units that are not known, the value and the unit's code. */
int wiki_convert(struct buf *out, const struct wiki_call *c);

#endif
