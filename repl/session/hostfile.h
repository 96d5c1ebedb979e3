#ifndef PRATTLE_REPL_SESSION_HOSTFILE_H
#define PRATTLE_REPL_SESSION_HOSTFILE_H
/* A hostfile of mpirun's: a host in each line, then what it has of slots. */
#include <stdbool.h>
#include <stddef.h>

struct buf;

/* The next line of a text that names a host, and how long the name is; NULL: none. */
const char *hostfile_next(const char **text, size_t *n);
/* ERR_FORMAT: there is none, a name begins as an option does, for which ssh would take it, what is
 * behind it are no words KEY=VALUE of mpirun's, slots=N is not from 1 on or is in a later line of a
 * host, or a line ends in CR LF. */
int hostfile_check(const char *text);
/* A host may be named with its domain or without. */
bool hostfile_is_same(const char *a, size_t n, const char *b);
bool hostfile_has_many(const char *text);
/* The lines of the hosts that are not one of the n names, added to *out. ERR_NOMEM. */
int hostfile_without(struct buf *out, const char *text, const char *const *names, int n);
/* How large a part of the processes is for the hosts of `left`, which are some of those of `all`:
 * by their slots where each line of `all` has a number of them, else by lines. */
double hostfile_share(const char *left, const char *all);

#endif
