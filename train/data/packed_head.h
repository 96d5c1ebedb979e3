#ifndef PRATTLE_TRAIN_DATA_PACKED_HEAD_H
#define PRATTLE_TRAIN_DATA_PACKED_HEAD_H
/* How a compressed file begins. */
#include <stdbool.h>

/* Whether what it unpacks to, of an archive the first file, may be a pickle of lists of ids
 * (pickle_ids_may_be); true where it cannot be unpacked, which reading it will say. */
bool packed_pickle_may_be(const char *path);

#endif
