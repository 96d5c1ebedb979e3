#ifndef PRATTLE_TRAIN_DATA_BATCHES_H
#define PRATTLE_TRAIN_DATA_BATCHES_H
/*
 * Batches of windows. A window is `length` ids and the ids that follow each; windows
 * begin every `stride` tokens, across the ends of documents (fairseq's break mode none:
 * the last one may be short). The order of an epoch is a permutation keyed by seed and
 * epoch, of which any place can be computed alone, so that the whole state is one number:
 * how many windows have been given out. Another thread prepares the next batch.
 *
 * Of a mixture every source has windows and permutations of its own, a new one each time that all
 * its windows have been given out; draws.h says which source gives the next. A mixture of one
 * source has the windows of that source alone, in the same order.
 */
#include "train/data/dataset.h"
#include "train/data/draws.h"
#include "train/data/label.h"

struct batches;

/*
 * The data set is borrowed until batches_free. ERR_RANGE: it, or one of its sources, has not one
 * whole window, or a bad size. Of a mixture nothing is given out before batches_plan.
 */
int batches_new(struct batches **out, const struct dataset *d, const struct data_config *c,
                int batch, int length);
void batches_free(struct batches *b);

/*
 * How long the run is and what a step has, by which the phases of a mixture lie where they do;
 * nothing for other data. Once more: what has been given out must be as it would have been,
 * ERR_MISMATCH. Other errors as draws_new; what was planned before stays.
 */
int batches_plan(struct batches *b, int64_t n_steps, int per_step);

/* Windows of an epoch: of a mixture, of all sources together. */
uint64_t batches_per_epoch(const struct batches *b);
/* Windows of a source. */
uint64_t batches_of_source(const struct batches *b, int source);
/* As planned; NULL: no mixture. Borrowed until the next plan. */
const struct draws *batches_draws(const struct batches *b);
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
