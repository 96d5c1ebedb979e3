#ifndef PRATTLE_TRAIN_PARALLEL_LOSS_H
#define PRATTLE_TRAIN_PARALLEL_LOSS_H
/*
 * What comes of a rank that is no more, as heartbeats tell: it is named once, and the ranks that
 * are left end, rank 0 once it comes to wait for others. world.c has its own looked after.
 */
#include <stdbool.h>
#include <stddef.h>

#define LOSS_ENDED "its process has ended"
#define LOSS_SILENT "it has not been heard of for %d s, so it is stopped or its host is gone"

struct loss {
    int rank, n; /* and n - 1 others of its host */
    const char *host, *reason;
};

/* How it is said, by a thread of its own, to a file descriptor: where standard error led when the
 * world was opened. NULL: plainly. */
void loss_say_by(void (*say)(int fd, const struct loss *l));
/* That descriptor; -1: none. */
int loss_words(void);
/* Rank 0, by the thread that waits, in place of waiting; then the process ends. NULL: nothing. */
void loss_use(void (*act)(void *user), void *user);
/* Whether what rank 0 is at is nothing without the others: then it does not go on with it until it
 * comes to wait for them. */
void loss_needs_all(bool needs);
/* Does not return where rank 0 has lost another; by the thread that exchanges bytes. */
void loss_check(void);

/* The world that is looked after. */
struct loss_world {
    int rank, size;
    const char *(*host)(int rank);
    void (*broadcast)(void *data, size_t n, int from);
    void (*gather)(void *all, const void *own, size_t n);
};
/* By all. ERR_NOMEM. Where rank 0 is not to be reached, a rank that stops is not noticed; of one
 * that ends, mpirun takes notice. */
int loss_watch(const struct loss_world *w, int said_to);
/* From here on no rank waits for another. */
void loss_expect_end(void);
void loss_forget(void);

#endif
