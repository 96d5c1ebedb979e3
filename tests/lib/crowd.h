#ifndef PRATTLE_TESTS_LIB_CROWD_H
#define PRATTLE_TESTS_LIB_CROWD_H
/* Ranks without a launcher: processes that this one forks, over memory that they share. */
#include <stdbool.h>
#include <stddef.h>

/* Run act on each of `size` ranks of a world of their own, rank 0 among the children too. Returns
 * how many ended otherwise than by returning from it without a failed assertion. */
int crowd_run(int size, void (*act)(void *arg), void *arg);
/* How many ranks each host has, one behind another; 0: all are on one. */
extern int crowd_of_host;
/* Ranks may not use several threads, as where MPI serves one alone. */
extern bool crowd_one_thread;
/* What is sent with this tag goes so much later; -1: nothing does. Between others than rank 0 it
 * takes three times as long. */
extern int crowd_late_tag, crowd_late_us;
/* By a rank: it is interrupted, and a moment later rank 0 too, as by Ctrl-C in their terminal. */
void crowd_interrupt(void);
/* By a rank: the bytes that it has sent so far with a tag. */
size_t crowd_sent(int tag);

#endif
