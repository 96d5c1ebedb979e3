#include "model/base/thread.h"

#include "model/base/err.h"

#include <signal.h>
#include <string.h>

int thread_start(pthread_t *thread, void *(*act)(void *arg), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(thread, NULL, act, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0 ? 0 : err_set(ERR_NOMEM, "cannot start a thread: %s", strerror(failed));
}
