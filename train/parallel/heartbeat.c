#include "train/parallel/heartbeat.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/thread.h"
#include "train/parallel/heartbeat_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { STRANGERS = 16, BEAT = '.', BYE = 'b', MISSED = 'm' };
/* What is polled behind the peers. */
enum { POLL_LISTENING = STRANGERS, POLL_WAKE, POLL_DATAGRAMS, N_POLL };

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
    int datagrams;      /* by UDP; -1: none */
    struct peer *peers; /* [size]; of others than rank 0: that of rank 0 */
    struct stranger strangers[STRANGERS];
    int heard;             /* datagrams since the last beat */
    struct pollfd *polled; /* [size + N_POLL]: peers, strangers and others */
    pthread_t thread;
    int wake[2]; /* a byte there ends the thread */
};

/* ---- memory ---- */

static void free_heartbeat(struct heartbeat *h)
{
    if (h == NULL)
        return;
    for (int i = 0; h->peers != NULL && i < h->config.size; i++)
        heartbeat_close(&h->peers[i].fd);
    for (int i = 0; i < STRANGERS; i++)
        heartbeat_close(&h->strangers[i].fd);
    heartbeat_close(&h->listening);
    heartbeat_close(&h->datagrams);
    heartbeat_close(&h->wake[0]);
    heartbeat_close(&h->wake[1]);
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
    h->listening = h->datagrams = h->wake[0] = h->wake[1] = -1;
    for (int i = 0; i < STRANGERS; i++)
        h->strangers[i].fd = -1;
    h->peers = mem_array((size_t)c->size, sizeof *h->peers);
    h->polled = mem_array((size_t)c->size + N_POLL, sizeof *h->polled);
    for (int i = 0; h->peers != NULL && i < c->size; i++)
        h->peers[i].fd = -1;
    if (h->peers != NULL && h->polled != NULL && pipe2(h->wake, O_CLOEXEC | O_NONBLOCK) == 0)
        return h;
    free_heartbeat(h);
    return NULL;
}

/* ---- connections ---- */

