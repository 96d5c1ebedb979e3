#include "model/base/thread.h"

#include "model/base/err.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>

int thread_start(pthread_t *thread, void *(*act)(void *arg), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(thread, NULL, act, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0 ? 0 : err_set(ERR_NOMEM, "cannot start a thread: %s", strerror(failed));
}

int thread_stacks(void)
{
    enum { LEAST = 1 << 20, USUAL = 8 << 20 };
    struct rlimit limit;
    pthread_attr_t attr;
    size_t bytes;
    if (pthread_getattr_default_np(&attr) == 0) {
        if (pthread_attr_getstacksize(&attr, &bytes) == 0 && bytes < LEAST &&
            pthread_attr_setstacksize(&attr, USUAL) == 0)
            pthread_setattr_default_np(&attr);
        pthread_attr_destroy(&attr);
    }
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= LEAST)
        return 0;
    limit.rlim_cur = limit.rlim_max < USUAL ? limit.rlim_max : USUAL;
    if (limit.rlim_cur >= LEAST && setrlimit(RLIMIT_STACK, &limit) == 0)
        return 0;
    return err_set(ERR_NOMEM,
                   "the stack may have %llu KB (`ulimit -s`), and the program needs %d KB",
                   (unsigned long long)limit.rlim_max >> 10, LEAST >> 10);
}
