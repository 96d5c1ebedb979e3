#ifndef PRATTLE_TRAIN_PREPARE_CHECK_INDEX_H
#define PRATTLE_TRAIN_PREPARE_CHECK_INDEX_H
/* The index beside a TFRecord file: a line "offset length" a record. */
#include "model/base/progress.h"

#include <stdint.h>

/*
 * Compare the index of the TFRecord file `path` with its records; *n: how many there are, 0 where
 * there is no index. ERR_MISMATCH names the first entry that is wrong; ERR_FORMAT: the file's
 * records are damaged; ERR_IO, ERR_INTERRUPTED.
 */
int check_index(uint64_t *n, const char *path, const struct progress *p);

#endif
