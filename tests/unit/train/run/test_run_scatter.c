/* A run with zero=2 comes to the end of one by one process, wherever its ranks are in a step that
 * does not go on: some in the middle of it, others before its first micro-batch. */
#include "tests/lib/trial.h"

#include "model/base/err.h"
#include "model/base/par.h"
#include "model/base/progress.h"
#include "tests/lib/crowd.h"
#include "tests/lib/thin.h"
#include "train/parallel/world.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANKS = 3, MOST_RANKS = 8 };

/* In children of the test, where a failed assertion would go nowhere. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            world_end_all(1);                                                                      \
    } while (0)

/* Two micro-batches a block. */
static const char *const words[] = {"zero=2", "micro_batch_size=1", "gradient_accumulation=8",
                                    "gradient_blocks=4", NULL};
static const char *const *const words_of_one = words + 1;

struct scatter_trial {
    struct trial *t;
    int ranks;             /* 0: RANKS */
    const char *layout[2]; /* settings; NULL: none */
    int late;              /* the rank that is stopped before its first micro-batch */
    int64_t step;          /* of this step, once the others are in it */
    int raising, every;    /* the rank that is stopped, at each of so many; 0: that one */
    bool alone;            /* and rank 0 hears of it from that one only */
    atomic_bool *reached;  /* [MOST_RANKS], shared: this rank is in that step */
    bool raised;
    struct ticks ticks;
};

static void tick(void *user, const struct metrics *m, int64_t step, double part)
{
    struct scatter_trial *s = user;
    if (s->every > 0) {
        if (world_rank() != s->raising)
            return;
        if (!s->alone)
            raise_at_tick(&s->ticks, m, step, part);
        else if (++s->ticks.n % s->every == 0)
            interrupt_raise();
        return;
    }
    if (step == s->step && world_rank() != s->late && part > 0)
        s->reached[world_rank()] = true;
    if (step != s->step || world_rank() != s->late || s->raised)
        return;
    for (int i = 0; i < world_size(); i++)
        while (i != s->late && !s->reached[i])
            sched_yield();
    s->raised = true;
    crowd_interrupt();
}

static void act_rank(void *arg)
{
    struct scatter_trial *s = arg;
    struct trial *t = s->t;
    struct run *r;
    const struct run_events e = {.tick = tick, .user = s};
    int pauses = 0;
    s->ticks = (struct ticks){.every = s->every};
    par_open(1 + world_rank() % 2, false);
    const char *all[8] = {NULL};
    memcpy(all, words, sizeof words);
    memcpy(all + sizeof words / sizeof *words - 1, s->layout, sizeof s->layout);
    trial_configure(t, all);
    EXPECT(run_new(&r, &t->config, t->model, NULL, &e) == 0);
    EXPECT(run_join(r, 0) == 0);
    EXPECT(trial_go(r, &pauses) == 0);
    EXPECT(world_rank() > 0 || pauses > 0);
    EXPECT(s->every > 0 || world_rank() != s->late || s->raised);
    run_free(r);
}

/* As one process has it, which nothing stops. */
static const struct buf *reference_end(void)
{
    static struct buf end;
    struct trial t;
    if (end.n > 0)
        return &end;
    trial_open(&t, words_of_one);
    trial_finish(&t);
    trial_read_end(&t, &end);
    trial_close(&t);
    return &end;
}

