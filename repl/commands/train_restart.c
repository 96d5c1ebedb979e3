#include "repl/commands/train_restart.h"

#include "model/base/buf.h"
#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "repl/session/hostfile.h"
#include "repl/session/launcher_hosts.h"
#include "repl/terminal/signals.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/run/folder.h"
#include "weights/run_folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_IDLE = 3, MAX_HOSTS_BYTES = 1 << 20 };

/* ---- hosts ---- */

static int read_hosts(struct buf *out, const struct run_config *c)
{
    return file_read_all(out, c->execution.hosts, MAX_HOSTS_BYTES);
}

static bool has_many_hosts(const struct run_config *c)
{
    struct buf text = {0};
    const bool many = *c->execution.hosts != '\0' && read_hosts(&text, c) == 0 &&
                      hostfile_has_many(buf_text(&text));
    buf_release(&text);
    return many;
}

/* A file that mpirun inherits. */
static int make_hostfile(struct restart *a, const struct buf *text)
{
    const int fd = memfd_create("hosts", 0);
    char *path = fd < 0 ? NULL : mem_sprintf("/dev/fd/%d", fd);
    int rc = path == NULL ? ERR_NOMEM : file_write_fd(fd, text->data, text->n);
    restart_release(a);
    if (rc == 0) {
        a->hosts = path;
        a->hosts_fd = fd;
        return 0;
    }
    if (fd >= 0)
        close(fd);
    mem_free(path);
    return rc;
}

/* Without those that are gone, where others are named, else with all; *share of them are left. */
static int leave_hosts(struct restart *a, const char *text, const struct host_fault *faults, int n,
                       double *share)
{
    const char *gone[LAUNCHER_MOST_HOSTS + 1];
    struct buf left = {0};
    for (int i = 0; i < n; i++)
        gone[i] = faults[i].name;
    int rc = hostfile_without(&left, text, gone, n);
    *share = 1;
    restart_release(a);
    if (rc == 0 && left.n > 0 && n > 0) {
        *share = hostfile_share(buf_text(&left), text);
        rc = make_hostfile(a, &left);
    }
    buf_release(&left);
    return rc;
}

/* Those that do not answer now are left out, and the one of which nothing was heard. A host that is
 * there again takes part again. */
static int find_hosts(struct restart *a, const struct run_config *c, const char *silent,
                      double *share)
{
    struct host_fault faults[LAUNCHER_MOST_HOSTS + 1];
    struct buf text = {0}, others = {0};
    int n = 0, rc = read_hosts(&text, c);
    if (rc == 0)
        rc = hostfile_check(buf_text(&text));
    if (rc == 0)
        rc = hostfile_without(&others, buf_text(&text), &silent, *silent != '\0');
    if (rc == 0)
        rc = launcher_hosts_ask(faults, &n, buf_text(&others));
    if (*silent != '\0')
        snprintf(faults[n++].name, sizeof faults->name, "%s", silent);
    if (rc == 0)
        rc = leave_hosts(a, buf_text(&text), faults, n, share);
    buf_release(&text);
    buf_release(&others);
    return rc;
}

void restart_release(struct restart *a)
{
    if (a->hosts != NULL)
        close(a->hosts_fd);
    mem_free(a->hosts);
    a->hosts = NULL;
}

/* ---- how they begin ---- */

static bool is_elastic(const struct run_config *c)
{
    return c->execution.elastic == ELASTIC_ON ||
           (c->execution.elastic == ELASTIC_AUTO && has_many_hosts(c));
}

static int share_size(int size, double share)
{
    return (int)(size * share + 1e-6);
}

/* Those of at most n processes, one or more, that the next start is of. */
static void choose_size(struct restart *a, const struct run_config *c, int n)
{
    a->regrouped = n < a->stages;
    a->size = n / a->stages * a->stages;
    if (!a->regrouped)
        return;
    regroup_find(&a->layout, c, n);
    a->size = a->layout.stages * a->layout.tensor;
}

/* "2 processes, layers_per_device=6,6" */
static void describe_size(char *out, size_t n, const struct restart *a)
{
    const int at = snprintf(out, n, "%d process%s", a->size, a->size == 1 ? "" : "es");
    if (a->regrouped && a->layout.stages > 1)
        snprintf(out + at, n - (size_t)at, ", layers_per_device=%.60s%s,", a->layout.layers,
                 strlen(a->layout.layers) > 60 ? "..." : "");
    else if (a->regrouped && a->layout.tensor > 1)
        snprintf(out + at, n - (size_t)at, ", tensor_parallel=%d,", a->layout.tensor);
}

