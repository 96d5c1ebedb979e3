#ifndef PRATTLE_TRAIN_PREPARE_DEAL_H
#define PRATTLE_TRAIN_PREPARE_DEAL_H
/*
 * The documents of a store to the outputs: in their order or shuffled, without the duplicates, each
 * to one part of the split.
 */
#include "model/base/progress.h"
#include "train/prepare/output.h"
#include "train/prepare/prepare_config.h"
#include "train/prepare/store.h"

struct deal {
    const struct store *store;
    bool text; /* the store has text, not ids */
    int id_bytes;
    bool shuffle;
    enum prepare_duplicates
        duplicates; /* of documents that are the same, or alike, the first stays */
    uint64_t seed;
    double shares[PREPARE_PARTS];
    struct output *outputs[PREPARE_PARTS]; /* [n_parts], open */
    int n_parts;
    const struct progress *progress;
};
/* *duplicates: documents left out. ERR_IO, ERR_NOMEM, ERR_RANGE, ERR_INTERRUPTED. */
int deal_run(const struct deal *d, uint64_t *duplicates);

#endif
