#include "repl/terminal/signals.h"

#include "model/base/progress.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t leaving, continued, resized;

static pthread_t host;

bool signals_forward(int sig)
{
    if (pthread_equal(pthread_self(), host))
        return false;
    pthread_kill(host, sig);
    return true;
}

static void note_stop_signal(int sig)
{
    if (signals_forward(sig))
        return;
    if (sig == SIGTERM || sig == SIGHUP)
        leaving = sig;
    interrupt_raise();
}

static void note_continue_signal(int sig)
{
    if (!signals_forward(sig))
        continued = 1;
}

static void note_resize_signal(int sig)
{
    if (!signals_forward(sig))
        resized = 1;
}

/* But where whoever started the program has it ignored: nohup, a shell's background job. */
static void handle_signal(int sig, const struct sigaction *a)
{
    struct sigaction was;
    if (sigaction(sig, NULL, &was) != 0 || was.sa_handler != SIG_IGN)
        sigaction(sig, a, NULL);
}

void signals_install(void)
{
    host = pthread_self();
    /* No SA_RESTART: a read that waits must see the flag. */
    struct sigaction a = {.sa_handler = note_stop_signal};
    sigemptyset(&a.sa_mask);
    sigaction(SIGTERM, &a, NULL);
    handle_signal(SIGINT, &a);
    handle_signal(SIGHUP, &a);
    /* Nothing that waits need see this one, but ppoll, which does in any case. */
    a = (struct sigaction){.sa_handler = note_continue_signal, .sa_flags = SA_RESTART};
    sigaction(SIGCONT, &a, NULL);
    a.sa_handler = note_resize_signal;
    sigaction(SIGWINCH, &a, NULL);
    /* A closed pipe is an error of write, met quietly. */
    a.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &a, NULL);
    /* So is a limit on the size of files (ulimit -f). */
    sigaction(SIGXFSZ, &a, NULL);
}

void signals_take(int sig)
{
    struct sigaction a = {.sa_handler = note_stop_signal};
    sigemptyset(&a.sa_mask);
    sigaction(sig, &a, NULL);
}

int signals_leaving(void)
{
    return leaving;
}

bool signals_continued(void)
{
    /* One that comes in between is not lost. */
    if (continued == 0)
        return false;
    continued = 0;
    return true;
}

bool signals_resized(void)
{
    if (resized == 0)
        return false;
    resized = 0;
    return true;
}
