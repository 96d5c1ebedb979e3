#ifndef PRATTLE_TRAIN_DATA_BATCHES_H
#define PRATTLE_TRAIN_DATA_BATCHES_H
/*
 * Batches of windows. A window is `length` ids and the ids that follow each; windows
 * begin every `stride` tokens, across the ends of documents (fairseq's break mode none:
 * the last one may be short). The order of an epoch is a permutation keyed by seed and
 * epoch, of which any place can be computed alone, so that the whole state is one number:
 * how many windows have been given out. Another thread prepares the next batch.
 */
#include "train/data/dataset.h"
#include "train/data/label.h"

struct batches;

/*
 * The data set is borrowed until batches_free. ERR_RANGE: it has not one whole window, or
 * a bad size.
 */
int batches_new(struct batches **out, const struct dataset *d, const struct data_config *c,
                int batch, int length);
void batches_free(struct batches *b);

/* Windows of an epoch. */
uint64_t batches_per_epoch(const struct batches *b);
/* Given out so far, or as batches_seek set it. */
uint64_t batches_given(const struct batches *b);
/* Go on at window n, counted from the run's beginning: as if n had been given out. */
void batches_seek(struct batches *b, uint64_t n);
/*
 * The next `batch` windows: ids and labels [batch,length], labels LABEL_NONE (-100) where
 * a window is short, its ids then 0. Borrowed until the next call but batches_given. On
 * failure (as dataset_read) nothing has been given out, and the next call tries again.
 */
int batches_next(struct batches *b, const token_id **ids, const token_id **labels);

#endif
