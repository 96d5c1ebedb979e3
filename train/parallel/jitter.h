#ifndef PRATTLE_TRAIN_PARALLEL_JITTER_H
#define PRATTLE_TRAIN_PARALLEL_JITTER_H
/*
 * Processes that have the same work are not equally fast at every moment: other programs, or the
 * neighbours of a virtual machine, share their cores. Whoever waits for the other then waits for
 * the slower one of that moment.
 *
 * The jitter of two processes is by how much the later one is behind the mean of both, on average
 * and in parts of the time of the work, where the work takes milliseconds. Here speeds are taken
 * as normally distributed, independent of one process to the next, and of what they were a tenth of
 * a second before: longer work differs less, as the root of its length.
 */

/* By ranks 0 and 1 alone, while both compute; a few seconds, the same number for both. Negative:
 * there is no memory. */
double jitter_measure(void);

/* How fast a process is at its moments, numbered from 0: every other one is the one before,
 * mirrored. */
struct jitter_moments {
    float of[256]; /* at every other moment */
    int block;     /* these, from 1 on; 0: none yet */
};
float jitter_moment(struct jitter_moments *m, int process, int moment);
/* How long work of so many seconds takes then; the mean of two moments that follow each other is
 * that number of seconds. A negative jitter is the same with every process slow where it was fast.
 */
double jitter_at(double jitter, float moment, double seconds);
/* How long it takes until the last of n processes, which begin together, has done as much. */
double jitter_last(double jitter, int n, double seconds);

#endif
