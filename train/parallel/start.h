#ifndef PRATTLE_TRAIN_PARALLEL_START_H
#define PRATTLE_TRAIN_PARALLEL_START_H
/*
 * A rank on its way into the world, where no heartbeats tell of others yet (heartbeat.h): a thread
 * of its own gives word each second that the process is there, and ends it where the ranks have not
 * met in time, for whatever the library that has them meet waits for.
 */

/* Whoever has started the ranks misses one that gives no word for so long, and the ranks each other
 * after so many seconds, and as many more as there are ranks. */
enum { START_SILENT_S = 7, START_LIMIT_S = 120 };

enum start_word {
    START_HERE,  /* and takes signals */
    START_MET,   /* or ends on its own: no more is to come */
    START_APART, /* it ends, as limit_s are over */
};

struct start_config {
    int rank;
    int said_to; /* file descriptor; stays the caller's, open until start_end */
    int limit_s;
};

/* How it is said, before start_begin. NULL: of START_APART alone, plainly. */
void start_say_by(void (*say)(int fd, enum start_word word, int rank));
/* Where there can be no thread, the rank goes unwatched. */
void start_begin(const struct start_config *c);
void start_end(void);

#endif
