#include "tests/lib/hub_server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FAULTS = 16, MAX_LINES = 4096, LINE = 512, HEAD = 8192 };

struct fault {
    char method[8], part[128], name[16], argument[256];
    int left; /* 0: always */
    bool spent;
};

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

struct request {
    struct hub_server *server;
    int fd;
    char method[8], path[1024], host[128], range[64], token[128];
    struct fault fault; /* name "": none */
};

/* The body to send, and what its head says. */
struct body {
    unsigned char *bytes;
    size_t n;
    char etag[65];
    bool large;
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

/* ---- answers ---- */

static bool is_fault(const struct request *q, const char *name)
{
    return strcmp(q->fault.name, name) == 0;
}

static size_t fault_number(const struct request *q)
{
    return (size_t)strtoull(q->fault.argument, NULL, 10);
}

static bool send_bytes(int fd, const void *bytes, size_t n)
{
    for (size_t done = 0; done < n;) {
        const ssize_t w = send(fd, (const char *)bytes + done, n - done, MSG_NOSIGNAL);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return false;
        done += (size_t)w;
    }
    return true;
}

static void send_head(const struct request *q, const char *fmt, ...)
{
    char text[HEAD];
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    send_bytes(q->fd, text, (size_t)n);
}

static void send_status(const struct request *q, int status, const char *more)
{
    send_head(q, "HTTP/1.1 %d Test\r\nContent-Length: 4\r\nConnection: close\r\n%s\r\n%s", status,
              more, strcmp(q->method, "HEAD") == 0 ? "" : "none");
}

static void hash_body(struct body *b)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    char head[32];
    unsigned n;
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    EVP_DigestInit_ex(c, b->large ? EVP_sha256() : EVP_sha1(), NULL);
    if (!b->large)
        EVP_DigestUpdate(c, head, (size_t)snprintf(head, sizeof head, "blob %zu", b->n) + 1);
    EVP_DigestUpdate(c, b->bytes, b->n);
    EVP_DigestFinal_ex(c, digest, &n);
    EVP_MD_CTX_free(c);
    for (unsigned i = 0; i < n; i++)
        snprintf(b->etag + 2 * i, 3, "%02x", digest[i]);
}

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

static bool read_body(struct body *b, const struct request *q, const char *file)
{
    char path[4096];
    struct stat st;
    *b = (struct body){.large = ends_in(file, ".safetensors") || ends_in(file, ".bin") ||
                                ends_in(file, ".gguf")};
    snprintf(path, sizeof path, "%s/%s", q->server->root, file);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    b->bytes = malloc((size_t)st.st_size + 1);
    for (ssize_t r = 1; r > 0 && b->n<(size_t)st.st_size; b->n += r> 0 ? (size_t)r : 0)
        r = read(fd, b->bytes + b->n, (size_t)st.st_size - b->n);
    close(fd);
    if (is_fault(q, "other"))
        b->bytes[b->n / 2] ^= 1;
    hash_body(b);
    if (is_fault(q, "swap"))
        b->bytes[b->n / 2] ^= 1;
    if (is_fault(q, "hash"))
        snprintf(b->etag, sizeof b->etag, "%.64s", q->fault.argument);
    return true;
}

/* "X-Repo-Commit: ...", and of a large file what it is linked to. */
static void hub_fields(char *out, size_t n, const struct request *q, const struct body *b)
{
    const size_t size = is_fault(q, "size") ? fault_number(q) : b->n;
    int used = is_fault(q, "nocommit")
                   ? 0
                   : snprintf(out, n, "X-Repo-Commit: %s\r\n",
                              is_fault(q, "commit") ? q->fault.argument : HUB_COMMIT);
    out[used] = '\0';
    if (b->large)
        snprintf(out + used, n - (size_t)used,
                 "X-Linked-Etag: \"%s\"\r\nX-Linked-Size: %zu\r\nETag: \"linked\"\r\n", b->etag,
                 size);
    else
        snprintf(out + used, n - (size_t)used, "ETag: \"%s\"\r\n", b->etag);
}

static void wait_for_close(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char byte;
    for (int i = 0; i < 600; i++)
        if (poll(&p, 1, 100) > 0 && read(fd, &byte, 1) <= 0)
            return;
}

static void send_part(const struct request *q, const struct body *b, size_t from)
{
    size_t n = b->n - from;
    if (is_fault(q, "drop") || is_fault(q, "stall"))
        n = fault_number(q) < n ? fault_number(q) : n;
    const size_t step = is_fault(q, "slow") ? fault_number(q) : n;
    for (size_t at = 0; at < n; at += step) {
        if (!send_bytes(q->fd, b->bytes + from + at, n - at < step ? n - at : step))
            return;
        if (step < n)
            usleep(10000);
    }
    if (is_fault(q, "stall"))
        wait_for_close(q->fd);
}

