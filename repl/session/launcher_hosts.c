#include "repl/session/launcher_hosts.h"

#include "model/base/buf.h"
#include "model/base/child.h"
#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "repl/session/hostfile.h"
#include "repl/session/lookup.h"
#include "repl/session/own_host.h"
#include "train/parallel/mca.h"
#include "train/parallel/plugin.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PATIENCE_S = 10,
    NO_PROGRAM = 81,
    NO_PLUGIN = 82,
    AGENT_WORDS = 16,
    PROGRAM_BYTES = 4096,
    SAID_BYTES = 4096
};

/* ---- addresses ---- */

static struct in_addr address_of(const struct sockaddr *a)
{
    return ((const struct sockaddr_in *)(const void *)a)->sin_addr;
}

static bool is_ipv4(const struct ifaddrs *i)
{
    return i->ifa_addr != NULL && i->ifa_netmask != NULL && i->ifa_addr->sa_family == AF_INET &&
           (i->ifa_flags & IFF_UP);
}

/* The network of this host's that an address is of; false: none. */
static bool find_network(char out[32], const struct ifaddrs *all, struct in_addr a)
{
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        if (!is_ipv4(i) || (i->ifa_flags & IFF_LOOPBACK))
            continue;
        char text[INET_ADDRSTRLEN];
        const in_addr_t mask = address_of(i->ifa_netmask).s_addr;
        const struct in_addr net = {a.s_addr & mask};
        if (net.s_addr != (address_of(i->ifa_addr).s_addr & mask) ||
            inet_ntop(AF_INET, &net, text, sizeof text) == NULL)
            continue;
        snprintf(out, 32, "%s/%d", text, __builtin_popcount(mask));
        return true;
    }
    return false;
}

/* The hosts of a text but this one, with their addresses; names of 64 bytes and more are left out.
 */
struct host_list {
    struct ifaddrs *own;
    struct lookup *hosts; /* [n] */
    int n;
    bool whole; /* none is left out */
};

static void release_list(struct host_list *l)
{
    freeifaddrs(l->own);
    mem_free(l->hosts);
}

static bool add_host(struct host_list *l, const char *host, size_t n)
{
    struct lookup *new = &l->hosts[l->n];
    if (snprintf(new->name, sizeof new->name, "%.*s", (int)n, host) >= (int)sizeof new->name)
        return false;
    /* Some files name a host once for each of its processes. */
    const bool again = l->n > 0 && strcmp(new->name, new[-1].name) == 0;
    l->n += !again && !own_host_is_name(new->name);
    return true;
}

static enum own_host own_of(const struct host_list *l, const struct lookup *host)
{
    return host->found ? own_host_of_address(l->own, host->address) : HOST_OTHER;
}

static enum own_host find_own(void *arg, const char *host)
{
    const struct host_list *l = arg;
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->hosts[i].name, host) == 0)
            return own_of(l, &l->hosts[i]);
    return own_host_of_text(l->own, host);
}

static int make_list(struct host_list *l, const char *text)
{
    const char *const all = text;
    size_t most = 0, n;
    int kept = 0;
    *l = (struct host_list){.whole = true};
    for (const char *at = text; hostfile_next(&at, &n) != NULL;)
        most++;
    if ((l->hosts = mem_array(most + 1, sizeof *l->hosts)) == NULL)
        return ERR_NOMEM;
    for (const char *host; (host = hostfile_next(&text, &n)) != NULL;)
        l->whole &= add_host(l, host, n);
    if (getifaddrs(&l->own) != 0)
        return err_errno("cannot read this host's addresses");
    int rc = lookup_names(l->hosts, l->n);
    if (rc == 0)
        rc = hostfile_check_own(all, find_own, l);
    for (int i = 0; i < l->n; i++)
        if (own_of(l, &l->hosts[i]) == HOST_OTHER)
            l->hosts[kept++] = l->hosts[i];
    l->n = kept;
    return rc;
}

