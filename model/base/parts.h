#ifndef PRATTLE_MODEL_BASE_PARTS_H
#define PRATTLE_MODEL_BASE_PARTS_H
/*
 * Where the team's time goes: each thread says, at the start of a piece of work, which
 * part of the whole it is. Off, as it is but for the bench, that costs a test; on, a
 * look at the clock.
 */
enum team_part {
    PART_REST, /* what nobody has said anything of */
    PART_MATRICES,
    PART_ATTENTION,
    PART_LAYERNORM,
    PART_GELU,
    PART_LOSS, /* but for its matrices */
    PART_OPTIMIZER,
    PART_WAITS, /* for other threads */
    N_PARTS
};

/* Measure from now on, for teams as large as the one there is. Between jobs. ERR_NOMEM. */
int parts_start(void);
/* Stop; the seconds of all threads together since parts_start, in jobs, by part. */
void parts_stop(double seconds[N_PARTS]);

/* What this thread does from now on; returns what it did before. Outside a job, and where
 * nothing is measured: nothing. */
enum team_part parts_set(enum team_part part);
/* Of a thread of the team, by par.c: a job begins, in its rest; and ends. */
void parts_enter(int thread);
void parts_leave(void);

#endif
