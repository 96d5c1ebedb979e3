#ifndef PRATTLE_TRAIN_DATA_DRAWS_H
#define PRATTLE_TRAIN_DATA_DRAWS_H
/*
 * Which source of a mixture each window of a run comes from.
 *
 * The steps between two consecutive begins or ends of sources are a phase. Among the first n
 * windows of a phase each source has its share of n to within less than one window, for every n;
 * among any consecutive windows of a phase, to within less than two. The order solves the chairman
 * assignment problem (Tijdeman, Discrete Mathematics 32, 1980): with S sources, of those whose
 * share exceeds what they have had by at least 1 / (2 S - 2), the next is the one whose share would
 * first exceed it by 1 - 1 / (2 S - 2). Nothing is random: runs with the same weights and phases
 * have the same order. It repeats in rounds of as many windows as the weights add up to as whole
 * numbers, so any position is found without walking through all before it.
 *
 * Weights are stored as whole numbers that add up to at most 2^28: decimal fractions exactly if
 * they fit, others to within 2^-28 of the total.
 */
#include "train/data/mixture.h"

struct draws;

/*
 * n_windows  [n_sources], the weights where none are given
 * n_steps    of the run; 0: not known
 * per_step   windows of a step
 * returns    0; ERR_RANGE: in some steps, named as counted from 1, no source has a weight above 0,
 *            a source is given a fraction of a run whose length is not known, or ends before it
 *            begins; ERR_NOMEM
 */
int draws_new(struct draws **out, const struct mixture *m, const uint64_t *n_windows,
              int64_t n_steps, uint64_t per_step);
void draws_free(struct draws *d);
/* Whether both give the first n windows the same sources. */
bool draws_agree(const struct draws *a, const struct draws *b, uint64_t n);

/* The number of phases; the first begins at step 0, the last has no end. */
int draws_phases(const struct draws *d);
/* The first step of a phase, and the first step after it (INT64_MAX: none). */
int64_t draws_phase_begin(const struct draws *d, int phase);
int64_t draws_phase_end(const struct draws *d, int phase);
/* The share of a source in a phase, 0 to 1. */
double draws_share(const struct draws *d, int phase, int source);

/* A position in the run. Zeroed, it is at window 0. */
struct draw_cursor {
    uint64_t window;
    int phase;
    uint64_t rounds;              /* completed in this phase */
    uint64_t n;                   /* windows so far in the current round */
    uint64_t counts[MIXTURE_MAX]; /* of these, by source */
};
/* Move to a window: forwards within a phase from where the cursor is, else from the beginning of
 * the window's phase. */
void draw_cursor_move(const struct draws *d, struct draw_cursor *c, uint64_t window);
/* The source of the window at the cursor, and in *before how many windows of that source came
 * before it. Advances the cursor by one window. */
int draw_cursor_next(const struct draws *d, struct draw_cursor *c, uint64_t *before);
/* Windows drawn from a source before the cursor. */
uint64_t draw_cursor_count(const struct draws *d, const struct draw_cursor *c, int source);

#endif
