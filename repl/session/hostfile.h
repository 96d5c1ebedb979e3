#ifndef PRATTLE_REPL_SESSION_HOSTFILE_H
#define PRATTLE_REPL_SESSION_HOSTFILE_H
/* A hostfile of mpirun's: a host in each line, then what it has of slots. */
#include "repl/session/own_host.h"

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* The next line of a text that names a host, and how long the name is; NULL: none. */
const char *hostfile_next(const char **text, size_t *n);
/* ERR_FORMAT, behind "line N: ": there is none, a name begins as an option does, for which ssh
 * would take it, what is behind it are no words KEY=VALUE of mpirun's or a key is there twice,
 * slots=N is not from 1 to max_slots or is in a later line of a host, which may be named otherwise
 * there, or a line ends in CR LF. */
int hostfile_check(const char *text);
/* Of this host alone, whose names `find` knows. */
int hostfile_check_own(const char *text, enum own_host (*find)(void *arg, const char *host),
                       void *arg);
bool hostfile_has_many(const char *text);
/* The lines of the hosts that are not one of the n names, added to *out. ERR_NOMEM. */
int hostfile_without(struct buf *out, const char *text, const char *const *names, int n);
/* How large a part of the processes is for the hosts of `left`, which are some of those of `all`:
 * by their slots where each line of `all` has a number of them, else by lines. */
double hostfile_share(const char *left, const char *all);

#endif
