#ifndef PRATTLE_TESTS_STILL_CLOCK_H
#define PRATTLE_TESTS_STILL_CLOCK_H
/*
 * A clock for a whole test program, in place of model/base/clock.c: the linker takes this one where
 * the program's main file calls any function of either. It stands still but for what it is told.
 */

/* So much time goes by. */
void still_clock_pass(double seconds);
/* From now on, at each look, this much; 0 at first. */
void still_clock_run(double seconds_a_look);

#endif
