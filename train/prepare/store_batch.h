#ifndef PRATTLE_TRAIN_PREPARE_STORE_BATCH_H
#define PRATTLE_TRAIN_PREPARE_STORE_BATCH_H
/*
 * Documents of a store that are wanted one after another, in any order: they are read in the order
 * in which they lie, so that one read brings many of them where they are short.
 */
#include "model/base/progress.h"
#include "train/prepare/store.h"

struct store_batch {
    const struct store *store;   /* borrowed */
    uint64_t *wanted;            /* [n of room], documents and their turns; owned */
    struct batch_document *list; /* [n of room], by turn; owned */
    size_t n, room;
    char *bytes; /* those of short documents; owned */
    struct spool_view ends, data;
};
/* For a store that is complete. ERR_NOMEM. */
int store_batch_open(struct store_batch *b, const struct store *s);
void store_batch_close(struct store_batch *b); /* harmless for a zeroed one */
/* Document i is wanted behind those of the batch, which is not full. */
void store_batch_add(struct store_batch *b, uint64_t i);
bool store_batch_is_full(const struct store_batch *b);
/* Find all its documents; stopped by p's user between two of them. ERR_INTERRUPTED, ERR_IO. */
int store_batch_read(struct store_batch *b, const struct progress *p, const char *what,
                     uint64_t done, uint64_t total);
/* Bytes of the k-th document that stand behind its first `done`, until the next call: all of them,
 * or *n of a long one; *n is 0 at its end. */
int store_batch_look(struct store_batch *b, size_t k, uint64_t done, const char **out, size_t *n);

#endif
