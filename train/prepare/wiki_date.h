#ifndef PRATTLE_TRAIN_PREPARE_WIKI_DATE_H
#define PRATTLE_TRAIN_PREPARE_WIKI_DATE_H
/*
 * Dates of Wikipedia's templates: {{birth date|1879|3|14|df=y}} is "14 March 1879".
 */
#include "train/prepare/wiki_call.h"

/* Append the date of arguments first (year), first + 1 (month) and first + 2 (day), as far as there
 * are some; day_first: "14 March 1879" also without df. What is no number is appended as it is. */
int wiki_date(struct buf *out, const struct wiki_call *c, int first, bool day_first);

/* The day of "2008-05-07", with or without a time behind it; false: it is no such text. */
bool wiki_day_parse(struct wiki_day *d, const char *text);
/* The day of arguments first, first + 1 and first + 2, or of argument first alone. */
bool wiki_day_of(struct wiki_day *d, const struct wiki_call *c, int first);
/* Birthdays from one to the other; days since any one. */
int wiki_years(const struct wiki_day *from, const struct wiki_day *to);
long wiki_day_number(const struct wiki_day *d);

#endif
