#include "model/base/child.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int n_children;

int child_count(void)
{
    return n_children;
}

/* A file in memory with this text, at its beginning; -1 after an error. */
static int open_text(const char *text)
{
    const size_t n = strlen(text);
    const int fd = memfd_create("input", MFD_CLOEXEC);
    for (size_t done = 0; fd >= 0 && done < n;) {
        const ssize_t w = pwrite(fd, text + done, n - done, (off_t)done);
        if (w <= 0 && errno != EINTR) {
            close(fd);
            return -1;
        }
        done += w > 0 ? (size_t)w : 0;
    }
    return fd;
}

void child_reset_signals(void)
{
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
}

int child_start(pid_t *pid, const char *name, const char *program, char *const argv[],
                const struct child_files *files)
{
    sigset_t defaults;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(
        &attributes, (short)(POSIX_SPAWN_SETSIGDEF | (files->apart ? POSIX_SPAWN_SETSID : 0)));
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawn_file_actions_init(&actions);
    if (files->in >= 0)
        posix_spawn_file_actions_adddup2(&actions, files->in, 0);
    else
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, files->out, 1);
    if (files->err >= 0)
        posix_spawn_file_actions_adddup2(&actions, files->err, 2);
    const int failed = posix_spawnp(pid, program, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed == 0 ? 0
                       : err_set(failed == ENOENT ? ERR_MISSING : ERR_IO, "%s cannot be run: %s",
                                 name, strerror(failed));
}

/* Its last line that is not empty, without the name that our own sentences begin with. */
static int refuse_failed(const char *name, const struct buf *out)
{
    char line[200], shown[400];
    size_t end = out->n;
    while (end > 0 && strchr("\r\n ", out->data[end - 1]) != NULL)
        end--;
    size_t begin = end;
    while (begin > 0 && out->data[begin - 1] != '\n')
        begin--;
    if (begin == end)
        return err_set(ERR_IO, "%s failed", name);
    snprintf(line, sizeof line, "%.*s", (int)(end - begin < 190 ? end - begin : 190),
             out->data + begin);
    const size_t own = strncmp(line, "prattle: ", 9) == 0 ? 9 : 0;
    return err_set(ERR_IO, "%s failed: %s", name, file_show(shown, sizeof shown, line + own));
}

/* The end of what it wrote into a file in memory. */
static int refuse_failed_aside(const char *name, int kept)
{
    enum { TAIL = 4096 };
    struct buf tail = {0};
    const off_t bytes = kept < 0 ? 0 : lseek(kept, 0, SEEK_END);
    const size_t n = bytes < TAIL ? (size_t)(bytes < 0 ? 0 : bytes) : TAIL;
    int rc = buf_reserve(&tail, n);
    const ssize_t got = rc != 0 || n == 0 ? 0 : pread(kept, tail.data, n, bytes - (off_t)n);
    tail.n = got > 0 ? (size_t)got : 0;
    rc = rc == 0 ? refuse_failed(name, &tail) : rc;
    buf_release(&tail);
    return rc;
}

/* What it said last is then no reason. */
static int refuse_killed(const char *name, int sig)
{
    return err_set(ERR_IO, "%s was ended by signal %d%s", name, sig,
                   sig == SIGKILL ? ", as the system does where memory runs out" : "");
}

int child_run(struct buf *out, const char *name, const char *program, char *const argv[],
              const char *in, enum child_errors errors)
{
    int ends[2], status = -1;
    pid_t pid;
    const int input = in == NULL ? -1 : open_text(in);
    if (in != NULL && input < 0)
        return err_errno("cannot keep a program's input in memory");
    const int kept = errors == CHILD_KEEPS ? memfd_create("errors", MFD_CLOEXEC) : -1;
    int rc = pipe2(ends, O_CLOEXEC) == 0 ? 0 : err_errno("cannot make a pipe");
    if (rc == 0) {
        const struct child_files files = {
            .in = input, .out = ends[1], .err = errors == CHILD_MERGES ? ends[1] : kept};
        rc = child_start(&pid, name, program, argv, &files);
        close(ends[1]);
        n_children += rc == 0;
        if (rc == 0) {
            if ((rc = file_read_fd(out, ends[0])) != 0)
                kill(pid,
                     SIGTERM); /* a terminal's Ctrl-C reaches it too, another signal does not */
            while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        }
        close(ends[0]);
    }
    if (input >= 0)
        close(input);
    if (interrupt_pending())
        rc = err_set(ERR_INTERRUPTED, "interrupted");
    else if (rc == 0 && WIFSIGNALED(status))
        rc = refuse_killed(name, WTERMSIG(status));
    else if (rc == 0 && status != 0)
        rc = errors == CHILD_MERGES ? refuse_failed(name, out) : refuse_failed_aside(name, kept);
    if (kept >= 0)
        close(kept);
    return rc;
}