/* A byte that finds no room is no loss: others are on their way. */
static void send_byte(const struct peer *p, char byte)
{
    if (p->fd >= 0)
        (void)!send(p->fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- what comes ---- */

static void report_loss(struct heartbeat *h, int rank, enum heartbeat_end how)
{
    struct peer *p = &h->peers[rank];
    int n = 0;
    p->lost = true;
    /* One that is stopped and goes on later learns that it was, before it misses others. */
    if (how == HEARTBEAT_SILENT)
        send_byte(p, MISSED);
    heartbeat_close(&p->fd);
    for (int i = 0; i < h->config.size; i++)
        n += h->peers[i].watched && !h->peers[i].said_bye &&
             h->peers[i].silent * h->config.beat_ms >= h->config.silent_ms / 2 &&
             (h->config.same_host == NULL || h->config.same_host(h->config.user, rank, i));
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
        if (p->watched && memchr(bytes, MISSED, (size_t)n) != NULL)
            h->config.lost(h->config.user, h->config.rank, HEARTBEAT_MISSED, 1);
    } else if (p->said_bye || !p->watched) {
        heartbeat_close(&p->fd);
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
    heartbeat_close(&s->fd);
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
    heartbeat_close(&s->fd);
    heartbeat_set_quick(fd);
    *s = (struct stranger){.fd = fd};
}

/* ---- by UDP ---- */

/* Each sends its hello to rank 0, which answers with its own. TCP keeps what is said for a link
 * that comes back, but tries it at ever longer intervals: after 5 s it may be silent for 7 s more.
 */
static void send_datagram(struct heartbeat *h, const struct sockaddr *to, socklen_t n)
{
    struct hello own = {.rank = (uint32_t)h->config.rank};
    memcpy(own.token, h->token, sizeof own.token);
    (void)!sendto(h->datagrams, &own, sizeof own, MSG_NOSIGNAL | MSG_DONTWAIT, to, n);
}

_Static_assert((int)HEARTBEAT_BEGIN == (int)HEARTBEAT_TOKEN, "a hello begins with the token");

/* Those of this world alone. */
static void take_datagrams(struct heartbeat *h, int fd)
{
    if (fd >= 0)
        heartbeat_filter_datagrams(fd, h->token, sizeof(struct hello));
    h->datagrams = fd;
}

/* Until the next beat not more of them than many ranks that beat many times: a flood would keep
 * this thread from beating itself. */
static bool hears_datagrams(const struct heartbeat *h)
{
    enum { MOST = 1000, MOST_EACH = 16 };
    return h->datagrams >= 0 && h->heard < MOST + MOST_EACH * h->config.size;
}

static void hear_datagrams(struct heartbeat *h)
{
    struct hello hello;
    struct sockaddr_storage from;
    for (socklen_t n = sizeof from; hears_datagrams(h); n = sizeof from, h->heard++) {
        const ssize_t got = recvfrom(h->datagrams, &hello, sizeof hello, MSG_DONTWAIT,
                                     (struct sockaddr *)&from, &n);
        if (got < 0)
            return;
        if (got != (ssize_t)sizeof hello || hello.rank >= (uint32_t)h->config.size ||
            memcmp(hello.token, h->token, sizeof h->token) != 0)
            continue;
        h->peers[hello.rank].silent = 0;
        if (h->listening >= 0)
            send_datagram(h, (struct sockaddr *)&from, n);
    }
}

/* ---- the thread ---- */

static void beat(struct heartbeat *h)
{
    h->heard = 0;
    if (h->datagrams >= 0 && h->listening < 0)
        send_datagram(h, NULL, 0);
    for (int i = 0; i < h->config.size; i++) {
        struct peer *p = &h->peers[i];
        send_byte(p, BEAT);
        if (!p->watched || p->said_bye || p->lost)
            continue;
        if (p->fd < 0) /* since before it was watched */
            report_loss(h, i, HEARTBEAT_ENDED);
        else if (++p->silent * h->config.beat_ms >= h->config.silent_ms)
            report_loss(h, i, HEARTBEAT_SILENT);
    }
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void fill_polled(const struct heartbeat *h, struct pollfd *peers, struct pollfd *others)
{
    for (int i = 0; i < h->config.size; i++)
        peers[i].fd = h->peers[i].fd;
    for (int i = 0; i < STRANGERS; i++)
        others[i].fd = h->strangers[i].fd;
    others[POLL_LISTENING].fd = h->listening;
    others[POLL_WAKE].fd = h->wake[0];
    others[POLL_DATAGRAMS].fd = hears_datagrams(h) ? h->datagrams : -1;
    for (int i = 0; i < h->config.size + N_POLL; i++)
        h->polled[i].events = POLLIN;
}

/* Whoever has something to say until the next beat; false: the thread is to end. */
static bool listen_until(struct heartbeat *h, int64_t until)
{
    const int size = h->config.size;
    for (int64_t left; (left = until - now_ms()) > 0;) {
        struct pollfd *peers = h->polled, *others = peers + size;
        fill_polled(h, peers, others);
        if (poll(peers, (nfds_t)(size + N_POLL), (int)left) <= 0)
            continue;
        if (others[POLL_WAKE].revents != 0)
            return false;
        for (int i = 0; i < size; i++)
            if (peers[i].revents != 0 && h->peers[i].fd == peers[i].fd)
                hear_peer(h, i);
        for (int i = 0; i < STRANGERS; i++)
            if (others[i].revents != 0)
                hear_stranger(h, &h->strangers[i]);
        if (others[POLL_LISTENING].revents != 0)
            take_stranger(h);
        if (others[POLL_DATAGRAMS].revents != 0)
            hear_datagrams(h);
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
    int rc = heartbeat_bind(&h->listening, here, &port);
    if (rc == 0 && getrandom(h->token, sizeof h->token, 0) != (ssize_t)sizeof h->token)
        rc = err_errno("cannot have random bytes");
    if (rc != 0) {
        free_heartbeat(h);
        return rc;
    }
    memcpy(place->token, h->token, sizeof h->token);
    place->n = heartbeat_list_addresses(place->addresses, HEARTBEAT_ADDRESSES, port, here);
    if (!here)
        take_datagrams(h, heartbeat_bind_datagrams(h->listening));
    if ((rc = thread_start(&h->thread, keep_beating, h)) != 0) {
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

/* Whether whoever listens there is rank 0 of this world: it answers the token by a beat. */
static bool is_welcome(int fd, const struct hello *own)
{
    char byte;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    heartbeat_set_quick(fd);
    return send(fd, own, sizeof *own, MSG_NOSIGNAL) == (ssize_t)sizeof *own &&
           poll(&p, 1, HEARTBEAT_CONNECT_MS) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) == 1 &&
           byte == BEAT;
}

static int find_first(int *fd, const struct heartbeat_config *c,
                      const struct heartbeat_place *place)
{
    struct hello own = {.rank = (uint32_t)c->rank};
    memcpy(own.token, place->token, sizeof own.token);
    for (int i = 0; i < place->n; i++) {
        if ((*fd = heartbeat_connect(&place->addresses[i])) >= 0 && is_welcome(*fd, &own))
            return 0;
        heartbeat_close(fd);
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
        heartbeat_close(&fd);
        return ERR_NOMEM;
    }
    memcpy(h->token, place->token, sizeof h->token);
    if (place->n > 1)
        take_datagrams(h, heartbeat_connect_datagrams(fd));
    h->peers[0].fd = fd;
    h->peers[0].watched = true;
    if ((rc = thread_start(&h->thread, keep_beating, h)) != 0)
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
