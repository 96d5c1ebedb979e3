#ifndef PRATTLE_MODEL_BASE_DISK_QUEUE_H
#define PRATTLE_MODEL_BASE_DISK_QUEUE_H
/*
 * Large pieces of files, read and written ahead of their use by a few threads of their own, which
 * keep several transfers of DISK_PART bytes in flight. Pieces are done in the order in which they
 * were started, so that the one that is wanted next has the whole disk.
 *
 *     disk_queue_start(q, p)    returns at once; p and its memory are the queue's
 *     disk_queue_wait(q, p)     until all of p is done; then they are the caller's again
 */
#include "model/base/disk_file.h"

enum { DISK_PART = 4 << 20 };

struct disk_piece {
    const struct disk_file *file;
    uint64_t at; /* of DISK_UNIT's multiples, as is data; the end is rounded up where it is read */
    size_t bytes;
    char *data;
    bool writes;
    /* Called with each part that was read, by the thread that read it; an error fails the piece.
     * NULL: none. */
    int (*check)(void *user, uint64_t at, const char *data, size_t bytes);
    void *user;
    /* The queue's. */
    struct disk_piece *next;
    size_t n_parts, n_taken, n_done;
    bool started;
    int error;
    char text[256];
};

struct disk_queue;
/* ERR_NOMEM. */
int disk_queue_open(struct disk_queue **out);
/* Waits for all that was started. Accepts NULL. */
void disk_queue_close(struct disk_queue *q);
void disk_queue_start(struct disk_queue *q, struct disk_piece *p);
/* Returns 0, or the error of the first part that failed, with its message; 0 for a piece that was
 * never started. */
int disk_queue_wait(struct disk_queue *q, struct disk_piece *p);
/* All of these at once: read or write a piece and wait for it. */
int disk_queue_run(struct disk_queue *q, struct disk_piece *p);

/*
 * Measure how fast pieces of an open file are read, bytes first .. last - 1 of it, and set
 * f->use_direct to what is faster. *bytes_per_s 0: there is too little to measure. Fails as
 * reading.
 */
int disk_queue_measure(struct disk_queue *q, struct disk_file *f, uint64_t first, uint64_t last,
                       double *bytes_per_s);

#endif
