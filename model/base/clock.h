#ifndef PRATTLE_MODEL_BASE_CLOCK_H
#define PRATTLE_MODEL_BASE_CLOCK_H

/* Seconds on the monotonic clock; only differences are meaningful. */
double clock_s(void);
/* Sleep; a signal ends it early. */
void clock_sleep_s(double seconds);

#endif
