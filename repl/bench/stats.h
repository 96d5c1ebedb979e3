#ifndef PRATTLE_REPL_BENCH_STATS_H
#define PRATTLE_REPL_BENCH_STATS_H
/*
 * What repeated measurements say.
 *
 * Whether two sets of them differ by more than noise is the Mann-Whitney U test (H. B. Mann and
 * D. R. Whitney, 1947), two-sided, at STATS_LEVEL: all values are ranked together, equal ones by
 * the mean of their ranks, and p is the share of all ways to deal these ranks to two sets of such
 * sizes in which the sum of one set's ranks is at least as far from its mean. It asks nothing of
 * the shape of the distribution. Exact up to STATS_EXACT values in all; beyond, the normal
 * approximation with corrections for ties and continuity.
 */
enum { STATS_EXACT = 60 };
#define STATS_LEVEL 0.05

struct stats {
    int n;
    double mean, deviation; /* the sample's, over n - 1; 0 for one value */
    double median, low, high;
};
/* Of n >= 1 finite values, whose order is kept. ERR_NOMEM. */
int stats_of(struct stats *s, const double *values, int n);

/* p of a [n_a] against b [n_b]. ERR_NOMEM. */
int stats_compare(double *p, const double *a, int n_a, const double *b, int n_b);
/* The least p that sets of these sizes can have: above STATS_LEVEL no difference would show. */
double stats_least_p(int n_a, int n_b);

#endif
