#ifndef PRATTLE_TRAIN_PREPARE_KINDS_H
#define PRATTLE_TRAIN_PREPARE_KINDS_H
/*
 * What kind of text a text is, by its name and its first bytes: a column of CSV, WikiExtractor's
 * documents, JSON lines (also without the name of such), else plain text.
 */
#include "train/prepare/csv.h"

struct kinds {
    struct csv csv;
};
/* Let r read all kinds; field: of JSON lines and CSV, borrowed like k. */
void kinds_use(struct kinds *k, struct text_reader *r, const char *field);

#endif
