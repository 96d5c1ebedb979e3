#ifndef PRATTLE_MODEL_BASE_PROFILE_H
#define PRATTLE_MODEL_BASE_PROFILE_H
/*
 * Where the thread team's time goes, by category. A thread calls profile_set when it begins work of
 * another category. Profiling is off unless the bench switches it on; profile_set then costs one
 * branch, else one reading of the clock.
 */
enum profile_part {
    PART_REST, /* everything not named below */
    PART_MATRICES,
    PART_ATTENTION,
    PART_LAYERNORM,
    PART_ACTIVATION,
    PART_LOSS, /* without its matrix products */
    PART_OPTIMIZER,
    PART_WAITS, /* barriers: waiting for other threads */
    N_PARTS
};

/* Start profiling a team of n_threads; not while a job runs. ERR_NOMEM. */
int profile_start(int n_threads);
/* Stop profiling. seconds: time since profile_start by category, summed over threads; time outside
 * jobs does not count. */
void profile_stop(double seconds[N_PARTS]);

/* Set this thread's category from now on; returns the one before. Does nothing outside jobs or
 * while profiling is off. */
enum profile_part profile_set(enum profile_part part);
/* For par.c: this thread begins a job, in PART_REST, and ends it. */
void profile_enter(int thread);
void profile_leave(void);

#endif
