#ifndef PRATTLE_TESTS_TRIAL_H
#define PRATTLE_TESTS_TRIAL_H
/* Training runs of a few steps on a small model, for tests: how they are put together, and the end
 * that all of them must come to that nothing but a pause tells apart. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "train/run/run.h"
#include "train/config/plan.h"
#include "train/config/resolve.h"
#include "weights/load.h"

enum { TRIAL_STEPS = 12 };

struct trial {
    struct scratch scratch; /* the run is in "run" */
    struct model *model;
    struct run_config config;
};

/* The settings of all trials, then these, NULL behind the last. */
void trial_configure(struct trial *t, const char *const *more);
void trial_load(struct trial *t, const char *path);
void trial_open(struct trial *t, const char *const *more);
void trial_close(struct trial *t);

/* The run in one go, and nobody looks. */
void trial_finish(struct trial *t);

/* The checkpoint called so, of a run the newest, for the caller to close; and its model. */
void trial_go_back(struct trial *t, struct resume *q, const char *name);
int trial_resume(struct run **out, struct trial *t, struct resume *q, const struct run_config *c,
                 const struct run_events *e);

/* Append what a run leaves: the last checkpoint's weights and moments, but not its clock. */
void trial_read_end(struct trial *t, struct buf *out);

/*
 * The ways of training whose end must not depend on what interrupts it: a test's state is one of
 * these. In float16 the scale is too great at first, so that some steps are left out.
 */
enum { N_TRIAL_MODES = 2 };
extern const char *const trial_modes[N_TRIAL_MODES][5];

/* By one of several ranks: run to the end, however often it is paused, 1000 times at most; *pauses
 * counts. */
int trial_go(struct run *r, int *pauses);

/* The trial has come to the end of one in its mode that nothing interrupts. */
void trial_expect_reference(struct trial *t, const char *const *mode);

/* For a run's events. */
struct ticks {
    int n, every; /* Ctrl-C at each of so many micro-batches */
};

void raise_at_tick(void *user, const struct metrics *m, int64_t step, double part);

/* Into an array of metrics, by step. */
void keep_line(void *user, const struct metrics *m);

#endif