int launcher_hosts_add_network(struct buf *out, const char *net)
{
    const size_t n = strlen(net);
    for (const char *at = buf_text(out); *at != '\0'; at += *at == ',') {
        const size_t here = strcspn(at, ",");
        if (here == n && memcmp(at, net, n) == 0)
            return 0;
        at += here;
    }
    return buf_printf(out, "%s%s", out->n > 0 ? "," : "", net);
}

int launcher_hosts_networks(struct buf *out, const char *text)
{
    struct host_list l;
    char net[32];
    int rc = make_list(&l, text);
    bool every = l.whole;
    for (int i = 0; rc == 0 && every && i < l.n; i++) {
        every = l.hosts[i].found && find_network(net, l.own, l.hosts[i].address);
        if (every)
            rc = launcher_hosts_add_network(out, net);
    }
    if (!every)
        out->n = 0;
    release_list(&l);
    return rc;
}

/* ---- asking ---- */

struct question {
    char name[64];
    pid_t pid;
    int from; /* what it says */
    bool ended;
    int status;
};

struct asking {
    char *agent, *args, *words[AGENT_WORDS + 2]; /* their words, then the host and what to do */
    char *task;
    int n_words, n;
    struct question q[LAUNCHER_MOST_HOSTS];
};

static bool has_scheduler(void)
{
    static const char *const names[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]) != NULL)
            return true;
    return mca_is_set("plm");
}

/* Quoted for a shell. */
static int add_quoted(struct buf *out, const char *path)
{
    int rc = buf_char(out, '\'');
    for (; rc == 0 && *path != '\0'; path++)
        rc = *path == '\'' ? buf_str(out, "'\\''") : buf_char(out, *path);
    return rc == 0 ? buf_char(out, '\'') : rc;
}

static char *make_task(void)
{
    char program[PROGRAM_BYTES], plugin[PLUGIN_PATH];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    struct buf out = {0};
    program[n > 0 ? n : 0] = '\0';
    int rc = n > 0 ? plugin_find(plugin) : err_errno("cannot find this program");
    if (rc == 0 && (rc = buf_str(&out, "test -x ")) == 0)
        rc = add_quoted(&out, program);
    if (rc == 0)
        rc = buf_printf(&out, " || exit %d; test -r ", NO_PROGRAM);
    if (rc == 0 && (rc = add_quoted(&out, plugin)) == 0)
        rc = buf_printf(&out, " || exit %d", NO_PLUGIN);
    char *task = rc == 0 ? mem_strdup(buf_text(&out)) : NULL;
    buf_release(&out);
    return task;
}

static void split_words(struct asking *a, char *text)
{
    char *at;
    for (char *word = strtok_r(text, " ", &at); word != NULL && a->n_words < AGENT_WORDS - 1;
         word = strtok_r(NULL, " ", &at)) {
        if (strcmp(word, ":") == 0)
            break;
        a->words[a->n_words++] = word;
    }
}

/* The first of "ssh -p 22 : rsh", with what mpirun says to it besides. */
static int split_agent(struct asking *a)
{
    a->agent = mca_value("plm_rsh_agent");
    if (a->agent == NULL)
        a->agent = mem_strdup("ssh");
    a->args = mca_value("plm_rsh_args");
    if (a->args == NULL)
        a->args = mem_strdup("");
    a->task = make_task();
    if (a->agent == NULL || a->args == NULL || a->task == NULL)
        return ERR_NOMEM;
    split_words(a, a->agent);
    split_words(a, a->args);
    return a->n_words > 0
               ? 0
               : err_set(ERR_RANGE, "plm_rsh_agent, which is set for Open MPI, names no program");
}

/* In the child, without a terminal at which it could ask for a password, or a window. */
static void become_agent(struct asking *a, struct question *q, int said)
{
    const int nowhere = open("/dev/null", O_RDWR);
    setsid();
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    setenv("SSH_ASKPASS_REQUIRE", "never", 1);
    a->words[a->n_words] = q->name;
    a->words[a->n_words + 1] = a->task;
    child_reset_signals();
    execvp(a->words[0], a->words);
    dprintf(STDERR_FILENO, "there is no program %s\n", a->words[0]);
    _exit(255);
}

