#include "tests/lib/crowd.h"

#include "model/base/par.h"
#include "model/base/progress.h"
#include "tests/lib/test.h"
#include "train/parallel/world.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 8, MESSAGES = 1 << 14, BYTES = 128 << 20, POSTED = 1 << 16, TAGS = 64 };

struct message {
    int tag;
    size_t at, n;
};

/* What one rank has sent to another, in order. */
struct mailbox {
    atomic_int n;
    struct message messages[MESSAGES];
};

struct crowd {
    struct mailbox boxes[MOST][MOST]; /* [from][to] */
    atomic_size_t used[MOST];         /* by sender */
    pid_t first;                      /* rank 0 */
    char bytes[MOST][BYTES];
};

static struct crowd *crowd;
/* How many of each sender and tag this rank has posted to receive, and received. */
static int posted[MOST][TAGS], received[MOST][TAGS];
static struct posted {
    int from, tag, number;
    void *data;
    size_t n;
} receives[POSTED];
static int n_receives;
/* Of the tag that is late. */
static struct late {
    int to, tag;
    const void *data;
    size_t n;
    int64_t due_us;
} sends[POSTED];
static int n_sends;

int crowd_of_host;
bool crowd_one_thread;
int crowd_late_tag = -1, crowd_late_us;

/* The machine's time: that of tests may stand still. */
static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static int deliver(int from, int to, int tag, const void *data, size_t n)
{
    struct mailbox *box = &crowd->boxes[from][to];
    const size_t at = atomic_fetch_add(&crowd->used[from], n);
    const int i = atomic_load(&box->n);
    if (at + n > BYTES || i == MESSAGES)
        return 1;
    memcpy(crowd->bytes[from] + at, data, n);
    box->messages[i] = (struct message){tag, at, n};
    atomic_store(&box->n, i + 1);
    return 0;
}

/* Others lag behind the first. */
static int64_t late_until(int from, int to)
{
    return now_us() + crowd_late_us * (from > 0 && to > 0 ? 3 : 1);
}

static int crowd_send(struct transport *t, int to, int tag, const void *data, size_t n,
                      struct transfer *x)
{
    x->going = tag == crowd_late_tag;
    if (!x->going)
        return deliver(t->rank, to, tag, data, n);
    if (n_sends == POSTED)
        return 1;
    sends[n_sends] = (struct late){to, tag, data, n, late_until(t->rank, to)};
    x->handle[0] = (uint64_t)n_sends++;
    x->handle[1] = 1;
    return 0;
}

/* As MPI has it of long messages, whose data it reads when the other end is ready. */
static int test_send(struct transport *t, struct transfer *x, bool *done)
{
    const struct late *s = &sends[x->handle[0]];
    *done = now_us() >= s->due_us;
    x->going = !*done;
    return *done ? deliver(t->rank, s->to, s->tag, s->data, s->n) : 0;
}

static int crowd_receive(struct transport *t, int from, int tag, void *data, size_t n,
                         struct transfer *x)
{
    (void)t;
    if (n_receives == POSTED)
        return 1;
    receives[n_receives] = (struct posted){from, tag, posted[from][tag]++, data, n};
    x->handle[0] = (uint64_t)n_receives++;
    x->handle[1] = 0;
    x->going = true;
    return 0;
}

/* The message of this number with a tag; NULL: not sent yet. */
static const struct message *find_message(int from, int to, int tag, int number)
{
    const struct mailbox *box = &crowd->boxes[from][to];
    for (int i = 0; i < atomic_load(&box->n); i++)
        if (box->messages[i].tag == tag && number-- == 0)
            return &box->messages[i];
    return NULL;
}

static int crowd_test(struct transport *t, struct transfer *x, bool *done)
{
    if (x->handle[1] == 1)
        return test_send(t, x, done);
    const struct posted *p = &receives[x->handle[0]];
    const struct message *m = find_message(p->from, t->rank, p->tag, p->number);
    *done = m != NULL;
    if (m == NULL)
        return 0;
    if (m->n != p->n)
        return 1;
    memcpy(p->data, crowd->bytes[p->from] + m->at, m->n);
    received[p->from][p->tag]++;
    x->going = false;
    return 0;
}

