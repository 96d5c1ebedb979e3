#ifndef PRATTLE_TRAIN_PREPARE_CHECK_H
#define PRATTLE_TRAIN_PREPARE_CHECK_H
/*
 * Whether a tokenized data set is whole: its files are those of its lists, every id is one of the
 * vocabulary, and its documents are those of the texts that it was made of.
 */
#include "model/base/progress.h"
#include "model/tokenizer/tokenizer.h"
#include "train/data/pairs.h"
#include "train/prepare/check_files.h"
#include "train/prepare/prepare_config.h"

/*
 * path     a data set, as data_config.data has it
 * texts    NULL for none; else those of which it was made, in its order
 * as       how texts are read: field, separator, special and record_limit
 * t        needed for texts
 * n_vocab  every id is below it; 0: any
 * returns  0: all is well. ERR_MISMATCH: a file of a list is missing or of another length, an
 *          index is not that of its records, a document is not its text. ERR_RANGE: an id is not
 *          of the vocabulary. ERR_FORMAT, ERR_MISSING, ERR_IO, ERR_INTERRUPTED.
 */
int check_run(struct check_report *r, const char *path, const struct data_lines *lines,
              const char *texts, const struct prepare_config *as, const struct tokenizer *t,
              int n_vocab, const struct progress *p);

#endif
