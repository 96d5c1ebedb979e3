#include "train/parallel/heartbeat_sockets.h"

#include "model/base/err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void heartbeat_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void heartbeat_set_quick(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

static struct sockaddr_in6 map_address(const struct sockaddr *a, in_port_t port)
{
    struct sockaddr_in6 out = {.sin6_family = AF_INET6, .sin6_port = port};
    if (a->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const void *)a;
        out.sin6_addr = six->sin6_addr;
        out.sin6_scope_id = six->sin6_scope_id;
    } else {
        const struct sockaddr_in *four = (const void *)a;
        out.sin6_addr.s6_addr[10] = out.sin6_addr.s6_addr[11] = 0xff;
        memcpy(out.sin6_addr.s6_addr + 12, &four->sin_addr, 4);
    }
    return out;
}

static bool is_mapped(const struct sockaddr_in6 *a)
{
    return IN6_IS_ADDR_V4MAPPED(&a->sin6_addr);
}

/* As the family wants it that it is of. */
static int open_socket(const struct sockaddr_in6 *a, struct sockaddr_storage *out, socklen_t *n)
{
    memset(out, 0, sizeof *out);
    if (is_mapped(a)) {
        struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = a->sin6_port};
        memcpy(&four.sin_addr, a->sin6_addr.s6_addr + 12, 4);
        memcpy(out, &four, *n = sizeof four);
    } else {
        memcpy(out, a, *n = sizeof *a);
    }
    return socket(out->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Where others can reach this host: its own way first, which those of this host take. */
int heartbeat_list_addresses(struct sockaddr_in6 *out, int max, in_port_t port, bool here)
{
    const struct sockaddr_in loop = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct ifaddrs *all;
    int n = 0;
    out[n++] = map_address((const void *)&loop, port);
    if (here || getifaddrs(&all) != 0)
        return n;
    for (const struct ifaddrs *i = all; i != NULL && n < max; i = i->ifa_next) {
        const bool known = i->ifa_addr != NULL && (i->ifa_addr->sa_family == AF_INET ||
                                                   i->ifa_addr->sa_family == AF_INET6);
        if (!known || (i->ifa_flags & IFF_LOOPBACK) || !(i->ifa_flags & IFF_UP))
            continue;
        const struct sockaddr_in6 a = map_address(i->ifa_addr, port);
        if (!IN6_IS_ADDR_LINKLOCAL(&a.sin6_addr)) /* whose scope is this host's number */
            out[n++] = a;
    }
    freeifaddrs(all);
    return n;
}

/* All families at once, where there is IPv6. */
int heartbeat_bind(int *fd, bool here, in_port_t *port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
    struct sockaddr_in four = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(here ? INADDR_LOOPBACK : INADDR_ANY)};
    struct sockaddr_storage got;
    socklen_t n = sizeof got;
    const int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    bool bound = false;
    if (!here && (*fd = socket(AF_INET6, kind, 0)) >= 0) {
        setsockopt(*fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
        if (!(bound = bind(*fd, (void *)&six, sizeof six) == 0))
            heartbeat_close(fd);
    }
    if (!bound && (*fd = socket(AF_INET, kind, 0)) >= 0)
        bound = bind(*fd, (void *)&four, sizeof four) == 0;
    if (!bound || listen(*fd, SOMAXCONN) != 0 || getsockname(*fd, (void *)&got, &n) != 0)
        return err_errno("cannot listen for the other processes");
    *port = got.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&got)->sin6_port
                                      : ((struct sockaddr_in *)&got)->sin_port;
    return 0;
}

int heartbeat_connect(const struct sockaddr_in6 *a)
{
    struct sockaddr_storage to;
    socklen_t n;
    int fd = open_socket(a, &to, &n), failed = 0;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    if (fd < 0)
        return -1;
    if (connect(fd, (void *)&to, n) != 0 &&
        (errno != EINPROGRESS || poll(&p, 1, HEARTBEAT_CONNECT_MS) != 1 ||
         getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &(socklen_t){sizeof failed}) != 0 ||
         failed != 0))
        heartbeat_close(&fd);
    return fd;
}

int heartbeat_connect_datagrams(int tcp)
{
    struct sockaddr_storage to;
    socklen_t n = sizeof to;
    if (getpeername(tcp, (void *)&to, &n) != 0)
        return -1;
    int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && connect(fd, (void *)&to, n) != 0)
        heartbeat_close(&fd);
    return fd;
}

int heartbeat_bind_datagrams(int tcp)
{
    struct sockaddr_storage own;
    socklen_t n = sizeof own;
    if (getsockname(tcp, (void *)&own, &n) != 0)
        return -1;
    int fd = socket(own.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && own.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
    if (fd >= 0 && bind(fd, (void *)&own, n) != 0)
        heartbeat_close(&fd);
    return fd;
}

/* Loads from behind the UDP header, big-endian words; a jump skips so many that it comes to the
 * last line. Where a kernel has no such filters the caller drops what is not its own. */
void heartbeat_filter_datagrams(int fd, const unsigned char *begin, size_t n)
{
    enum { HEADER = 8, WORDS = HEARTBEAT_BEGIN / 4, LENGTH = 2 * WORDS + 4 };
    const uint16_t load = BPF_LD | BPF_W | BPF_ABS, compare = BPF_JMP | BPF_JEQ | BPF_K;
    struct sock_filter code[LENGTH] = {
        {.code = BPF_LD | BPF_W | BPF_LEN},
        {.code = compare, .k = (uint32_t)n + HEADER, .jf = LENGTH - 3},
    };
    for (unsigned i = 0; i < WORDS; i++) {
        struct sock_filter *at = &code[2 + 2 * i];
        uint32_t word;
        memcpy(&word, begin + 4 * i, sizeof word);
        at[0] = (struct sock_filter){.code = load, .k = HEADER + 4 * i};
        at[1] = (struct sock_filter){
            .code = compare, .k = ntohl(word), .jf = (uint8_t)(LENGTH - 5 - 2 * i)};
    }
    code[LENGTH - 2] = (struct sock_filter){.code = BPF_RET | BPF_K, .k = UINT32_MAX};
    code[LENGTH - 1] = (struct sock_filter){.code = BPF_RET | BPF_K};
    const struct sock_fprog program = {.len = LENGTH, .filter = code};
    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}