static void check_ranks(struct scatter_trial s)
{
    struct trial t;
    const struct buf *want = reference_end();
    struct buf got = {0};
    s.reached = mmap(NULL, MOST_RANKS * sizeof *s.reached, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(s.reached != MAP_FAILED);
    trial_open(&t, words_of_one);
    s.t = &t;
    par_close(); /* no threads where processes are forked */
    assert_int_equal(crowd_run(s.ranks > 0 ? s.ranks : RANKS, act_rank, &s), 0);
    trial_read_end(&t, &got);
    assert_int_equal(got.n, want->n);
    assert_memory_equal(got.data, want->data, got.n);
    buf_release(&got);
    trial_close(&t);
    munmap(s.reached, MOST_RANKS * sizeof *s.reached);
}

/* Rank 0 has two blocks, each other has one. */
static void one_is_stopped_before_it_begins(void **state)
{
    (void)state;
    for (int late = 0; late < RANKS; late++)
        check_ranks((struct scatter_trial){.late = late, .step = 5});
}

static void that_step_may_be_the_first(void **state)
{
    (void)state;
    for (int late = 0; late < RANKS; late++)
        check_ranks((struct scatter_trial){.late = late, .step = 0});
}

static void stopped_by_any_rank_too(void **state)
{
    (void)state;
    for (int rank = 0; rank < RANKS; rank++) {
        if (thin_runs(rank, 2))
            check_ranks((struct scatter_trial){.raising = rank, .every = 11 + rank});
        if (thin_runs(rank + 1, 2))
            check_ranks(
                (struct scatter_trial){.layout = {"zero=1"}, .raising = rank, .every = 5 + rank});
    }
}

/* Of stages, shards and both, wherever others of the replica and of the other one are. */
static void in_pipelines_and_shards_too(void **state)
{
    (void)state;
    for (int rank = 0; rank < 4; rank++) {
        if (thin_runs(rank, 3))
            check_ranks((struct scatter_trial){.ranks = 4,
                                               .layout = {"layers_per_device=1,1"},
                                               .raising = rank,
                                               .every = 13 + rank});
        if (thin_runs(rank + 1, 3))
            check_ranks((struct scatter_trial){
                .ranks = 4, .layout = {"tensor_parallel=2"}, .raising = rank, .every = 11 + rank});
    }
    for (int rank = 1; rank < 4; rank += 2) /* where rank 0 waits a second for its own Ctrl-C */
        check_ranks((struct scatter_trial){.ranks = 4,
                                           .layout = {"tensor_parallel=2"},
                                           .raising = rank,
                                           .every = 26 - 3 * rank,
                                           .alone = true});
    for (int rank = 0; rank < 8; rank += 5)
        if (thin_runs(rank + 5, 10))
            check_ranks(
                (struct scatter_trial){.ranks = 8,
                                       .layout = {"layers_per_device=0,2", "tensor_parallel=2"},
                                       .raising = rank,
                                       .every = 17 + rank});
}

static void act_refused(void *arg)
{
    struct scatter_trial *s = arg;
    struct run *r = NULL;
    const struct run_events e = {0};
    par_open(1, false);
    const char *all[8] = {NULL};
    memcpy(all, words, sizeof words);
    memcpy(all + sizeof words / sizeof *words - 1, s->layout, sizeof s->layout);
    trial_configure(s->t, all);
    EXPECT(run_new(&r, &s->t->config, s->t->model, NULL, &e) == ERR_UNSUPPORTED);
    EXPECT(r == NULL &&
           strstr(err_text(), "this MPI serves one thread of a process alone") != NULL);
    EXPECT(strstr(err_text(), s->layout[1] == NULL ? "zero=1" : "tensor_parallel=1") != NULL);
}

/* zero=1 does with one: the weights then come before the next step begins. */
static void where_mpi_serves_one_thread_zero_1_is_left(void **state)
{
    (void)state;
    struct trial t;
    crowd_one_thread = true;
    trial_open(&t, words_of_one);
    par_close();
    assert_int_equal(crowd_run(2, act_refused, &(struct scatter_trial){.t = &t}), 0);
    assert_int_equal(
        crowd_run(2, act_refused,
                  &(struct scatter_trial){.t = &t, .layout = {"zero=0", "tensor_parallel=2"}}),
        0);
    /* Rank 0 has undone what it made, and no rank more than that. */
    assert_int_not_equal(access(scratch_path(&t.scratch, "run"), F_OK), 0);
    assert_int_equal(access(t.scratch.folder, F_OK), 0);
    trial_close(&t);
    check_ranks((struct scatter_trial){.layout = {"zero=1"}, .raising = 1, .every = 7});
    crowd_one_thread = false;
}

int main(void)
{
    crowd_of_host = 1;           /* what is hidden between hosts is not within one */
    crowd_late_tag = TAG_SPREAD; /* so that what does not wait for it reads what was there before */
    crowd_late_us = 2000;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_is_stopped_before_it_begins),
        cmocka_unit_test(that_step_may_be_the_first),
        cmocka_unit_test(stopped_by_any_rank_too),
        cmocka_unit_test(in_pipelines_and_shards_too),
        cmocka_unit_test(where_mpi_serves_one_thread_zero_1_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