static void send_body(const struct request *q, const struct body *b)
{
    char fields[512];
    size_t from = 0;
    const bool ranged = q->range[0] != '-' && !is_fault(q, "norange");
    hub_fields(fields, sizeof fields, q, b);
    if (ranged)
        from = (size_t)strtoull(q->range, NULL, 10) + (is_fault(q, "skew") ? fault_number(q) : 0);
    if (ranged && from >= b->n) {
        char range[64];
        snprintf(range, sizeof range, "Content-Range: bytes */%zu\r\n", b->n);
        send_status(q, 416, range);
        return;
    }
    const size_t length = is_fault(q, "length") ? fault_number(q) : b->n - from;
    send_head(q, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s%s",
              ranged ? "206 Partial Content" : "200 OK", length, fields,
              is_fault(q, "encoded") ? "Content-Encoding: gzip\r\n" : "");
    if (ranged)
        send_head(q, "Content-Range: bytes %zu-%zu/%zu\r\n", from, b->n - 1, b->n);
    send_head(q, "\r\n");
    if (strcmp(q->method, "HEAD") != 0)
        send_part(q, b, from);
}

/* A large file is elsewhere, on a host whose name is another. */
static void send_link(const struct request *q, const struct body *b, const char *file)
{
    char fields[512];
    hub_fields(fields, sizeof fields, q, b);
    send_head(q,
              "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close\r\n%s"
              "Location: http://127.0.0.2:%d/cdn/%s\r\n\r\n",
              fields, q->server->port, file);
}

/* "ORG/NAME/resolve/REVISION/FILE" */
static void answer_resolve(const struct request *q, char *path)
{
    char file[2048], more[2048];
    struct body b;
    char *resolve = strstr(path, "/resolve/"), *revision = resolve + 9;
    char *name = strchr(revision, '/');
    *resolve = '\0';
    if (name == NULL) {
        send_status(q, 404, "");
        return;
    }
    *name++ = '\0';
    if (strchr(path, '/') == NULL) {
        snprintf(more, sizeof more, "Location: /openai-community/%s/resolve/%s/%s\r\n", path,
                 revision, name);
        send_status(q, 307, more);
        return;
    }
    if (strcmp(revision, "main") != 0 && strcmp(revision, "old") != 0 &&
        strcmp(revision, HUB_COMMIT) != 0) {
        send_status(q, 404, "X-Error-Code: RevisionNotFound\r\n");
        return;
    }
    snprintf(file, sizeof file, "%s/%s", q->server->root, path);
    if (access(file, F_OK) != 0) {
        send_status(q, 401, "X-Error-Code: RepoNotFound\r\n");
        return;
    }
    snprintf(file, sizeof file, "%s/%s", path, name);
    if (!read_body(&b, q, file)) {
        send_status(q, 404, "X-Error-Code: EntryNotFound\r\nX-Repo-Commit: " HUB_COMMIT "\r\n");
        return;
    }
    if (b.large)
        send_link(q, &b, file);
    else
        send_body(q, &b);
    free(b.bytes);
}

/* "ORG/NAME/revision/REVISION": the files of the repository. */
static void answer_list(const struct request *q, char *path)
{
    char folder[2048], list[8192];
    char *revision = strstr(path, "/revision/");
    if (revision != NULL)
        *revision = '\0';
    snprintf(folder, sizeof folder, "%s/%s", q->server->root, path);
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        send_status(q, 401, "X-Error-Code: RepoNotFound\r\n");
        return;
    }
    int n = snprintf(list, sizeof list, "{\"sha\": \"" HUB_COMMIT "\", \"siblings\": [");
    for (struct dirent *e; (e = readdir(dir)) != NULL && n < 8000;)
        if (e->d_name[0] != '.')
            n += snprintf(list + n, sizeof list - (size_t)n, "{\"rfilename\": \"%.200s\"}, ",
                          e->d_name);
    closedir(dir);
    snprintf(list + n, sizeof list - (size_t)n, "{}]}");
    send_head(q, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
              strlen(list));
    send_bytes(q->fd, list, strlen(list));
}

static bool answer_fault(const struct request *q)
{
    char more[512] = "";
    const char *second = strpbrk(q->fault.argument, " :");
    if (is_fault(q, "detour")) {
        snprintf(more, sizeof more,
                 "Location: %.300s?detour\r\nX-Repo-Commit: " HUB_COMMIT "\r\nETag: \"detour\"\r\n",
                 q->path);
        send_status(q, 307, more);
    } else if (is_fault(q, "redirect")) {
        snprintf(more, sizeof more, "Location: %s\r\n", q->fault.argument);
        send_status(q, 302, more);
    } else if (is_fault(q, "status") || is_fault(q, "error")) {
        if (second != NULL)
            snprintf(more, sizeof more, "%s: %s\r\n",
                     is_fault(q, "error") ? "X-Error-Code" : "Retry-After", second + 1);
        send_status(q, (int)fault_number(q), more);
    } else {
        return false;
    }
    return true;
}

static void *answer_request(void *user)
{
    struct request *q = user;
    struct hub_server *s = q->server;
    char path[1024];
    struct body b;
    if (read_request(q)) {
        note_request(q);
        /* A proxy is asked for whole addresses. */
        const char *from = strncmp(q->path, "http://", 7) == 0 ? strchr(q->path + 7, '/') : q->path;
        snprintf(path, sizeof path, "%.*s", (int)strcspn(from + 1, "?"), from + 1);
        if (answer_fault(q)) {
        } else if (strncmp(path, "cdn/", 4) == 0 && read_body(&b, q, path + 4)) {
            b.large = false;
            send_body(q, &b);
            free(b.bytes);
        } else if (strncmp(path, "api/models/", 11) == 0) {
            answer_list(q, path + 11);
        } else if (strstr(path, "/resolve/") != NULL) {
            answer_resolve(q, path);
        } else {
            send_status(q, 404, "");
        }
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
