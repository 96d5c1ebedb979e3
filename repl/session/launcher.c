/*
 * mpirun is a child with a process group of its own, so that a terminal's Ctrl-C comes to this
 * process alone, which sends SIGUSR1 to mpirun, and mpirun to the ranks:
 *
 *   Ctrl-C            SIGUSR1: the ranks stop, and rank 0 saves
 *   again             nothing: it is said that this takes a while
 *   again             SIGUSR1: rank 0 stops saving
 *   again             SIGTERM: mpirun ends them
 *   this one is gone  SIGTERM by the kernel
 *
 * While ranks are being started mpirun has nobody to pass the first on to, which is held until all
 * take it; again, and there is nothing to save.
 */
#include "repl/session/launcher.h"

#include "model/base/buf.h"
#include "model/base/child.h"
#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/progress.h"
#include "repl/session/launcher_hosts.h"
#include "repl/session/processes.h"
#include "repl/terminal/term.h"
#include "repl/terminal/wrap.h"
#include "train/parallel/cleaner.h"
#include "train/parallel/mca.h"
#include "train/parallel/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_WORDS = 64, READ_BYTES = 16 << 10, PROGRAM_BYTES = 4096, MAX_HOSTS_BYTES = 1 << 20 };

static const char INCLUDED[] = "OMPI_MCA_btl_tcp_if_include",
                  AGENT_ARGS[] = "OMPI_MCA_plm_rsh_args";

/* One of the two ways by which words come. */
struct stream {
    int from; /* -1: closed */
    int to;
    bool lines;      /* by whole lines, without the noise */
    struct buf held; /* what may be the beginning of a line to keep back */
    char last;       /* byte that went through; 0: none */
    int failed;      /* errno of what did not, where a reader was there for it; 0: all did */
};

struct launched {
    pid_t pid;
    struct stream out, err;
    int interrupts;
    bool held; /* the first is not passed on yet */
    struct launcher_notes notes;
    double over_s,
        last_s; /* when there was nothing more to come, and of mpirun, or was to be; 0: not yet */
    /* What of the environment has been set for mpirun: networks, how long ssh waits, and what
     * PRRTE is told. */
    bool networks, patience;
    unsigned prrte;
};

/* ---- starting ---- */

/* MPICH's is mpiexec.hydra, behind links. */
static int check_mpirun(void)
{
    char *path = mca_find_mpirun(), real[PATH_MAX] = "";
    int rc = 0;
    if (path == NULL)
        rc = err_set(ERR_MISSING, "several processes need mpirun: install Open MPI (Debian and "
                                  "Ubuntu: apt-get install openmpi-bin)");
    else if (realpath(path, real) != NULL && strstr(strrchr(real, '/'), "hydra") != NULL)
        rc = err_set(
            ERR_UNSUPPORTED,
            "%s is MPICH's, and prattle itself can start Open MPI's alone; with MPICH: `make "
            "MPICC=mpicc.mpich` and `mpiexec -n N prattle train ...`",
            path);
    mem_free(path);
    return rc;
}

int launcher_check(void)
{
    int rc = plugin_check();
    if (rc == 0)
        rc = launch_check_nested();
    return rc == 0 ? check_mpirun() : rc;
}

/* In the environment that the child inherits. Where there is no /sys, as in some containers, Open
 * MPI would say so, with no harm done. */
static int set_environment(const struct launcher_call *c)
{
    char terminals[128];
    const char *path =
        *c->hosts == '\0' ? ttyname(term_is(stdout) ? STDOUT_FILENO : STDERR_FILENO) : NULL;
    snprintf(terminals, sizeof terminals, "%d %d %s", term_is(stdout) ? term_width(stdout) : 0,
             term_is(stderr) ? term_width(stderr) : 0, path == NULL ? "" : path);
    if (setenv(PROCESSES_TERMINALS, terminals, 1) != 0 ||
        setenv(PROCESSES_FOR, c->prompt ? "prompt" : "shell", 1) != 0 ||
        setenv("HWLOC_HIDE_ERRORS", "2", 0) != 0)
        return err_errno("cannot set the environment");
    return 0;
}

/* Else an ssh to a host that is gone stays for a quarter of an hour. What the user has chosen, as
 * the networks too, is left as it is. */
static int set_patience(struct launched *l, const char *hosts)
{
    if (*hosts == '\0' || mca_is_set("plm_rsh_agent") || mca_is_set("plm_rsh_args"))
        return 0;
    l->patience = true;
    return setenv(AGENT_ARGS, "-o ServerAliveInterval=5 -o ServerAliveCountMax=3", 1) == 0
               ? 0
               : err_errno("cannot set the environment");
}

