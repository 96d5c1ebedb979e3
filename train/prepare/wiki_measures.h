#ifndef PRATTLE_TRAIN_PREPARE_WIKI_MEASURES_H
#define PRATTLE_TRAIN_PREPARE_WIKI_MEASURES_H
/*
 * Templates of Wikipedia that show measures: with units, errors and powers, fractions, places.
 */
#include "train/prepare/wiki_call.h"

/* Of a template of this name, in lower case; NULL: it is none of these. */
wiki_show_fn *wiki_measures_find(const char *name);

#endif
