#ifndef PRATTLE_REPL_SESSION_LAUNCHER_HOSTS_H
#define PRATTLE_REPL_SESSION_LAUNCHER_HOSTS_H
/* The hosts of a hostfile, as this one sees them. */
struct buf;

enum { LAUNCHER_MOST_HOSTS = 64 };

/* One on which no process can be started. */
struct host_fault {
    char name[64], why[200];
};

/*
 * Ask the hosts of a hostfile's text, all at once and by the agent that mpirun uses (ssh), whether
 * they have this program; at most 10 s long, once their names are looked up, which takes 10 s at
 * most too. Not asked: this host, more than LAUNCHER_MOST_HOSTS, names of 64 bytes and more, and
 * those that a scheduler of a cluster has given, which has ways of its own.
 *
 * faults   [LAUNCHER_MOST_HOSTS], *n of them
 * returns  0, ERR_INTERRUPTED, or ERR_FORMAT: as hostfile_check_own, with the names that are looked
 * up
 */
int launcher_hosts_ask(struct host_fault *faults, int *n, const char *text);
/* Networks of this host by which all others are reached without a router, as "10.0.0.0/24,...";
 * empty: not all are. ERR_NOMEM, ERR_INTERRUPTED. */
int launcher_hosts_networks(struct buf *out, const char *text);
/* A network behind those of such a list, unless it is there. ERR_NOMEM. */
int launcher_hosts_add_network(struct buf *out, const char *net);

#endif