/* Else Open MPI tries all networks that hosts seem to share, such as those of virtual machines,
 * which each has for itself under the same addresses. */
static int set_networks(struct launched *l, const char *hosts)
{
    struct buf text = {0}, networks = {0};
    int rc = 0;
    if (*hosts != '\0' && !mca_is_set("btl_tcp_if_include") && !mca_is_set("btl_tcp_if_exclude") &&
        (rc = file_read_all(&text, hosts, MAX_HOSTS_BYTES)) == 0)
        rc = launcher_hosts_networks(&networks, buf_text(&text));
    if (rc == 0 && networks.n > 0) {
        l->networks = true;
        if (setenv(INCLUDED, buf_text(&networks), 1) != 0)
            rc = err_errno("cannot set the environment");
    }
    buf_release(&text);
    buf_release(&networks);
    return rc;
}

static void clear_environment(const struct launched *l)
{
    if (l->networks)
        unsetenv(INCLUDED);
    if (l->patience)
        unsetenv(AGENT_ARGS);
    mca_take_back(l->prrte);
    unsetenv(PROCESSES_TERMINALS);
    unsetenv(PROCESSES_FOR);
}

/* What changes where a process finds models, data and settings, or how it computes. */
static int list_exports(char **argv, int n)
{
    static char export[] = "-x";
    static char names[][24] = {"HF_HOME",         "HF_HUB_CACHE",   "HUGGINGFACE_HUB_CACHE",
                               "HF_HUB_OFFLINE",  "HF_ENDPOINT",    "TRANSFORMERS_OFFLINE",
                               "XDG_CACHE_HOME",  "XDG_DATA_HOME",  "XDG_CONFIG_HOME",
                               "PRATTLE_KERNELS", "OMP_WAIT_POLICY"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]) != NULL) {
            argv[n++] = export;
            argv[n++] = names[i];
        }
    return n;
}

static void list_words(char **argv, const struct launcher_call *c, char *size, char *program)
{
    static char bind[] = "--bind-to", none[] = "none", np[] = "-np", hosts[] = "--hostfile",
                more[] = "--oversubscribe", root[] = "--allow-run-as-root", export[] = "-x",
                terminals[] = PROCESSES_TERMINALS, whom[] = PROCESSES_FOR, mpirun[] = "mpirun",
                map[] = "--map-by", node[] = "node", order[] = "--rank-by", slot[] = "slot",
                output[] = "--output", raw[] = ":raw";
    int n = 0;
    char *const first[] = {mpirun, bind, none, export, terminals, export, whom, np, size};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        argv[n++] = first[i];
    if (geteuid() == 0)
        argv[n++] = root;
    if (mca_has_prrte()) { /* else it keeps a status line back until its end */
        argv[n++] = output;
        argv[n++] = raw;
    }
    if (*c->hosts == '\0') { /* a hostfile has slots of its own */
        argv[n++] = more;
    } else { /* as many on each, one behind another */
        char *const last[] = {map, node, order, slot, hosts, (char *)(uintptr_t)c->hosts};
        for (size_t i = 0; i < sizeof last / sizeof *last; i++)
            argv[n++] = last[i];
        n = list_exports(argv, n);
    }
    argv[n++] = program;
    for (int i = 0; i < c->n; i++)
        argv[n++] = c->words[i];
    argv[n] = NULL;
}

