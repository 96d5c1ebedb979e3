#include "repl/signals.h"

#include "model/base/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t leaving, continued;

static pthread_t host;

/*
 * A library's thread (OpenBLAS has some from its loading on) may be given a signal while the host
 * holds it back; but it is the host that waits for it.
 */
static bool passed_on(int sig)
{
    if (pthread_equal(pthread_self(), host))
        return false;
    pthread_kill(host, sig);
    return true;
}

static void take(int sig)
{
    if (passed_on(sig))
        return;
    if (sig != SIGINT)
        leaving = sig;
    interrupt_raise();
}

static void go_on(int sig)
{
    if (!passed_on(sig))
        continued = 1;
}

void signals_install(void)
{
    host = pthread_self();
    /* No SA_RESTART: a read that waits must see the flag. */
    struct sigaction a = {.sa_handler = take};
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGHUP, &a, NULL);
    /* Nothing that waits need see this one, but ppoll, which does in any case. */
    a = (struct sigaction){.sa_handler = go_on, .sa_flags = SA_RESTART};
    sigaction(SIGCONT, &a, NULL);
    /* A closed pipe is an error of write, met quietly. */
    a.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &a, NULL);
}

int signals_leaving(void)
{
    return leaving;
}

bool signals_continued(void)
{
    bool was = continued != 0;
    continued = 0;
    return was;
}
