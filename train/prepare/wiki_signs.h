#ifndef PRATTLE_TRAIN_PREPARE_WIKI_SIGNS_H
#define PRATTLE_TRAIN_PREPARE_WIKI_SIGNS_H
/* Wikipedia's templates of signs, money and languages; names as of wiki_template_name. */

/* The sign of {{ndash}}; NULL: no such template. */
const char *wiki_sign(const char *name);
/* What stands before the amount of {{US$|5}}; NULL. */
const char *wiki_money(const char *name);
/* The language of {{lang-ru|...}}, "" if its code is not known; NULL. */
const char *wiki_language(const char *name);

#endif
