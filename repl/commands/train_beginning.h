#ifndef PRATTLE_REPL_COMMANDS_TRAIN_BEGINNING_H
#define PRATTLE_REPL_COMMANDS_TRAIN_BEGINNING_H
/*
 * How a run of :train begins: in this process, together with the other ranks of its world, or by
 * processes that are launched for it.
 */
#include "repl/session/repl.h"
#include "train/config/run_config.h"

struct beginning {
    /* Called by each rank, by rank 0 first: makes r->run, or leaves it to others. */
    int (*begin)(struct repl *r, struct beginning *b);
    struct run_config *config; /* for begin's own use */
    char **words;              /* [n] */
    int n;
    bool names_base; /* --model has become a word init= */
    /* What there is then: a run in r->run, or one that several processes are to be launched for. */
    struct run_config *launched; /* its settings, resolved; owned. NULL: no such run */
    char *resumed;               /* the folder in which that goes on; owned. NULL: as words say */
};

/* For `begin`: the run, of the settings c, resolved, is not for this process but for those that
 * will be launched. ERR_NOMEM. */
int beginning_leave(struct beginning *b, const struct run_config *c, const char *resumed);
/* Begin, and train as train_continue does, here or in processes that are launched. Releases what b
 * owns. */
int beginning_go_on(struct repl *r, struct beginning *b, bool shell);

#endif