/* In the child. */
static void become_mpirun(char **argv, int out, int err, pid_t parent)
{
    const int nowhere = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    dup2(nowhere, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    child_reset_signals();
    execvp(argv[0], argv);
    _exit(127);
}

static int start_mpirun(struct launched *l, const struct launcher_call *c)
{
    char size[16], program[PROGRAM_BYTES];
    int out[2], err[2];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    char **argv = mem_array((size_t)(c->n + MOST_WORDS), sizeof *argv);
    const pid_t parent = getpid();
    if (argv == NULL)
        return ERR_NOMEM;
    int rc = n > 0 ? set_environment(c) : err_errno("cannot find this program");
    if (rc == 0)
        rc = set_networks(l, c->hosts);
    if (rc == 0)
        rc = set_patience(l, c->hosts);
    l->prrte = mca_tell_prrte();
    if (rc == 0 && pipe2(out, O_CLOEXEC) != 0)
        rc = err_errno("cannot make a pipe");
    if (rc == 0 && pipe2(err, O_CLOEXEC) != 0) {
        rc = err_errno("cannot make a pipe");
        close(out[0]);
        close(out[1]);
    }
    if (rc == 0) {
        program[n] = '\0';
        snprintf(size, sizeof size, "%d", c->size);
        list_words(argv, c, size, program);
        if ((l->pid = fork()) == 0)
            become_mpirun(argv, out[1], err[1], parent);
        if (l->pid < 0)
            rc = err_errno("cannot start mpirun");
        close(out[1]);
        close(err[1]);
        l->out = (struct stream){.from = out[0], .to = STDOUT_FILENO};
        l->err = (struct stream){.from = err[0], .to = STDERR_FILENO, .lines = true};
    }
    clear_environment(l);
    mem_free(argv);
    return rc;
}

/* ---- what they print ---- */

static void write_through(struct stream *s, const char *bytes, size_t n)
{
    if (n > 0 && file_write_fd(s->to, bytes, n) != 0) {
        s->failed = errno == EPIPE ? s->failed : errno;
        err_clear();
    }
    if (n > 0)
        s->last = bytes[n - 1];
}

/* The status line of a rank that could not wipe it. */
static void wipe_status(const struct stream *s)
{
    if (s->last != 0 && s->last != '\n' && term_takes_escapes(stdout))
        fputs("\r\033[K", stdout);
    fflush(stdout);
}

/* From PROCESSES_END on it is how rank 0 ended. */
static int take_output(struct launched *l, const char *bytes, size_t n)
{
    struct launcher_notes *k = &l->notes;
    k->begun = true;
    const char *end = k->ended ? bytes : memchr(bytes, PROCESSES_END, n);
    if (end == NULL) {
        write_through(&l->out, bytes, n);
        return 0;
    }
    write_through(&l->out, bytes, (size_t)(end - bytes));
    k->ended = true;
    return buf_add(&k->ending, end, n - (size_t)(end - bytes));
}

/* What tells of a loss may come in the middle of rank 0's line. */
static int take_error_line(struct launched *l, const char *line, size_t n)
{
    bool taken;
    const char *lost = memchr(line, PROCESSES_LOST, n);
    if (lost != NULL && lost > line) {
        write_through(&l->err, line, (size_t)(lost - line));
        n -= (size_t)(lost - line);
        line = lost;
    }
    const int rc = launcher_notes_line(&l->notes, line, n, &taken);
    if (rc == 0 && !taken)
        write_through(&l->err, line, n);
    return rc;
}

static int take_errors(struct launched *l, const char *bytes, size_t n)
{
    struct buf *held = &l->err.held;
    int rc = buf_add(held, bytes, n);
    for (const char *end;
         rc == 0 && held->n > 0 && (end = memchr(held->data, '\n', held->n)) != NULL;) {
        const size_t line = (size_t)(end - held->data) + 1;
        rc = take_error_line(l, held->data, line);
        memmove(held->data, held->data + line, held->n - line);
        held->n -= line;
    }
    return rc;
}

static int read_stream(struct launched *l, struct stream *s)
{
    char bytes[READ_BYTES];
    const ssize_t n = read(s->from, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR)
        return 0;
    if (n > 0)
        return s->lines ? take_errors(l, bytes, (size_t)n) : take_output(l, bytes, (size_t)n);
    close(s->from);
    s->from = -1;
    return 0;
}

enum { TO_STOP = 1, TO_WAIT, NOT_TO_SAVE, TO_END }; /* interrupts, in turn */

static void hold_interrupt(struct launched *l)
{
    l->held = true;
    l->interrupts = TO_STOP;
    wrap_say(stderr, term_dim(stderr),
             "[it stops as soon as all processes have started; Ctrl-C again ends them now]");
}

static void pass_interrupt(struct launched *l)
{
    const bool ready = launcher_start_is_ready(&l->notes.start) || l->notes.begun;
    if (l->held && ready) {
        l->held = false;
        kill(l->pid, SIGUSR1);
    }
    if (!interrupt_pending())
        return;
    interrupt_clear();
    if (!ready && l->interrupts == 0) {
        hold_interrupt(l);
        return;
    }
    if (!ready && l->interrupts < NOT_TO_SAVE)
        l->interrupts = NOT_TO_SAVE;
    if (++l->interrupts == TO_WAIT) {
        wipe_status(&l->out);
        wrap_say(stderr, term_dim(stderr),
                 "[it stops, and saves what is done; Ctrl-C again gives that up]");
        return;
    }
    kill(l->pid, SIGCONT); /* one that is stopped would pass on nothing */
    kill(l->pid, l->interrupts <= NOT_TO_SAVE ? SIGUSR1
                 : l->interrupts == TO_END    ? SIGTERM
                                              : SIGKILL);
}

static bool has_lasted(double *since_s, bool is, int seconds)
{
    if (is && *since_s == 0)
        *since_s = clock_s();
    return is && clock_s() - *since_s > seconds;
}

/* A rank that is stopped may keep mpirun from its end, and a host that is gone for good. Where
 * ranks ended as they began to talk to it, mpirun at times waits for a lock of its PMIx once all is
 * over. Of none that was lost it is given longer: others may have much to release.
 */
static void end_in_time(struct launched *l)
{
    enum { LONG_S = 30, PATIENCE_S = 15, SHORT_S = 3 };
    const struct launcher_notes *k = &l->notes;
    const bool is_late =
        has_lasted(&l->over_s, k->over || k->ended, k->end.silent ? SHORT_S : PATIENCE_S);
    if (has_lasted(&l->last_s, k->last || l->interrupts >= TO_END, SHORT_S) ||
        (is_late && k->told) || has_lasted(&l->over_s, k->ended, LONG_S))
        kill(l->pid, SIGKILL);
}

/* Asked to end, mpirun would have one that is stopped go on, and all of them begin after all. */
static void miss_silent(struct launched *l)
{
    if (launcher_notes_miss(&l->notes))
        kill(l->pid, SIGKILL);
}

/* Without waiting for it. */
static bool has_ended(const struct launched *l)
{
    siginfo_t s = {0};
    return waitid(P_PID, (id_t)l->pid, &s, WEXITED | WNOHANG | WNOWAIT) == 0 && s.si_pid == l->pid;
}

static void close_streams(struct launched *l)
{
    struct stream *const all[] = {&l->out, &l->err};
    for (int i = 0; i < 2; i++) {
        if (all[i]->from >= 0)
            close(all[i]->from);
        all[i]->from = -1;
    }
}

/* The second one, when rank 0 has said how it ended: there is nothing to wait for any more. */
static void drop_late_interrupt(struct launched *l)
{
    if (!l->notes.ended || l->interrupts != TO_STOP || !interrupt_pending())
        return;
    interrupt_clear();
    l->interrupts = TO_WAIT;
}

static int pump(struct launched *l)
{
    enum { LOOK_MS = 200 /* a signal may come just before poll */ };
    int rc = 0;
    while (rc == 0 && (l->out.from >= 0 || l->err.from >= 0)) {
        struct pollfd p[] = {{.fd = l->out.from, .events = POLLIN},
                             {.fd = l->err.from, .events = POLLIN}};
        drop_late_interrupt(l);
        pass_interrupt(l);
        miss_silent(l);
        end_in_time(l);
        const int ready = poll(p, 2, LOOK_MS);
        if (ready <= 0) {
            /* An agent of mpirun's may stay for a host that is gone, and hold these open. */
            if (ready == 0 && has_ended(l))
                break;
            continue;
        }
        if (p[0].revents != 0)
            rc = read_stream(l, &l->out);
        if (rc == 0 && p[1].revents != 0)
            rc = read_stream(l, &l->err);
    }
    return rc;
}

/* Nobody reads any more what it says. */
static void give_up(struct launched *l)
{
    close_streams(l);
    l->interrupts = l->interrupts < TO_END ? TO_END : l->interrupts;
    kill(l->pid, SIGCONT);
    kill(l->pid, SIGTERM);
}

static void wait_for_end(struct launched *l, int *status)
{
    const double ask_every_s = 0.01;
    for (;;) {
        const pid_t ended = waitpid(l->pid, status, WNOHANG);
        if (ended > 0 || (ended < 0 && errno != EINTR))
            return;
        drop_late_interrupt(l);
        pass_interrupt(l);
        end_in_time(l);
        clock_sleep_s(ask_every_s);
    }
}

int launcher_run(const struct launcher_call *c, struct launcher_end *end)
{
    struct launched l = {.pid = -1, .out.from = -1, .err.from = -1};
    int status = 0;
    int rc = launcher_notes_begin(&l.notes, c->size);
    *end = l.notes.end;
    fflush(stdout);
    fflush(stderr);
    if (rc == 0)
        rc = launcher_check();
    if (rc == 0)
        rc = cleaner_check_room();
    if (rc == 0)
        rc = start_mpirun(&l, c);
    if (rc == 0) {
        rc = pump(&l);
        if (rc != 0)
            give_up(&l);
        wait_for_end(&l, &status);
        if (WIFSIGNALED(status))
            cleaner_remove(l.pid);
        wipe_status(&l.out);
        if (rc == 0)
            rc = launcher_notes_end(&l.notes, status, l.interrupts);
        if (rc == 0 && l.out.failed != 0)
            rc = err_set(ERR_IO, "cannot write to standard output: %s", strerror(l.out.failed));
        *end = l.notes.end;
    }
    close_streams(&l);
    buf_release(&l.out.held);
    buf_release(&l.err.held);
    launcher_notes_release(&l.notes);
    return rc;
}