static int begin_without(struct restart *a, const struct run_config *c, const char *text,
                         const struct host_fault *faults, int n)
{
    double share;
    char described[160];
    const int rc = leave_hosts(a, text, faults, n, &share);
    const int size = rc == 0 && a->hosts != NULL ? share_size(a->size, share) : 0;
    if (rc != 0 || size == 0)
        return rc;
    choose_size(a, c, size);
    describe_size(described, sizeof described, a);
    for (int i = 0; i < n; i++)
        wrap_say(stdout, term_dim(stdout), "[host %s cannot be used: %s]", faults[i].name,
                 faults[i].why);
    wrap_say(stdout, term_dim(stdout), "[begins with %s on the others]", described);
    fflush(stdout);
    return 0;
}

/* Its text, which mpirun understands. */
static int read_good_hosts(struct buf *text, const struct run_config *c)
{
    if (!file_exists(c->execution.hosts))
        return err_set(ERR_MISSING, "there is no file %s of hosts", file_quote(c->execution.hosts));
    int rc = read_hosts(text, c);
    if (rc == 0 && (rc = hostfile_check(buf_text(text))) != 0)
        rc = file_wrap(c->execution.hosts);
    return rc;
}

int restart_check_hosts(const struct run_config *c)
{
    struct buf text = {0};
    int rc = *c->execution.hosts == '\0' ? 0 : read_good_hosts(&text, c);
    buf_release(&text);
    return rc;
}

int restart_begin(struct restart *a, const struct run_config *c)
{
    struct host_fault faults[LAUNCHER_MOST_HOSTS];
    struct buf text = {0};
    const int size = a->size;
    int n = 0, rc = 0;
    a->first = run_folder_newest(a->folder, NULL);
    if (*c->execution.hosts == '\0')
        return 0;
    if ((rc = read_good_hosts(&text, c)) == 0 &&
        (rc = launcher_hosts_ask(faults, &n, buf_text(&text))) == ERR_FORMAT)
        rc = file_wrap(c->execution.hosts);
    if (rc == 0 && n > 0 && is_elastic(c))
        rc = begin_without(a, c, buf_text(&text), faults, n);
    if (rc == 0 && n > 0 && a->size == size)
        rc = err_set(ERR_IO, "host %s cannot be used: %s", faults[0].name, faults[0].why);
    buf_release(&text);
    return rc;
}

/* ---- where they go on ---- */

/* Those of the last start may still be about to end. */
static void wait_for_folder(const char *folder)
{
    enum { PATIENCE_S = 20 };
    const double begun = clock_s();
    while (run_folder_holder(folder) != 0 && clock_s() - begun < PATIENCE_S && !interrupt_pending())
        clock_sleep_s(0.05);
}

static void say_restart(const struct restart *a, const struct launcher_end *end, const char *why)
{
    char from[120] = "from the beginning", described[160];
    describe_size(described, sizeof described, a);
    if (a->step >= 0)
        snprintf(from, sizeof from, "from step %" PRId64 ", %s", a->step,
                 a->step == end->saved ? "which rank 0 has saved" : "the newest checkpoint");
    wrap_say(stdout, term_dim(stdout), "[%s; continues with %s %s]", why, described, from);
    fflush(stdout);
}

bool restart_plan(struct restart *a, const struct run_config *c, const struct launcher_end *end)
{
    const int64_t before = a->step;
    const int living = a->size - (end->rank < 0 ? 0 : end->n);
    struct err_kept why;
    double share = 1;
    if (!end->lost || living < 1 || signals_leaving() || interrupt_pending())
        return false;
    err_keep(&why);
    if (!is_elastic(c)) {
        err_restore(&why);
        return false;
    }
    wait_for_folder(a->folder);
    a->step = run_folder_newest(a->folder, NULL);
    a->idle = end->rank >= 0 || a->step > before ? 0 : a->idle + 1;
    bool goes_on = a->idle < MAX_IDLE && !interrupt_pending();
    if (goes_on && *c->execution.hosts != '\0' &&
        find_hosts(a, c, end->silent ? end->host : "", &share) != 0)
        goes_on = false;
    const int shared = share_size(a->whole, share);
    goes_on = goes_on && shared > 0;
    if (goes_on) {
        choose_size(a, c, shared < living ? shared : living);
        say_restart(a, end, why.text);
    } else {
        err_restore(&why);
    }
    return goes_on;
}
