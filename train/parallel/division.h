#ifndef PRATTLE_TRAIN_PARALLEL_DIVISION_H
#define PRATTLE_TRAIN_PARALLEL_DIVISION_H
/* Which of a step's gradient blocks each rank has: rank i those from firsts[i] to firsts[i + 1]
 * - 1. Whatever the division, the sums are the same (reduction.h). */
#include <stdbool.h>

/* Runs whose lengths differ by at most one: that of a rank, and all. firsts [size + 1]; n >= size.
 */
void division_share(int n, int size, int rank, int *first, int *last);
void division_even(int *firsts, int n, int size);
/*
 * Anew, by the seconds that each rank took for its blocks: the slowest is done as early as can be,
 * and each has one block at least. False: that would save less than a tenth, and nothing has
 * changed.
 */
bool division_balance(int *firsts, int n, int size, const double *seconds);

#endif
