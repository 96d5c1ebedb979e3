#ifndef PRATTLE_TRAIN_DATA_DRAWS_H
#define PRATTLE_TRAIN_DATA_DRAWS_H
/*
 * Which source of a mixture each window of a run comes from.
 *
 * The steps between two moments at which any source begins or ends are a phase. Of the first n
 * windows of a phase every source has its share of n to within less than one window, whatever
 * n; of any stretch within a phase to within less than two. The order is that of the chairman
 * assignment problem (Tijdeman, Discrete Mathematics 32, 1980): of the sources whose share is ahead
 * of what they have had by at least 1 / (2 S - 2), the one whose share would first be ahead by
 * 1 - 1 / (2 S - 2). It is the same in every run of the same weights and phases: there is nothing
 * random in it, and it begins anew, as often as the weights have added up to whole numbers, so that
 * any place of it is found without going through all before.
 *
 * Weights are held as whole numbers that add up to at most 2^28: decimal fractions exactly where
 * they fit, others to within 2^-28 of all.
 */
#include "train/data/mixture.h"

struct draws;

/*
 * n_windows  [n_sources] of each source, its weight where none is given
 * n_steps    of the run; 0: not known
 * per_step   windows of a step
 * returns    0, ERR_RANGE: steps in which no source has a weight above 0, named as they are
 *            counted from 1, or a part of a run whose length is not known; ERR_NOMEM
 */
int draws_new(struct draws **out, const struct mixture *m, const uint64_t *n_windows,
              int64_t n_steps, uint64_t per_step);
void draws_free(struct draws *d);
/* The first n windows have the same sources by both. */
bool draws_agree(const struct draws *a, const struct draws *b, uint64_t n);

/* Phases, the first at step 0; the last has no end. */
int draws_phases(const struct draws *d);
/* Its first step, and the first behind it (INT64_MAX: none). */
int64_t draws_phase_begin(const struct draws *d, int phase);
int64_t draws_phase_end(const struct draws *d, int phase);
/* 0 to 1. */
double draws_share(const struct draws *d, int phase, int source);

/* A window of the run, and what came before it. Starts zeroed, at window 0. */
struct draw_cursor {
    uint64_t window;
    int phase;
    uint64_t rounds;              /* of the phase's order, whole ones */
    uint64_t n;                   /* windows of the round in progress */
    uint64_t counts[MIXTURE_MAX]; /* of these, by source */
};
/* To a window, from where it is; backwards and into another phase from that phase's beginning. */
void draw_cursor_move(const struct draws *d, struct draw_cursor *c, uint64_t window);
/* The source of the window at the cursor, and how many of that source's came before it; the
 * cursor goes one further. */
int draw_cursor_next(const struct draws *d, struct draw_cursor *c, uint64_t *before);
/* Windows drawn from a source before the cursor. */
uint64_t draw_cursor_count(const struct draws *d, const struct draw_cursor *c, int source);

#endif
