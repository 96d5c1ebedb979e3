#include "train/parallel/heartbeat.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { STRANGERS = 16, CONNECT_MS = 3000, BEAT = '.', BYE = 'b' };

/* What a rank says first. */
struct hello {
    unsigned char token[HEARTBEAT_TOKEN];
    uint32_t rank;
};

struct peer {
    int fd;
    int silent; /* rounds without a byte */
    bool said_bye, lost;
    _Atomic bool watched; /* set by another thread */
};

/* One that has not said yet who it is. */
struct stranger {
    int fd;
    size_t got;
    struct hello hello;
};

struct heartbeat {
    struct heartbeat_config config;
    unsigned char token[HEARTBEAT_TOKEN];
    int listening;      /* -1: not rank 0 */
    struct peer *peers; /* [size]; of others than rank 0: that of rank 0 */
    struct stranger strangers[STRANGERS];
    struct pollfd *polled; /* [size + STRANGERS + 2] */
    pthread_t thread;
    int wake[2]; /* a byte there ends the thread */
};

/* ---- memory ---- */

static void close_socket(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void free_heartbeat(struct heartbeat *h)
{
    if (h == NULL)
        return;
    for (int i = 0; h->peers != NULL && i < h->config.size; i++)
        close_socket(&h->peers[i].fd);
    for (int i = 0; i < STRANGERS; i++)
        close_socket(&h->strangers[i].fd);
    close_socket(&h->listening);
    close_socket(&h->wake[0]);
    close_socket(&h->wake[1]);
    mem_free(h->peers);
    mem_free(h->polled);
    mem_free(h);
}

static struct heartbeat *make_heartbeat(const struct heartbeat_config *c)
{
    struct heartbeat *h = mem_alloc(sizeof *h);
    if (h == NULL)
        return NULL;
    h->config = *c;
    if (h->config.beat_ms == 0)
        h->config.beat_ms = HEARTBEAT_BEAT_MS;
    if (h->config.silent_ms == 0)
        h->config.silent_ms = HEARTBEAT_SILENT_MS;
    h->listening = h->wake[0] = h->wake[1] = -1;
    for (int i = 0; i < STRANGERS; i++)
        h->strangers[i].fd = -1;
    h->peers = mem_array((size_t)c->size, sizeof *h->peers);
    h->polled = mem_array((size_t)c->size + STRANGERS + 2, sizeof *h->polled);
    for (int i = 0; h->peers != NULL && i < c->size; i++)
        h->peers[i].fd = -1;
    if (h->peers != NULL && h->polled != NULL && pipe2(h->wake, O_CLOEXEC | O_NONBLOCK) == 0)
        return h;
    free_heartbeat(h);
    return NULL;
}

/* ---- connections ---- */

static void set_quick(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

/* A byte that finds no room is no loss: others are on their way. */
static void send_byte(const struct peer *p, char byte)
{
    if (p->fd >= 0)
        (void)!send(p->fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
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
static void list_addresses(struct heartbeat_place *p, in_port_t port, bool here)
{
    const struct sockaddr_in loop = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct ifaddrs *all;
    p->addresses[p->n++] = map_address((const void *)&loop, port);
    if (here || getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *i = all; i != NULL && p->n < HEARTBEAT_ADDRESSES; i = i->ifa_next) {
        const bool known = i->ifa_addr != NULL && (i->ifa_addr->sa_family == AF_INET ||
                                                   i->ifa_addr->sa_family == AF_INET6);
        if (!known || (i->ifa_flags & IFF_LOOPBACK) || !(i->ifa_flags & IFF_UP))
            continue;
        const struct sockaddr_in6 a = map_address(i->ifa_addr, port);
        if (!IN6_IS_ADDR_LINKLOCAL(&a.sin6_addr)) /* whose scope is this host's number */
            p->addresses[p->n++] = a;
    }
    freeifaddrs(all);
}

/* All families at once, where there is IPv6. */
static int bind_any(int *fd, bool here, in_port_t *port)
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
            close_socket(fd);
    }
    if (!bound && (*fd = socket(AF_INET, kind, 0)) >= 0)
        bound = bind(*fd, (void *)&four, sizeof four) == 0;
    if (!bound || listen(*fd, SOMAXCONN) != 0 || getsockname(*fd, (void *)&got, &n) != 0)
        return err_errno("cannot listen for the other processes");
    *port = got.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&got)->sin6_port
                                      : ((struct sockaddr_in *)&got)->sin_port;
    return 0;
}

/* ---- what comes ---- */

static void report_loss(struct heartbeat *h, int rank, enum heartbeat_end how)
{
    struct peer *p = &h->peers[rank];
    int n = 0;
    p->lost = true;
    close_socket(&p->fd);
    for (int i = 0; i < h->config.size; i++)
        n += h->peers[i].watched && !h->peers[i].said_bye &&
             h->peers[i].silent * h->config.beat_ms >= h->config.silent_ms / 2;
    h->config.lost(h->config.user, rank, how, n > 1 ? n : 1);
}

static void hear_peer(struct heartbeat *h, int rank)
{
    struct peer *p = &h->peers[rank];
    char bytes[256];
    const ssize_t n = recv(p->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (n > 0) {
        p->silent = 0;
        p->said_bye |= memchr(bytes, BYE, (size_t)n) != NULL;
    } else if (p->said_bye) {
        close_socket(&p->fd);
    } else {
        report_loss(h, rank, HEARTBEAT_ENDED);
    }
}

/* No rank: its connection is closed, and nothing else. */
static void hear_stranger(struct heartbeat *h, struct stranger *s)
{
    const ssize_t n =
        recv(s->fd, (char *)&s->hello + s->got, sizeof s->hello - s->got, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return;
    if (n > 0 && (s->got += (size_t)n) < sizeof s->hello)
        return;
    const uint32_t rank = s->hello.rank;
    if (n > 0 && memcmp(s->hello.token, h->token, sizeof h->token) == 0 && rank > 0 &&
        rank < (uint32_t)h->config.size && h->peers[rank].fd < 0 && !h->peers[rank].lost) {
        h->peers[rank].fd = s->fd;
        h->peers[rank].silent = 0;
        send_byte(&h->peers[rank], BEAT);
        s->fd = -1;
    }
    close_socket(&s->fd);
    s->got = 0;
}

static void take_stranger(struct heartbeat *h)
{
    static unsigned next; /* the oldest makes room */
    const int fd = accept4(h->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct stranger *s = NULL;
    for (int i = 0; i < STRANGERS && s == NULL; i++)
        if (h->strangers[i].fd < 0)
            s = &h->strangers[i];
    if (s == NULL)
        s = &h->strangers[next++ % STRANGERS];
    close_socket(&s->fd);
    set_quick(fd);
    *s = (struct stranger){.fd = fd};
}

/* ---- the thread ---- */

static void beat(struct heartbeat *h)
{
    for (int i = 0; i < h->config.size; i++) {
        struct peer *p = &h->peers[i];
        send_byte(p, BEAT);
        if (p->watched && !p->said_bye && !p->lost &&
            ++p->silent * h->config.beat_ms >= h->config.silent_ms)
            report_loss(h, i, HEARTBEAT_SILENT);
    }
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Whoever has something to say until the next beat; false: the thread is to end. */
static bool listen_until(struct heartbeat *h, int64_t until)
{
    const int size = h->config.size;
    for (int64_t left; (left = until - now_ms()) > 0;) {
        struct pollfd *p = h->polled;
        for (int i = 0; i < size; i++)
            p[i] = (struct pollfd){.fd = h->peers[i].fd, .events = POLLIN};
        for (int i = 0; i < STRANGERS; i++)
            p[size + i] = (struct pollfd){.fd = h->strangers[i].fd, .events = POLLIN};
        p[size + STRANGERS] = (struct pollfd){.fd = h->listening, .events = POLLIN};
        p[size + STRANGERS + 1] = (struct pollfd){.fd = h->wake[0], .events = POLLIN};
        if (poll(p, (nfds_t)(size + STRANGERS + 2), (int)left) <= 0)
            continue;
        if (p[size + STRANGERS + 1].revents != 0)
            return false;
        for (int i = 0; i < size; i++)
            if (p[i].revents != 0 && h->peers[i].fd == p[i].fd)
                hear_peer(h, i);
        for (int i = 0; i < STRANGERS; i++)
            if (p[size + i].revents != 0)
                hear_stranger(h, &h->strangers[i]);
        if (p[size + STRANGERS].revents != 0)
            take_stranger(h);
    }
    return true;
}

static void *keep_beating(void *arg)
{
    struct heartbeat *h = arg;
    do
        beat(h);
    while (listen_until(h, now_ms() + h->config.beat_ms));
    return NULL;
}

static int start_thread(struct heartbeat *h)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&h->thread, NULL, keep_beating, h);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0 ? 0 : err_set(ERR_NOMEM, "cannot start a thread: %s", strerror(failed));
}

/* ---- opening and closing ---- */

int heartbeat_listen(struct heartbeat **out, const struct heartbeat_config *c, bool here,
                     struct heartbeat_place *place)
{
    in_port_t port = 0;
    struct heartbeat *h = make_heartbeat(c);
    *out = NULL;
    *place = (struct heartbeat_place){.n = 0};
    if (h == NULL)
        return ERR_NOMEM;
    int rc = bind_any(&h->listening, here, &port);
    if (rc == 0 && getrandom(h->token, sizeof h->token, 0) != (ssize_t)sizeof h->token)
        rc = err_errno("cannot have random bytes");
    if (rc != 0) {
        free_heartbeat(h);
        return rc;
    }
    memcpy(place->token, h->token, sizeof h->token);
    list_addresses(place, port, here);
    if ((rc = start_thread(h)) != 0) {
        free_heartbeat(h);
        return rc;
    }
    *out = h;
    return 0;
}

void heartbeat_watch(struct heartbeat *h, const bool *joined)
{
    for (int i = 1; i < h->config.size; i++)
        h->peers[i].watched = joined[i];
}

static int connect_to(const struct sockaddr_in6 *a)
{
    struct sockaddr_storage to;
    socklen_t n;
    int fd = open_socket(a, &to, &n), failed = 0;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    if (fd < 0)
        return -1;
    if (connect(fd, (void *)&to, n) != 0 &&
        (errno != EINPROGRESS || poll(&p, 1, CONNECT_MS) != 1 ||
         getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &(socklen_t){sizeof failed}) != 0 ||
         failed != 0))
        close_socket(&fd);
    return fd;
}

/* Whether whoever listens there is rank 0 of this world: it answers the token by a beat. */
static bool is_welcome(int fd, const struct hello *own)
{
    char byte;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    set_quick(fd);
    return send(fd, own, sizeof *own, MSG_NOSIGNAL) == (ssize_t)sizeof *own &&
           poll(&p, 1, CONNECT_MS) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) == 1 && byte == BEAT;
}

static int find_first(int *fd, const struct heartbeat_config *c,
                      const struct heartbeat_place *place)
{
    struct hello own = {.rank = (uint32_t)c->rank};
    memcpy(own.token, place->token, sizeof own.token);
    for (int i = 0; i < place->n; i++) {
        if ((*fd = connect_to(&place->addresses[i])) >= 0 && is_welcome(*fd, &own))
            return 0;
        close_socket(fd);
    }
    return err_set(ERR_IO, "cannot reach process 0 by TCP");
}

int heartbeat_join(struct heartbeat **out, const struct heartbeat_config *c,
                   const struct heartbeat_place *place)
{
    int fd = -1, rc = find_first(&fd, c, place);
    *out = NULL;
    if (rc != 0)
        return rc;
    struct heartbeat *h = make_heartbeat(c);
    if (h == NULL) {
        close_socket(&fd);
        return ERR_NOMEM;
    }
    h->peers[0].fd = fd;
    h->peers[0].watched = true;
    if ((rc = start_thread(h)) != 0)
        free_heartbeat(h);
    else
        *out = h;
    return rc;
}

void heartbeat_stop(struct heartbeat *h)
{
    if (h == NULL)
        return;
    (void)!write(h->wake[1], "", 1);
    pthread_join(h->thread, NULL);
    for (int i = 0; i < h->config.size; i++)
        send_byte(&h->peers[i], BYE);
    free_heartbeat(h);
}
