#ifndef PRATTLE_TRAIN_DATA_BATCHES_H
#define PRATTLE_TRAIN_DATA_BATCHES_H
/*
 * Batches of windows. A window is `length` ids and, for each, the id that follows. Windows begin
 * every `stride` tokens and cross the ends of documents, as in fairseq's break mode none; the last
 * one may be short. The order of an epoch is a permutation keyed by seed and epoch whose elements
 * can be computed one by one, so the whole state is one number: how many windows were given out. A
 * thread prepares the next batch in the background.
 *
 * With shift the windows of every epoch but the first begin later, by a number of tokens below the
 * stride that is keyed by seed and epoch as well: so many are left out at the beginning, and a
 * window that would reach beyond the end is moved to end with it. Their number stays.
 *
 * Each source of a mixture has its own windows and permutations, a new permutation each time all
 * its windows have been given out; draws.h decides which source gives the next window. A mixture of
 * one source gives the windows of that source in the order they would have without a mixture.
 */
#include "train/data/dataset.h"
#include "train/data/draws.h"
#include "train/data/label.h"

struct batches;

/*
 * The data set is borrowed until batches_free. ERR_RANGE: a size is out of range, or the data, or
 * one source of it, is shorter than a window. A mixture gives nothing out before batches_plan.
 */
int batches_new(struct batches **out, const struct dataset *d, const struct data_config *c,
                int batch, int length);
void batches_free(struct batches *b);

/*
 * Place the phases of a mixture in a run of n_steps steps of per_step windows; does nothing for
 * other data. May be called again while the plan would have given out the same windows so far,
 * else ERR_MISMATCH. Other errors as draws_new. On failure the plan before stays.
 */
int batches_plan(struct batches *b, int64_t n_steps, int per_step);

/* Windows of an epoch; of a mixture, those of all sources together. */
uint64_t batches_per_epoch(const struct batches *b);
/* Windows of a source. */
uint64_t batches_of_source(const struct batches *b, int source);
/* The draws as planned, borrowed until the next plan; NULL: no mixture. */
const struct draws *batches_draws(const struct batches *b);
/* Windows given out so far, or the number batches_seek set. */
uint64_t batches_given(const struct batches *b);
/* Continue at window n of the run, as if n windows had been given out. */
void batches_seek(struct batches *b, uint64_t n);
/*
 * The next `batch` windows. Where a window is short, ids are 0 and labels LABEL_NONE (-100);
 * so are those of prompts that the loss does not count.
 *
 * ids, labels  [batch,length], borrowed until the next call other than batches_given
 * returns      0, or an error of dataset_read: nothing was given out, and the next call retries
 */
int batches_next(struct batches *b, const token_id **ids, const token_id **labels);

#endif
