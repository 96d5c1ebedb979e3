#include "tests/lib/still_clock.h"

#include "model/base/clock.h"

#include <sched.h>
#include <stdatomic.h>

/* In nanoseconds; threads may look at once. */
static atomic_llong now = 1000000000, a_look;

void still_clock_pass(double seconds)
{
    atomic_fetch_add(&now, (long long)(seconds * 1e9));
}

void still_clock_run(double seconds_a_look)
{
    atomic_store(&a_look, (long long)(seconds_a_look * 1e9));
}

/* Whoever looks again and again, or sleeps, waits for another thread, which may want this CPU. */
double clock_s(void)
{
    long long ns = atomic_load(&a_look);
    sched_yield();
    return 1e-9 * (double)(atomic_fetch_add(&now, ns) + ns);
}

void clock_sleep_s(double seconds)
{
    still_clock_pass(seconds);
    sched_yield();
}
