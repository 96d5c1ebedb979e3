#ifndef PRATTLE_TRAIN_PREPARE_KINDS_H
#define PRATTLE_TRAIN_PREPARE_KINDS_H
/*
 * What kind of text a text is, by its name and its first bytes: a column of CSV, WikiExtractor's
 * documents, the pages of a MediaWiki dump, JSON lines (also without the name of such), else plain
 * text.
 */
#include "train/prepare/csv.h"
#include "train/prepare/wiki_dump.h"

struct kinds {
    struct csv csv;
    struct wiki_dump dump;
};
/* Let r read all kinds; field: of JSON lines and CSV, borrowed like k. */
void kinds_use(struct kinds *k, struct text_reader *r, const char *field);
void kinds_release(struct kinds *k);
/* Whether what r gave last is wiki text. */
bool kinds_is_wiki(const struct kinds *k, const struct text_reader *r);

#endif
