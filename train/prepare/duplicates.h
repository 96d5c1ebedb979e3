#ifndef PRATTLE_TRAIN_PREPARE_DUPLICATES_H
#define PRATTLE_TRAIN_PREPARE_DUPLICATES_H
/*
 * Which documents of a store repeat an earlier one.
 */
#include "model/base/progress.h"
#include "train/prepare/store.h"

/* How much two documents have in common, at least, to be alike. */
#define DUPLICATES_LIKENESS 0.8
#define DUPLICATES_MEMORY ((size_t)1 << 25)

/*
 * Set a bit of bits [n documents / 8 + 1], zeroed, for each document that has the words of an
 * earlier one, or with `near` is alike to an earlier one that stays; *count: how many. The marks
 * are sorted in `memory` bytes and in files of the store's folder; what is found does not depend on
 * them. ERR_IO, ERR_NOMEM, ERR_INTERRUPTED.
 */
int duplicates_find(unsigned char *bits, uint64_t *count, const struct store *s, bool near,
                    size_t memory, const struct progress *p);

#endif
