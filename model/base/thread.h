#ifndef PRATTLE_MODEL_BASE_THREAD_H
#define PRATTLE_MODEL_BASE_THREAD_H
/* Threads beside those of par.h, which do one thing for one owner. */
#include <pthread.h>

/* Start a thread that no signal is delivered to: these are for threads that know what to do with
 * them, and a limit on files becomes an error of the call. ERR_NOMEM: there can be no more. */
int thread_start(pthread_t *thread, void *(*act)(void *arg), void *arg);

/* At the beginning: let this thread's stack and those of threads to come be large enough, whatever
 * `ulimit -s` says. ERR_NOMEM: the limit of this one's cannot be raised so far. */
int thread_stacks(void);

#endif
