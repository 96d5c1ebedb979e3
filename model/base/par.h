#ifndef PRATTLE_MODEL_BASE_PAR_H
#define PRATTLE_MODEL_BASE_PAR_H
/*
 * The one thread team: a resident OpenMP team, led by a thread of its own, so that the
 * thread that calls par_start is free to draw while the team computes. Where it has a thread for each CPU the process may use, each is pinned to one.
 *
 * A job is one function run by every thread of the team at once. Inside it there is
 * no lock and no system call but what par_barrier does: it spins a while, then
 * yields. Results must not depend on the number of threads: split rows and columns,
 * never sums.
 */
#include <stdbool.h>
#include <stddef.h>

typedef void par_fn(void *arg, int thread, int n_threads);

/* Make the team: n_threads 0 means one for each CPU the process may use. Calling it
 * again makes a new team. ERR_RANGE outside 0..1024. */
int par_open(int n_threads, bool pin);
/* When this returns, the team's threads have gone, with all that libraries keep for a thread: the
 * program may end. Harmless without a team. */
void par_close(void);
/* Whether each thread is kept on a CPU of its own. */
bool par_pinned(void);
/* Threads in the team; a team of default size is made if there is none. */
int par_threads(void);

/* Run the job and wait for its end. From inside a job: not allowed. */
void par_run(par_fn *fn, void *arg);
/* The same in two halves: the caller goes on in between. */
void par_start(par_fn *fn, void *arg);
bool par_done(void);
void par_wait(void);
/* Wait for the end, but no longer than this; whether it has come. */
bool par_wait_s(double seconds);

/* All threads of the running job meet; what each wrote before, all see after. */
void par_barrier(void);

/* Part `thread` of n things cut into n_threads runs as even as can be. */
static inline void par_split(int n, int thread, int n_threads, int *first, int *last)
{
    *first = (int)((long long)n * thread / n_threads);
    *last = (int)((long long)n * (thread + 1) / n_threads);
}
/* The same of elements first .. first + count - 1, all runs but the last in whole units. */
static inline void par_split_units(size_t n, size_t unit, int thread, int n_threads, size_t *first,
                                   size_t *count)
{
    size_t units = (n + unit - 1) / unit;
    size_t from = units * (size_t)thread / (size_t)n_threads * unit;
    size_t to = units * ((size_t)thread + 1) / (size_t)n_threads * unit;
    *first = from < n ? from : n;
    *count = (to < n ? to : n) - *first;
}

#endif