static int ask_host(struct asking *a, const char *name)
{
    struct question *q = &a->q[a->n];
    int said[2];
    if (pipe2(said, O_CLOEXEC | O_NONBLOCK) != 0)
        return err_errno("cannot make a pipe");
    snprintf(q->name, sizeof q->name, "%s", name);
    q->from = said[0];
    if ((q->pid = fork()) == 0)
        become_agent(a, q, said[1]);
    close(said[1]);
    if (q->pid < 0) {
        close(q->from);
        return err_errno("cannot start %s", a->words[0]);
    }
    a->n++;
    return 0;
}

static bool is_asked(const struct asking *a, const char *name)
{
    for (int i = 0; i < a->n; i++)
        if (strcmp(a->q[i].name, name) == 0)
            return true;
    return false;
}

static int ask_hosts(struct asking *a, const char *text)
{
    struct host_list l;
    int rc = make_list(&l, text);
    for (int i = 0; rc == 0 && a->n < LAUNCHER_MOST_HOSTS && i < l.n; i++)
        if (!is_asked(a, l.hosts[i].name))
            rc = ask_host(a, l.hosts[i].name);
    release_list(&l);
    return rc;
}

/* Until all have ended. What ssh leaves in the background may hold its standard error for long. */
static int await_hosts(struct asking *a)
{
    const double begun = clock_s();
    for (bool some = true; some && clock_s() - begun < PATIENCE_S; clock_sleep_s(0.02)) {
        some = false;
        for (int i = 0; i < a->n; i++) {
            struct question *q = &a->q[i];
            if (!q->ended)
                q->ended = waitpid(q->pid, &q->status, WNOHANG) == q->pid;
            some |= !q->ended;
        }
        if (interrupt_pending())
            return err_set(ERR_INTERRUPTED, "interrupted");
    }
    return 0;
}

/* Its last line, without a full stop. */
static const char *read_last_line(char said[SAID_BYTES], int from)
{
    ssize_t n = read(from, said, SAID_BYTES - 1);
    if (n < 0)
        n = 0;
    while (n > 0 && strchr("\r\n .", said[n - 1]) != NULL)
        n--;
    said[n] = '\0';
    const char *end = strrchr(said, '\n');
    return end != NULL ? end + 1 : said;
}

static void judge_host(const struct asking *a, struct question *q, struct host_fault *faults,
                       int *n)
{
    char said[SAID_BYTES], shown[160];
    if (!q->ended) {
        kill(-q->pid, SIGKILL);
        kill(q->pid, SIGKILL); /* which may have no group of its own yet */
        waitpid(q->pid, &q->status, 0);
    }
    const char *line = read_last_line(said, q->from);
    struct host_fault *f = &faults[*n];
    close(q->from);
    if (q->ended && q->status == 0)
        return;
    snprintf(f->name, sizeof f->name, "%s", q->name);
    const int status = q->ended && WIFEXITED(q->status) ? WEXITSTATUS(q->status) : 0;
    if (status == NO_PROGRAM || status == NO_PLUGIN)
        snprintf(f->why, sizeof f->why, "%s is not there under the same path as here",
                 status == NO_PROGRAM ? "this program" : "prattle-mpi.so");
    else if (*line != '\0')
        snprintf(f->why, sizeof f->why, "%s", file_show(shown, sizeof shown, line));
    else if (!q->ended)
        snprintf(f->why, sizeof f->why, "no answer in %d s", PATIENCE_S);
    else
        snprintf(f->why, sizeof f->why, "%s fails", a->words[0]);
    ++*n;
}

int launcher_hosts_ask(struct host_fault *faults, int *n, const char *text)
{
    struct asking a = {.n = 0};
    *n = 0;
    if (has_scheduler())
        return 0;
    int rc = split_agent(&a);
    if (rc == 0)
        rc = ask_hosts(&a, text);
    if (rc == 0)
        rc = await_hosts(&a);
    for (int i = 0; i < a.n; i++)
        judge_host(&a, &a.q[i], faults, n);
    mem_free(a.agent);
    mem_free(a.args);
    mem_free(a.task);
    return rc;
}
