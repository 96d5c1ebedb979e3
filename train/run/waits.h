#ifndef PRATTLE_TRAIN_RUN_WAITS_H
#define PRATTLE_TRAIN_RUN_WAITS_H
/* How long the ranks of a run are at work in its steps: those that are done wait for the slowest.
 */
#include <stdbool.h>

struct waits {
    int size;
    double *line;  /* [size] seconds at work since the last line */
    double *since; /* [size] the same since waits_begin */
    int steps;     /* since then */
};

/* ERR_NOMEM; release it in any case. */
int waits_init(struct waits *w, int size);
void waits_release(struct waits *w);
/* A step: seconds [size]. */
void waits_add(struct waits *w, const double *seconds);
/* The rank that has waited most since the last line, and for which share of the time; begins anew.
 * 0 where that is below a tenth. */
double waits_take_line(struct waits *w, int *rank);
/* Measure anew. */
void waits_begin(struct waits *w);

#endif
