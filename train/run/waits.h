#ifndef PRATTLE_TRAIN_RUN_WAITS_H
#define PRATTLE_TRAIN_RUN_WAITS_H
/* How long the ranks of a run are at work in its steps: those that are done wait for the slowest.
 */
/* Fewer tell nothing where there are more ranks than processors: in each another is the slowest. */
enum { WAITS_STEPS = 8 };

struct waits {
    int size;
    double *line;   /* [size] seconds at work since the last line */
    int line_steps; /* since then */
    int *in_a_row;  /* [size] the last steps in all of which this rank has waited for long */
    double *since;  /* [size] seconds at work since waits_begin */
    int steps;      /* since then */
};

/* ERR_NOMEM; release it in any case. */
int waits_init(struct waits *w, int size);
void waits_release(struct waits *w);
/* A step: seconds [size]. */
void waits_add(struct waits *w, const double *seconds);
/* The rank that has waited most since the last line, and for which share of the time; begins anew.
 * 0 where that is below a tenth, and after fewer than WAITS_STEPS steps also where it was in any of
 * the last WAITS_STEPS. */
double waits_take_line(struct waits *w, int *rank);
/* Measure anew. */
void waits_begin(struct waits *w);

#endif
