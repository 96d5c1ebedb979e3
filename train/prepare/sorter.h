#ifndef PRATTLE_TRAIN_PREPARE_SORTER_H
#define PRATTLE_TRAIN_PREPARE_SORTER_H
/*
 * Sorts any number of records in constant memory: blocks of them are sorted and written to a file,
 * one run behind the other, and runs are merged, many at a time (Knuth, TAOCP 3, 5.4). The order
 * does not depend on the memory.
 */
#include "model/base/progress.h"
#include "train/prepare/spool.h"

#include <stdbool.h>

struct sorter {
    int words;             /* uint64_t of a record, which is ordered by its first, then the next */
    uint64_t *block;       /* [room]; owned */
    size_t room, n, next;  /* records: there is room for, there are, were given */
    struct spool files[2]; /* runs are read from one and written to the other */
    int from;              /* the one that has runs */
    struct buf ends;       /* uint64_t each: where a run ends in it, in records */
    struct run_reader *runs; /* [fan_in], of the merge in progress; owned */
    int *heap;               /* [n_heap] of these, the least first; owned */
    size_t fan_in, n_heap;
};
/* Files without a name in folder; memory: bytes, of which all are taken at once. ERR_IO, ERR_NOMEM.
 */
int sorter_open(struct sorter *s, const char *folder, int words, size_t memory);
void sorter_close(struct sorter *s); /* harmless for a zeroed one */
int sorter_add(struct sorter *s, const uint64_t *record);
/* No more are added. ERR_INTERRUPTED, ERR_IO, ERR_NOMEM. */
int sorter_finish(struct sorter *s, const struct progress *p, const char *what);
/* The next record in order; *got false: there are no more. */
int sorter_next(struct sorter *s, uint64_t *record, bool *got);

#endif
