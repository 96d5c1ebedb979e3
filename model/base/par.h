#ifndef PRATTLE_MODEL_BASE_PAR_H
#define PRATTLE_MODEL_BASE_PAR_H
/*
 * The process's one thread team: a resident OpenMP team with a leader thread of its own, so that
 * the caller of par_start can do other work while the team computes. A team with as many threads
 * as the process may use CPUs pins each thread to one CPU.
 *
 * A job is one function that every thread of the team runs at the same time. Jobs take no locks.
 * They wait in par_barrier, where a thread helps others with their work (par_items), spins briefly
 * and then sleeps, and in par_items for those who help; only these two make system calls. The
 * results of a job must not depend on the number of threads: split rows and columns between
 * threads, never sums.
 */
#include <stdbool.h>
#include <stddef.h>

enum { PAR_MAX_THREADS = 1024 };

typedef void par_fn(void *arg, int thread, int n_threads);

/* Start the team, or replace it by a new one. n_threads 0 means one thread for each CPU that the
 * process may use; ERR_RANGE outside 0..PAR_MAX_THREADS. */
int par_open(int n_threads, bool pin);
/* End the team and join its threads, so that the memory libraries hold for each thread is freed
 * before the program exits. Does nothing without a team. */
void par_close(void);
/* Whether each thread is pinned to a CPU. */
bool par_pinned(void);
/* The number of threads; starts a team of the default size if there is none. */
int par_threads(void);

/* Run a job and wait for its end. Not to be called from inside a job. */
void par_run(par_fn *fn, void *arg);
/* par_run in two halves: start the job; par_done polls for its end, par_wait blocks until then. */
void par_start(par_fn *fn, void *arg);
bool par_done(void);
void par_wait(void);
/* As par_wait, for at most so many seconds. Returns par_done. */
bool par_wait_s(double seconds);

/* Wait until every thread of the job has arrived; what any of them wrote before the barrier is
 * visible to all of them after it. */
void par_barrier(void);

/*
 * Within a job: work of this thread alone, in n items. It begins them in order; where every
 * thread has a CPU, others that wait at a barrier meanwhile take some over, with the same arg.
 * Returns when all are done. fn offers no items, meets no barrier, and works in no memory that
 * belongs to the thread which runs it.
 */
typedef void par_item_fn(void *arg, int item);
void par_items(par_item_fn *fn, void *arg, int n);

/* This thread's share of n items: first .. last - 1. Shares are contiguous and differ in size by at
 * most one item. */
static inline void par_split(int n, int thread, int n_threads, int *first, int *last)
{
    *first = (int)((long long)n * thread / n_threads);
    *last = (int)((long long)n * (thread + 1) / n_threads);
}
/* The same for elements first .. first + count - 1, where shares begin at multiples of unit. */
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
