#include "repl/session/processes.h"

#include "repl/terminal/signals.h"
#include "repl/terminal/term.h"
#include "train/parallel/world.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void place_output(void)
{
    const char *text = getenv(PROCESSES_TERMINALS);
    int out = 0, err = 0;
    if (text != NULL && sscanf(text, "%d %d", &out, &err) != 2)
        out = err = 0;
    unsetenv(PROCESSES_TERMINALS);
    term_behind(stdout, out);
    term_behind(stderr, err);
    /* On one terminal both keep their order only by one way. */
    if (world_rank() == 0 && out > 0 && err > 0)
        dup2(STDOUT_FILENO, STDERR_FILENO);
}

int processes_open(void)
{
    int rc = world_open();
    if (world_size() == 1)
        return rc;
    place_output();
    signals_take(SIGUSR1);
    return rc;
}
