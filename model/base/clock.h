#ifndef PRATTLE_MODEL_BASE_CLOCK_H
#define PRATTLE_MODEL_BASE_CLOCK_H

/* Seconds of a clock that never goes back; only differences mean anything. */
double clock_s(void);
/* Sleep, at most until a signal comes. */
void clock_sleep_s(double seconds);

#endif
