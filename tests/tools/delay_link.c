/*
 * A link with a latency, where the kernel's traffic control can make none: frames go from one
 * network interface to another, each so many microseconds after it came.
 *
 *   delay_link PID NAME HERE MICROSECONDS
 *
 * NAME is the interface in the network of process PID, HERE the one in this network. Both are made
 * (TAP) and are there until the program ends. Prints "there" when they are.
 */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { FRAME = 2048, QUEUE = 4096 };

/* Frames that came from one side and are not due yet. */
struct queue {
    int from, to;
    unsigned first, next; /* of the frames under way; they count on */
    struct frame {
        int64_t due_ns;
        size_t n;
        char bytes[FRAME];
    } frames[QUEUE];
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int make_interface(const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        fail("/dev/net/tun");
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (ioctl(fd, TUNSETIFF, &request) != 0)
        fail(name);
    return fd;
}

static void enter_network(const char *pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
        fail(path);
    close(fd);
}

/* What has come; what finds no room stays where it is, until that is full. */
static void take_frames(struct queue *q, int64_t delay_ns)
{
    while (q->next - q->first < QUEUE) {
        struct frame *f = &q->frames[q->next % QUEUE];
        const ssize_t n = read(q->from, f->bytes, FRAME);
        if (n <= 0)
            return;
        f->n = (size_t)n;
        f->due_ns = now_ns() + delay_ns;
        q->next++;
    }
}

static void send_due(struct queue *q)
{
    while (q->first != q->next && q->frames[q->first % QUEUE].due_ns <= now_ns()) {
        const struct frame *f = &q->frames[q->first++ % QUEUE];
        (void)!write(q->to, f->bytes, f->n); /* lost, where the interface is down */
    }
}

/* Until the next frame of either is due; LONG_NS if there is none. */
static int64_t wait_ns(const struct queue *a, const struct queue *b)
{
    const int64_t LONG_NS = 1000000000, now = now_ns();
    int64_t wait = LONG_NS;
    const struct queue *both[] = {a, b};
    for (int i = 0; i < 2; i++) {
        const struct queue *q = both[i];
        const int64_t due = q->first == q->next ? wait : q->frames[q->first % QUEUE].due_ns - now;
        wait = due < wait ? due : wait;
    }
    return wait > 0 ? wait : 0;
}

static short wants(const struct queue *q)
{
    return q->next - q->first < QUEUE ? POLLIN : 0;
}

int main(int argc, char **argv)
{
    static struct queue out, in;
    if (argc != 5) {
        fprintf(stderr, "delay_link PID NAME HERE MICROSECONDS\n");
        return 2;
    }
    const int64_t delay_ns = INT64_C(1000) * atoi(argv[4]);
    prctl(PR_SET_TIMERSLACK, 1000);
    const int here = make_interface(argv[3]);
    enter_network(argv[1]);
    const int there = make_interface(argv[2]);
    out.from = in.to = there;
    out.to = in.from = here;
    puts("there");
    fflush(stdout);
    for (;;) {
        struct pollfd waits[] = {{.fd = there, .events = wants(&out)},
                                 {.fd = here, .events = wants(&in)}};
        const int64_t ns = wait_ns(&out, &in);
        const struct timespec most = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
        ppoll(waits, 2, &most, NULL);
        if ((waits[0].revents | waits[1].revents) & (POLLERR | POLLHUP | POLLNVAL))
            return 0; /* one of the networks is gone */
        take_frames(&out, delay_ns);
        take_frames(&in, delay_ns);
        send_due(&out);
        send_due(&in);
    }
}
