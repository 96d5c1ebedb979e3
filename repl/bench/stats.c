#include "repl/bench/stats.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* All code here is in terms of twice a rank, which is whole. */
struct ranked {
    double value;
    int set, rank2;
};

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

int stats_of(struct stats *s, const double *values, int n)
{
    double *sorted = mem_array((size_t)n, sizeof *sorted), sum = 0, squares = 0;
    if (sorted == NULL)
        return ERR_NOMEM;
    memcpy(sorted, values, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
    for (int i = 0; i < n; i++)
        sum += sorted[i];
    *s = (struct stats){.n = n, .mean = sum / n, .low = sorted[0], .high = sorted[n - 1]};
    s->median = n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    for (int i = 0; i < n; i++)
        squares += (sorted[i] - s->mean) * (sorted[i] - s->mean);
    s->deviation = n > 1 ? sqrt(squares / (n - 1)) : 0;
    mem_free(sorted);
    return 0;
}

/* Returns the sum of t^3 - t over groups of t equal values. */
static double rank_values(struct ranked *r, int n)
{
    double ties = 0;
    qsort(r, (size_t)n, sizeof *r, compare_ranked);
    for (int i = 0, end; i < n; i = end) {
        for (end = i; end < n && r[end].value == r[i].value; end++)
            ;
        for (int k = i; k < end; k++)
            r[k].rank2 = i + 1 + end;
        const double t = end - i;
        ties += t * t * t - t;
    }
    return ties;
}

/* ways[k][s]: how many sets of k of the ranks have the sum s. */
static int exact_p(double *p, const struct ranked *r, int n, int n_a, int sum)
{
    const int most = n * (n + 1), columns = most + 1, middle = n_a * (n + 1);
    double *ways = mem_array((size_t)(n_a + 1) * (size_t)columns, sizeof *ways), all = 0, far = 0;
    if (ways == NULL)
        return ERR_NOMEM;
    ways[0] = 1;
    for (int i = 0; i < n; i++)
        for (int k = n_a; k >= 1; k--)
            for (int s = most; s >= r[i].rank2; s--)
                ways[k * columns + s] += ways[(k - 1) * columns + s - r[i].rank2];
    for (int s = 0; s < columns; s++) {
        all += ways[n_a * columns + s];
        if (abs(s - middle) >= abs(sum - middle))
            far += ways[n_a * columns + s];
    }
    *p = far / all;
    mem_free(ways);
    return 0;
}

static double normal_p(double n_a, double n_b, double sum2, double ties)
{
    const double n = n_a + n_b;
    const double variance = n_a * n_b / 12 * (n + 1 - ties / (n * (n - 1)));
    const double away = fabs(sum2 - n_a * (n + 1)) / 2 - 0.5;
    return variance <= 0 || away <= 0 ? 1 : erfc(away / sqrt(2 * variance));
}

int stats_compare(double *p, const double *a, int n_a, const double *b, int n_b)
{
    const int n = n_a + n_b;
    struct ranked *r = mem_array((size_t)n, sizeof *r);
    double sum2 = 0;
    int rc = 0;
    if (r == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < n; i++)
        r[i] = (struct ranked){.value = i < n_a ? a[i] : b[i - n_a], .set = i >= n_a};
    const double ties = rank_values(r, n);
    for (int i = 0; i < n; i++)
        sum2 += r[i].set == 0 ? r[i].rank2 : 0;
    if (n <= STATS_EXACT)
        rc = exact_p(p, r, n, n_a, (int)sum2);
    else
        *p = normal_p(n_a, n_b, sum2, ties);
    mem_free(r);
    return rc;
}

double stats_least_p(int n_a, int n_b)
{
    return fmin(1, 2 * exp(lgamma(n_a + 1) + lgamma(n_b + 1) - lgamma(n_a + n_b + 1)));
}
