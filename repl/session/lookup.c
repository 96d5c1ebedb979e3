/*
 * getaddrinfo waits as long as the system's settings say, and cannot be ended but with its process.
 * So a child looks the names up, each of its threads one at a time, and is killed when it takes too
 * long.
 */
#include "repl/session/lookup.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/progress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 64, LOOK_MS = 100 /* a signal may come just before poll */ };

/* What the child says of a name, in one piece. */
struct answer {
    int index;
    struct in_addr address;
};

/* ---- the child ---- */

static struct {
    const struct lookup *names;
    int n, to;
    atomic_int next;
} work;

static void *look_up(void *unused)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    for (int i; (i = work.next++) < work.n;) {
        struct answer a = {.index = i};
        struct addrinfo *found;
        if (work.names[i].found || getaddrinfo(work.names[i].name, NULL, &hints, &found) != 0)
            continue;
        a.address = ((struct sockaddr_in *)(void *)found->ai_addr)->sin_addr;
        freeaddrinfo(found);
        if (write(work.to, &a, sizeof a) != (ssize_t)sizeof a)
            break;
    }
    return unused;
}

/* A pipe whose every writer has ended is at its end. */
static void become_child(const struct lookup *l, int n, int to, pid_t parent)
{
    pthread_t threads[THREADS];
    int started = 0;
    /* Ctrl-C is the parent's. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    work.names = l;
    work.n = n;
    work.to = to;
    while (started < THREADS && started < n &&
           pthread_create(&threads[started], NULL, look_up, NULL) == 0)
        started++;
    if (started == 0)
        look_up(NULL);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    _exit(0);
}

/* ---- the parent ---- */

static int await_answers(struct lookup *l, int n, int from)
{
    const double begun = clock_s();
    while (clock_s() - begun < LOOKUP_PATIENCE_S) {
        struct answer a;
        struct pollfd p = {.fd = from, .events = POLLIN};
        if (interrupt_pending())
            return err_set(ERR_INTERRUPTED, "interrupted");
        if (poll(&p, 1, LOOK_MS) <= 0)
            continue;
        const ssize_t got = read(from, &a, sizeof a);
        if (got < 0 && errno == EINTR)
            continue;
        if (got != (ssize_t)sizeof a)
            break;
        if (a.index >= 0 && a.index < n) {
            l[a.index].found = true;
            l[a.index].address = a.address;
        }
    }
    return 0;
}

/* Numbers need no name server. */
static bool find_numbers(struct lookup *l, int n)
{
    bool every = true;
    for (int i = 0; i < n; i++) {
        l[i].found = l[i].found || inet_pton(AF_INET, l[i].name, &l[i].address) == 1;
        every &= l[i].found;
    }
    return every;
}

int lookup_names(struct lookup *l, int n)
{
    int ends[2];
    if (find_numbers(l, n))
        return 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_errno("cannot make a pipe");
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        become_child(l, n, ends[1], parent);
    close(ends[1]);
    int rc = pid < 0 ? err_errno("cannot start a process to look up names") : 0;
    if (rc == 0) {
        rc = await_answers(l, n, ends[0]);
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    return rc;
}
