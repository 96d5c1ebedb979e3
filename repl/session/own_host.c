#include "repl/session/own_host.h"

#include "repl/session/hostfile_line.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

bool own_host_is_name(const char *name)
{
    char here[64] = "";
    gethostname(here, sizeof here - 1);
    return strcmp(name, "localhost") == 0 || host_is_same(name, strlen(name), here);
}

enum own_host own_host_of_address(const struct ifaddrs *own, struct in_addr a)
{
    if (ntohl(a.s_addr) == INADDR_LOOPBACK)
        return HOST_OWN;
    for (const struct ifaddrs *i = own; i != NULL; i = i->ifa_next)
        if (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) &&
            ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr.s_addr == a.s_addr)
            return HOST_OWN;
    return ntohl(a.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET ? HOST_HIDDEN : HOST_OTHER;
}

enum own_host own_host_of_text(const struct ifaddrs *own, const char *host)
{
    struct in_addr a;
    if (own_host_is_name(host))
        return HOST_OWN;
    return inet_pton(AF_INET, host, &a) == 1 ? own_host_of_address(own, a) : HOST_OTHER;
}
