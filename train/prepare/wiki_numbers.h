#ifndef PRATTLE_TRAIN_PREPARE_WIKI_NUMBERS_H
#define PRATTLE_TRAIN_PREPARE_WIKI_NUMBERS_H
/*
 * Templates of Wikipedia that show numbers they work out or put into words: ages, shares, ordinals,
 * arithmetic.
 */
#include "train/prepare/wiki_call.h"

/* Of a template of this name, in lower case; NULL: it is none of these. */
wiki_show_fn *wiki_numbers_find(const char *name);

#endif
