#include "repl/signals.h"

#include "model/base/progress.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t leaving, continued;

static void take(int sig)
{
    if (sig != SIGINT)
        leaving = sig;
    interrupt_raise();
}

static void go_on(int sig)
{
    (void)sig;
    continued = 1;
}

void signals_install(void)
{
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
