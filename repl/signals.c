#include "repl/signals.h"

#include "model/base/progress.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t leaving;

static void take(int sig)
{
    if (sig != SIGINT)
        leaving = sig;
    interrupt_raise();
}

void signals_install(void)
{
    /* No SA_RESTART: a read that waits must see the flag. */
    struct sigaction a = {.sa_handler = take};
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGHUP, &a, NULL);
    /* A closed pipe is an error of write, met quietly. */
    a.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &a, NULL);
}

int signals_leaving(void)
{
    return leaving;
}
