#ifndef PRATTLE_MODEL_BASE_PROFILE_H
#define PRATTLE_MODEL_BASE_PROFILE_H
/*
 * Where the team's time goes: each thread says, at the start of a piece of work, which
 * part of the whole it is. Off, as it is but for the bench, that costs a test; on, a
 * look at the clock.
 */
enum profile_part {
    PART_REST, /* what nobody has said anything of */
    PART_MATRICES,
    PART_ATTENTION,
    PART_LAYERNORM,
    PART_ACTIVATION,
    PART_LOSS, /* but for its matrices */
    PART_OPTIMIZER,
    PART_WAITS, /* for other threads */
    N_PARTS
};

/* Measure from now on, a team of n_threads. Between jobs. ERR_NOMEM. */
int profile_start(int n_threads);
/* Stop; the seconds of all threads together since profile_start, in jobs, by part. */
void profile_stop(double seconds[N_PARTS]);

/* What this thread does from now on; returns what it did before. Outside a job, and where
 * nothing is measured: nothing. */
enum profile_part profile_set(enum profile_part part);
/* Of a thread of the team, for par.c: a job begins, in its rest; and ends. */
void profile_enter(int thread);
void profile_leave(void);

#endif
