#include "repl/commands/train_restart.h"

#include "model/base/buf.h"
#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "repl/terminal/signals.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/run/folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_IDLE = 3, MAX_HOSTS_BYTES = 1 << 20 };

/* ---- hosts ---- */

/* The next line of a hostfile that names a host, and how long the name is; NULL: none. */
static const char *next_host(const char **text, size_t *n)
{
    while (**text != '\0') {
        const char *line = *text + strspn(*text, " \t");
        const size_t all = strcspn(line, "\n");
        *text = line + all + (line[all] != '\0');
        *n = strcspn(line, " \t\r\n#");
        if (*n > 0)
            return line;
    }
    return NULL;
}

/* A host may be named with its domain or without. */
static bool is_same_host(const char *a, size_t n, const char *b)
{
    const size_t short_a = strcspn(a, ".") < n ? strcspn(a, ".") : n, short_b = strcspn(b, ".");
    return n == strlen(b) ? memcmp(a, b, n) == 0
                          : short_a == short_b && memcmp(a, b, short_a) == 0 &&
                                (short_a == n || b[short_b] == '\0');
}

static int read_hosts(struct buf *out, const struct restart *a, const struct run_config *c)
{
    const char *path = a->hosts != NULL ? a->hosts : c->execution.hosts;
    int rc = file_read_all(out, path, MAX_HOSTS_BYTES);
    return rc == 0 ? buf_char(out, '\0') : rc;
}

static bool has_many_hosts(const struct run_config *c)
{
    const struct restart none = {0};
    struct buf text = {0};
    bool many = false;
    if (*c->execution.hosts != '\0' && read_hosts(&text, &none, c) == 0) {
        size_t n, first_n;
        const char *at = text.data, *first = next_host(&at, &first_n), *host;
        while (first != NULL && !many && (host = next_host(&at, &n)) != NULL)
            many = n != first_n || memcmp(host, first, n) != 0;
    }
    buf_release(&text);
    return many;
}

/* Without the host that is gone, where others are named; else all stay. */
static int leave_host(struct restart *a, const struct run_config *c, const char *gone)
{
    struct buf text = {0}, left = {0};
    size_t n;
    int rc = read_hosts(&text, a, c);
    const char *at = rc == 0 ? text.data : "", *host;
    while (rc == 0 && (host = next_host(&at, &n)) != NULL)
        if (!is_same_host(host, n, gone))
            rc = buf_printf(&left, "%.*s\n", (int)strcspn(host, "\n"), host);
    if (rc == 0 && left.n > 0) {
        const int fd = memfd_create("hosts", 0); /* which mpirun inherits */
        char *path = mem_sprintf("/dev/fd/%d", fd);
        rc = fd < 0 || path == NULL ? ERR_NOMEM : file_write_fd(fd, left.data, left.n);
        restart_release(a);
        a->hosts = path;
        a->hosts_fd = fd;
    }
    buf_release(&text);
    buf_release(&left);
    return rc;
}

void restart_release(struct restart *a)
{
    if (a->hosts != NULL)
        close(a->hosts_fd);
    mem_free(a->hosts);
    a->hosts = NULL;
}

/* ---- where they go on ---- */

static bool is_elastic(const struct run_config *c)
{
    return c->execution.elastic == ELASTIC_ON ||
           (c->execution.elastic == ELASTIC_AUTO && has_many_hosts(c));
}

/* Those of the last start may still be about to end. */
static void wait_for_folder(const char *folder)
{
    enum { PATIENCE_S = 20 };
    const double begun = clock_s();
    while (run_folder_holder(folder) != 0 && clock_s() - begun < PATIENCE_S && !interrupt_pending())
        clock_sleep_s(0.05);
}

static int64_t newest_step(const char *folder)
{
    char *path = NULL, *title = NULL;
    int64_t step = -1;
    if (run_folder_has_checkpoint(folder) && run_folder_resolve(&path, &title, folder, NULL) == 0) {
        const char *name = strrchr(path, '/');
        step = run_folder_step_of(name != NULL ? name + 1 : path);
    }
    mem_free(path);
    mem_free(title);
    err_clear();
    return step;
}

static void say_restart(const struct restart *a, const struct launcher_end *end, const char *why)
{
    char from[120] = "from the beginning";
    if (a->step >= 0)
        snprintf(from, sizeof from, "from step %" PRId64 ", %s", a->step,
                 a->step == end->saved ? "which rank 0 has saved" : "the newest checkpoint");
    wrap_say(stdout, term_dim(stdout), "[%s; goes on with %d process%s %s]", why, a->size,
             a->size == 1 ? "" : "es", from);
    fflush(stdout);
}

bool restart_plan(struct restart *a, const struct run_config *c, const struct launcher_end *end)
{
    const int64_t before = a->step;
    const int living = a->size - (end->rank < 0 ? 0 : end->n),
              size = living / a->stages * a->stages, rc = err_last();
    if (!end->lost || size < 1 || signals_leaving() || interrupt_pending())
        return false;
    char *why = mem_strdup(err_text());
    if (!is_elastic(c)) {
        err_set(rc, "%s", why != NULL ? why : "");
        mem_free(why);
        return false;
    }
    wait_for_folder(a->folder);
    a->step = newest_step(a->folder);
    a->idle = end->rank >= 0 || a->step > before ? 0 : a->idle + 1;
    bool goes_on = why != NULL && a->idle < MAX_IDLE && !interrupt_pending();
    if (goes_on && end->silent && (*c->execution.hosts != '\0' && leave_host(a, c, end->host) != 0))
        goes_on = false;
    if (goes_on) {
        a->size = size;
        say_restart(a, end, why);
    } else if (why != NULL) {
        err_set(rc, "%s", why);
    }
    mem_free(why);
    return goes_on;
}
