#ifndef PRATTLE_MODEL_FORWARD_H
#define PRATTLE_MODEL_FORWARD_H
/*
 * The GPT-2 forward pass (Radford et al. 2019): one implementation for prefill, decoding, scoring
 * and training, for one sequence or a batch of different lengths. The bits of a row depend on that
 * row's own text alone, not on the batch, on how a text is divided into passes or on the number of
 * threads.
 */
#include "model/base/mem.h"
#include "model/pass_thread.h"

/* Rows of one pass in inference; longer texts take several passes. */
enum { FORWARD_MAX_ROWS = 512 };

/* Carve activations of `rows` rows into layers [L+1] (NULL while sizing). The layers for which
 * shared [L] is true have one set in common, except for x; shared NULL: none. */
void activations_carve(struct activations *layers, struct arena *a, const struct config *c,
                       int rows, const bool *shared);

/* The same for some layers alone, in a pass that others take part in: layers first to last - 1, x
 * of the one behind them, and with `end` that of "layer" L. *common is what those share; zero
 * before the first call, and for all that share it the same. */
struct activation_range {
    int first, last;
    bool end;
    const bool *elsewhere; /* [L]: of first to last - 1, those whose x has another place, which the
                              caller sets; NULL: none */
};
static inline bool activation_elsewhere(const struct activation_range *range, int layer)
{
    return range->elsewhere != NULL && layer < range->last && range->elsewhere[layer];
}
struct common_activations {
    struct activations set;
    bool taken;
};
void activations_carve_range(struct activations *layers, struct arena *a, const struct config *c,
                             int rows, const bool *shared, struct activation_range range,
                             struct common_activations *common);

/* Allocate scratch for passes of up to max_rows rows by the current thread team. p is borrowed and
 * must outlive f. ERR_NOMEM. */
int forward_init(struct forward *f, const struct params *p, int max_rows);
void forward_release(struct forward *f);

/*
 * One pass over seqs [n_seqs], whose n add up to at most max_rows. f->hidden gets one row for each
 * position that is not skipped, in the order of the sequences; returns how many. Keys and values
 * of the new positions are stored in the sequences' pages. To be called by every thread of the job
 * with the same arguments; ends with a barrier.
 */
int forward_pass(struct forward *f, const struct forward_seq *seqs, int n_seqs, int thread,
                 int n_threads);
/*
 * The same pass in stages (embedding, each layer, ln_f), one call for each stage 0 ..
 * forward_stages - 1 in order, so that training can be interrupted between them. Skips nothing.
 */
int forward_stages(const struct config *c);
void forward_stage(struct forward *f, const struct forward_seq *seqs, int n_seqs, int stage,
                   int thread, int n_threads);
/*
 * Recompute the activations of a layer from its x, except its output, after a pass over the same
 * sequences without skipping. To be called by every thread of the job; ends with a barrier.
 */
void forward_recompute(struct forward *f, const struct forward_seq *seqs, int n_seqs, int layer,
                       int thread, int n_threads);
/*
 * Logits [n,V], ld floats from row to row: row i is of f->hidden[rows[i]], or of f->hidden[i] if
 * rows is NULL. To be called by every thread of the job; ends with a barrier.
 */
void forward_head(struct forward *f, float *logits, size_t ld, const int *rows, int n, int thread,
                  int n_threads);

#endif
