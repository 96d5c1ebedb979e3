#ifndef PRATTLE_TRAIN_PARALLEL_HEARTBEAT_H
#define PRATTLE_TRAIN_PARALLEL_HEARTBEAT_H
/*
 * Whether the ranks of a world are alive. Each sends a byte twice a second to rank 0, and rank 0 to
 * each, by TCP, between hosts by UDP too, and from a thread that does nothing else: a rank that
 * computes for long still beats, one that is stopped, or whose host is gone, does not. A rank whose
 * process ends closes its connection, which is noticed at once.
 *
 * Silence is counted in this thread's own rounds, so that a machine which slept, or which has no
 * time for this process either, accuses nobody.
 */
#include <netinet/in.h>
#include <stdbool.h>

enum heartbeat_end {
    HEARTBEAT_ENDED,
    HEARTBEAT_SILENT,
    HEARTBEAT_MISSED /* this rank itself was silent, and another has told of it */
};

struct heartbeat_config {
    int rank, size;
    int beat_ms, silent_ms; /* 0: BEAT_MS, SILENT_MS */
    /*
     * By the thread, once for each rank: `rank` has ended without saying so, or is silent; n of
     * its host are silent now, itself included. Ranks other than 0 only hear of rank 0, and of
     * themselves, where they have been missed.
     */
    void (*lost)(void *user, int rank, enum heartbeat_end how, int n);
    bool (*same_host)(void *user, int rank, int other); /* NULL: all are of one */
    void *user;
};
enum { HEARTBEAT_BEAT_MS = 500, HEARTBEAT_SILENT_MS = 7000 };

/* Where rank 0 listens: bytes to be sent to the others, who show the token. */
enum { HEARTBEAT_TOKEN = 16, HEARTBEAT_ADDRESSES = 8 };
struct heartbeat_place {
    unsigned char token[HEARTBEAT_TOKEN];
    int n;
    struct sockaddr_in6 addresses[HEARTBEAT_ADDRESSES]; /* IPv4 ones are mapped */
};

struct heartbeat;

/* Rank 0: listen and beat; `here`: only this host's ranks will come. ERR_IO, ERR_NOMEM. */
int heartbeat_listen(struct heartbeat **out, const struct heartbeat_config *c, bool here,
                     struct heartbeat_place *place);
/* Others: connect to rank 0, and beat from then on. ERR_IO: it is not to be reached. */
int heartbeat_join(struct heartbeat **out, const struct heartbeat_config *c,
                   const struct heartbeat_place *place);
/* Rank 0: the silence or end of those that have joined is a loss from now on. joined [size]: the
 * others gave up waiting for rank 0's first byte, and the end of their connections is no loss. */
void heartbeat_watch(struct heartbeat *h, const bool *joined);
/* Say goodbye, so that the end of this process is no loss. */
void heartbeat_stop(struct heartbeat *h);

#endif
