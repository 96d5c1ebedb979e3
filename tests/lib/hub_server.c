#include "tests/lib/hub_server.h"

#include "tests/lib/hub_answer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_FAULTS = 16, MAX_LINES = 4096, LINE = 512, HEAD = 8192 };

struct hub_server {
    char root[1024], log[1024];
    int listeners[2], port, requests, running; /* 127.0.0.1 and 127.0.0.2 */
    bool closing;
    pthread_t thread;
    pthread_mutex_t mutex;
    struct fault faults[MAX_FAULTS];
    int n_faults;
    char (*lines)[LINE]; /* of the log */
    int n_lines;
    char seen[LINE];
};

static void fail(const char *what)
{
    fprintf(stderr, "hub server: %s: %s\n", what, strerror(errno));
    abort();
}

/* ---- requests ---- */

static void read_field(struct request *q, const char *line)
{
    if (strncasecmp(line, "host: ", 6) == 0)
        snprintf(q->host, sizeof q->host, "%s", line + 6);
    else if (strncasecmp(line, "range: bytes=", 13) == 0)
        snprintf(q->range, sizeof q->range, "%s", line + 13);
    else if (strncasecmp(line, "authorization: bearer ", 22) == 0)
        snprintf(q->token, sizeof q->token, "%s", line + 22);
}

static bool read_request(struct request *q)
{
    char head[HEAD], *save, *line;
    size_t n = 0;
    snprintf(q->host, sizeof q->host, "-");
    snprintf(q->range, sizeof q->range, "-");
    snprintf(q->token, sizeof q->token, "-");
    while (n < sizeof head - 1) {
        const ssize_t r = read(q->fd, head + n, sizeof head - 1 - n);
        if (r <= 0)
            return false;
        n += (size_t)r;
        head[n] = '\0';
        if (strstr(head, "\r\n\r\n") != NULL)
            break;
    }
    line = strtok_r(head, "\r\n", &save);
    if (line == NULL || sscanf(line, "%7s %1023s", q->method, q->path) != 2)
        return false;
    while ((line = strtok_r(NULL, "\r\n", &save)) != NULL)
        read_field(q, line);
    return true;
}

static void choose_fault(struct request *q)
{
    struct hub_server *s = q->server;
    for (int i = 0; i < s->n_faults; i++) {
        struct fault *f = &s->faults[i];
        if (f->spent || (strcmp(f->method, "-") != 0 && strcmp(f->method, q->method) != 0) ||
            strstr(q->path, f->part) == NULL)
            continue;
        q->fault = *f;
        f->spent = f->left > 0 && --f->left == 0;
        return;
    }
}

static void note_request(struct request *q)
{
    struct hub_server *s = q->server;
    char line[2048];
    snprintf(line, sizeof line, "%s %s %s %s %s", q->method, q->path, q->host, q->range, q->token);
    pthread_mutex_lock(&s->mutex);
    s->requests++;
    if (s->n_lines < MAX_LINES)
        snprintf(s->lines[s->n_lines++], LINE, "%.*s", LINE - 1, line);
    choose_fault(q);
    FILE *f = s->log[0] == '\0' ? NULL : fopen(s->log, "a");
    if (f != NULL) {
        fprintf(f, "%s\n", line);
        fclose(f);
    }
    pthread_mutex_unlock(&s->mutex);
}

static void *answer_request(void *user)
{
    struct request *q = user;
    struct hub_server *s = q->server;
    if (read_request(q)) {
        note_request(q);
        hub_answer(q);
    }
    shutdown(q->fd, SHUT_WR);
    close(q->fd);
    free(q);
    pthread_mutex_lock(&s->mutex);
    s->running--;
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* ---- the server ---- */

static void *serve(void *user)
{
    struct hub_server *s = user;
    struct pollfd p[2] = {{.fd = s->listeners[0], .events = POLLIN},
                          {.fd = s->listeners[1], .events = POLLIN}};
    for (;;) {
        pthread_t thread;
        if (poll(p, 2, -1) < 0 && errno != EINTR)
            fail("poll");
        if (s->closing)
            return NULL;
        const int fd = accept4(s->listeners[p[0].revents != 0 ? 0 : 1], NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        struct request *q = calloc(1, sizeof *q);
        q->server = s;
        q->root = s->root;
        q->port = s->port;
        q->fd = fd;
        pthread_mutex_lock(&s->mutex);
        s->running++;
        pthread_mutex_unlock(&s->mutex);
        if (pthread_create(&thread, NULL, answer_request, q) != 0)
            fail("thread");
        pthread_detach(thread);
    }
}

static int listen_at(in_addr_t address, int port, int *given)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(address),
                            .sin_port = htons((uint16_t)port)};
    socklen_t n = sizeof a;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(fd, (struct sockaddr *)&a, n) != 0 || listen(fd, 64) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) != 0)
        fail("listen");
    *given = ntohs(a.sin_port);
    return fd;
}

struct hub_server *hub_server_open(const char *root, const char *log)
{
    struct hub_server *s = calloc(1, sizeof *s);
    snprintf(s->root, sizeof s->root, "%s", root);
    snprintf(s->log, sizeof s->log, "%s", log == NULL ? "" : log);
    s->lines = calloc(MAX_LINES, LINE);
    pthread_mutex_init(&s->mutex, NULL);
    s->listeners[0] = listen_at(0x7f000001, 0, &s->port);
    s->listeners[1] = listen_at(0x7f000002, s->port, &s->port);
    if (pthread_create(&s->thread, NULL, serve, s) != 0)
        fail("thread");
    return s;
}

void hub_server_close(struct hub_server *s)
{
    s->closing = true;
    for (int i = 0; i < 2; i++)
        shutdown(s->listeners[i], SHUT_RDWR);
    pthread_join(s->thread, NULL);
    for (int i = 0; i < 2; i++)
        close(s->listeners[i]);
    for (bool any = true; any;) {
        usleep(1000);
        pthread_mutex_lock(&s->mutex);
        any = s->running > 0;
        pthread_mutex_unlock(&s->mutex);
    }
    pthread_mutex_destroy(&s->mutex);
    free(s->lines);
    free(s);
}

int hub_server_port(const struct hub_server *s)
{
    return s->port;
}

void hub_server_fault(struct hub_server *s, const char *rule)
{
    pthread_mutex_lock(&s->mutex);
    if (rule == NULL) {
        s->n_faults = 0;
    } else if (s->n_faults < MAX_FAULTS) {
        struct fault *f = &s->faults[s->n_faults++];
        *f = (struct fault){0};
        if (sscanf(rule, "%7s %127s %d %15s %255[^\n]", f->method, f->part, &f->left, f->name,
                   f->argument) < 4)
            fail(rule);
    }
    pthread_mutex_unlock(&s->mutex);
}

int hub_server_requests(struct hub_server *s)
{
    pthread_mutex_lock(&s->mutex);
    const int n = s->requests;
    s->requests = 0;
    pthread_mutex_unlock(&s->mutex);
    return n;
}

const char *hub_server_seen(struct hub_server *s, const char *part)
{
    s->seen[0] = '\0';
    pthread_mutex_lock(&s->mutex);
    for (int i = 0; i < s->n_lines; i++)
        if (strstr(s->lines[i], part) != NULL)
            memcpy(s->seen, s->lines[i], LINE);
    pthread_mutex_unlock(&s->mutex);
    return s->seen;
}
