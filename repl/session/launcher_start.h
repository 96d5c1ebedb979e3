#ifndef PRATTLE_REPL_SESSION_LAUNCHER_START_H
#define PRATTLE_REPL_SESSION_LAUNCHER_START_H
/*
 * What ranks that were launched have said before heartbeats tell of them (parallel/start.h): who is
 * there and takes signals, and who has fallen silent.
 */
#include <stdbool.h>

struct start_rank {
    bool here, met;
    double silent_s;
    char host[64];
};

struct launcher_start {
    struct start_rank *ranks; /* [size]; owned */
    int size, here;           /* how many are */
    bool apart;               /* they have not met in time */
    double looked_s;          /* when, by clock_s; 0: not yet */
};

/* ERR_NOMEM. */
int launcher_start_begin(struct launcher_start *s, int size);
void launcher_start_release(struct launcher_start *s);
/* What a rank said; false: it is no word of a start. */
bool launcher_start_take(struct launcher_start *s, const char *text);
/* Whether all take signals. */
bool launcher_start_is_ready(const struct launcher_start *s);
/* At least every second, by the clock: a rank that others have been heard after for
 * START_SILENT_S; -1: none. */
int launcher_start_silent(struct launcher_start *s, double now_s);

#endif
