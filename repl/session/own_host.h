#ifndef PRATTLE_REPL_SESSION_OWN_HOST_H
#define PRATTLE_REPL_SESSION_OWN_HOST_H
/* Whether a host is this one, and whether mpirun sees that it is. */
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdbool.h>

enum own_host {
    HOST_OTHER,
    HOST_OWN,
    HOST_HIDDEN /* another address of the loopback network, for which mpirun would ask ssh */
};

/* localhost, or this host's name with its domain or without. */
bool own_host_is_name(const char *name);
/* own: this host's addresses; NULL: none but the loopback's. */
enum own_host own_host_of_address(const struct ifaddrs *own, struct in_addr a);
/* Of a name or an address as text; names of which only a server knows are of others. */
enum own_host own_host_of_text(const struct ifaddrs *own, const char *host);

#endif
