#include "train/parallel/division.h"

#include "model/base/mem.h"
#include "model/base/par.h"

/* By as much the slowest is to be done earlier, or blocks would move at every measurement. */
static const double WORTH = 0.9;

void division_share(int n, int size, int rank, int *first, int *last)
{
    par_split(n, rank, size, first, last);
}

void division_even(int *firsts, int n, int size)
{
    int last;
    for (int i = 0; i < size; i++)
        division_share(n, size, i, &firsts[i], &last);
    firsts[size] = n;
}

/* One block after another goes to the rank that is done first with it. */
static void share_out(int *counts, int n, int size, const double *each)
{
    for (int i = 0; i < size; i++)
        counts[i] = 1;
    for (int block = size; block < n; block++) {
        int best = 0;
        for (int i = 1; i < size; i++)
            if ((counts[i] + 1) * each[i] < (counts[best] + 1) * each[best])
                best = i;
        counts[best]++;
    }
}

static double slowest(const int *counts, int size, const double *each)
{
    double most = 0;
    for (int i = 0; i < size; i++)
        most = counts[i] * each[i] > most ? counts[i] * each[i] : most;
    return most;
}

bool division_balance(int *firsts, int n, int size, const double *seconds)
{
    enum { MOST_WORK = 1 << 24 };
    int *counts = mem_array((size_t)size, sizeof *counts);
    double *each = mem_array((size_t)size, sizeof *each), before = 0;
    bool worth = counts != NULL && each != NULL && n <= MOST_WORK / size;
    for (int i = 0; i < size && worth; i++) {
        each[i] = seconds[i] / (firsts[i + 1] - firsts[i]);
        before = seconds[i] > before ? seconds[i] : before;
        worth = seconds[i] > 0;
    }
    if (worth) {
        share_out(counts, n, size, each);
        worth = slowest(counts, size, each) < WORTH * before;
    }
    for (int i = 0; i < size && worth; i++)
        firsts[i + 1] = firsts[i] + counts[i];
    mem_free(counts);
    mem_free(each);
    return worth;
}
