#ifndef PRATTLE_REPL_SESSION_LOOKUP_H
#define PRATTLE_REPL_SESSION_LOOKUP_H
/*
 * Addresses of hosts by their names, all looked up at once: a name server that does not answer is
 * waited for once, and Ctrl-C ends the wait.
 */
#include <netinet/in.h>
#include <stdbool.h>

enum { LOOKUP_PATIENCE_S = 10 };

struct lookup {
    char name[64];
    bool found; /* its address is known; not: there is none, or no answer in LOOKUP_PATIENCE_S */
    struct in_addr address;
};

/*
 * Look up n names that are not found yet. Nothing goes on in the background afterwards.
 *
 * returns  0, ERR_INTERRUPTED, or ERR_IO: no process can be started for it
 */
int lookup_names(struct lookup *l, int n);

#endif
