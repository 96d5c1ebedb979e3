#include "tests/lib/hub_answer.h"

#include "tests/lib/hub_server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 8192 };

/* The body to send, and what its head says. */
struct body {
    unsigned char *bytes;
    size_t n;
    char etag[65];
    bool large;
};

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
    snprintf(path, sizeof path, "%s/%s", q->root, file);
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
    if (is_fault(q, "drop") || is_fault(q, "stall") || is_fault(q, "cut"))
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
    const bool ranged = q->range[0] != '-' && !is_fault(q, "norange") && !is_fault(q, "cut");
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
              fields, q->port, file);
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
    snprintf(file, sizeof file, "%s/%s", q->root, path);
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
    snprintf(folder, sizeof folder, "%s/%s", q->root, path);
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

static void send_endless(const struct request *q)
{
    static const char zeros[1 << 16];
    send_head(q,
              "HTTP/1.1 %zu Test\r\nConnection: close\r\nX-Repo-Commit: " HUB_COMMIT
              "\r\nETag: \"endless\"\r\nLocation: /elsewhere\r\n\r\n",
              fault_number(q));
    while (strcmp(q->method, "HEAD") != 0 && send_bytes(q->fd, zeros, sizeof zeros))
        continue;
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
    } else if (is_fault(q, "endless")) {
        send_endless(q);
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

void hub_answer(struct request *q)
{
    char path[1024];
    struct body b;
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