static int crowd_probe(struct transport *t, int from, int tag, bool *arrived)
{
    *arrived = find_message(from, t->rank, tag, received[from][tag]) != NULL;
    return 0;
}

static void crowd_end_all(struct transport *t, int status)
{
    (void)t;
    _exit(status);
}

size_t crowd_sent(int tag)
{
    size_t n = 0;
    for (int to = 0; to < world_size(); to++) {
        const struct mailbox *box = &crowd->boxes[world_rank()][to];
        for (int i = 0; i < atomic_load(&box->n); i++)
            n += box->messages[i].tag == tag ? box->messages[i].n : 0;
    }
    return n;
}

static void raise_at_signal(int number)
{
    (void)number;
    interrupt_raise();
}

static void interrupt_first(int number)
{
    (void)number;
    kill(crowd->first, SIGUSR1);
}

void crowd_interrupt(void)
{
    enum { MOMENT_US = 20000 /* the first hears from this one before */ };
    interrupt_raise();
    if (world_rank() == 0)
        return;
    signal(SIGALRM, interrupt_first);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = MOMENT_US}, NULL);
}

/* With a processor of its own, as far as there are so many: teams that share theirs do not spin. */
static void take_processor(int rank)
{
    cpu_set_t allowed, own;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    for (int cpu = 0, left = rank % CPU_COUNT(&allowed); left >= 0; cpu++)
        if (CPU_ISSET(cpu, &allowed) && left-- == 0)
            CPU_SET(cpu, &own);
    sched_setaffinity(0, sizeof own, &own);
}

static void run_rank(int rank, int size, void (*act)(void *arg), void *arg)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* none is left of a test that is ended */
    struct transport t = {.rank = rank,
                          .size = size,
                          .host = "here",
                          .one_thread = crowd_one_thread,
                          .send = crowd_send,
                          .receive = crowd_receive,
                          .test = crowd_test,
                          .probe = crowd_probe,
                          .end_all = crowd_end_all};
    take_processor(rank);
    if (rank == 0) {
        crowd->first = getpid();
        signal(SIGUSR1, raise_at_signal);
    }
    if (crowd_of_host > 0)
        snprintf(t.host, sizeof t.host, "host%d", rank / crowd_of_host);
    if (world_use(&t) != 0)
        _exit(1);
    act(arg);
    par_close();
    world_close();
    fflush(NULL);
    _exit(0);
}

/* Others would wait for one that has failed. */
static void end_ranks(const pid_t *pids, int size)
{
    for (int i = 0; i < size; i++)
        if (pids[i] > 0)
            kill(pids[i], SIGKILL);
}

/* How many fail. */
static int wait_ranks(pid_t *pids, int size)
{
    int failed = 0, status;
    for (int left = size; left > 0; left--) {
        const pid_t pid = waitpid(-1, &status, 0);
        for (int i = 0; i < size; i++)
            pids[i] = pids[i] == pid ? 0 : pids[i];
        failed += pid < 0 || status != 0;
        if (pid < 0 || status != 0)
            end_ranks(pids, size);
    }
    return failed;
}

int crowd_run(int size, void (*act)(void *arg), void *arg)
{
    pid_t pids[MOST];
    assert_true(size <= MOST);
    crowd = mmap(NULL, sizeof *crowd, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(crowd != MAP_FAILED);
    fflush(NULL);
    par_close(); /* a child would have its threads without their being there: glibc 2.43 waits */
    for (int i = 0; i < size; i++)
        if ((pids[i] = fork()) == 0)
            run_rank(i, size, act, arg);
    const int failed = wait_ranks(pids, size);
    munmap(crowd, sizeof *crowd);
    return failed;
}
