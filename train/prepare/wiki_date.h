#ifndef PRATTLE_TRAIN_PREPARE_WIKI_DATE_H
#define PRATTLE_TRAIN_PREPARE_WIKI_DATE_H
/*
 * Dates of Wikipedia's templates: {{birth date|1879|3|14|df=y}} is "14 March 1879".
 */
#include "train/prepare/wiki_call.h"

#include <stdbool.h>

/* Append the date of arguments first (year), first + 1 (month) and first + 2 (day), as far as there
 * are some; day_first: "14 March 1879" also without df. What is no number is appended as it is. */
int wiki_date(struct buf *out, const struct wiki_call *c, int first, bool day_first);

#endif
