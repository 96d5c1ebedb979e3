/* A run whose ranks have the inputs of recomputed layers in parts comes to the end of one by one
 * process, however often one of its ranks stops it on the way. */
#include "tests/lib/trial.h"

#include "model/base/par.h"
#include "tests/lib/crowd.h"
#include "train/parallel/world.h"

/* In children of the test, where a failed assertion would go nowhere. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            world_end_all(1);                                                                      \
    } while (0)

struct parts_trial {
    struct trial *t;
    const char *words[10];
    int raising, every; /* the rank that is stopped, at each of so many micro-batches; 0: none is */
};

static void act_rank(void *arg)
{
    struct parts_trial *p = arg;
    struct run *r;
    struct ticks ticks = {.every = p->every};
    const bool raises = p->every > 0 && world_rank() == p->raising;
    const struct run_events e = {.tick = raises ? raise_at_tick : NULL, .user = &ticks};
    int pauses = 0;
    par_open(1 + world_rank() % 2, false);
    trial_configure(p->t, p->words);
    EXPECT(run_new(&r, &p->t->config, p->t->model, NULL, &e) == 0);
    EXPECT(run_join(r, 0) == 0);
    EXPECT(trial_go(r, &pauses) == 0);
    EXPECT(world_rank() > 0 || p->every == 0 || pauses > 2);
    run_free(r);
}

static void check_ranks(int mode, int raising, int every)
{
    struct trial t;
    struct parts_trial p = {.t = &t, .raising = raising, .every = every};
    int n = 0;
    for (; trial_modes[mode][n] != NULL; n++)
        p.words[n] = trial_modes[mode][n];
    p.words[n++] = "tensor_parallel=2";
    p.words[n++] = "recompute=all";
    p.words[n++] = "rts_activations=on";
    trial_open(&t, trial_modes[mode]);
    par_close(); /* no threads where processes are forked */
    assert_int_equal(crowd_run(2, act_rank, &p), 0);
    trial_expect_reference(&t, trial_modes[mode]);
    trial_close(&t);
}

static void ranks_come_to_one_end(void **state)
{
    (void)state;
    for (int mode = 0; mode < N_TRIAL_MODES; mode++)
        check_ranks(mode, 0, 0);
}

static void stopped_by_any_rank_too(void **state)
{
    (void)state;
    for (int rank = 0; rank < 2; rank++)
        check_ranks(rank % N_TRIAL_MODES, rank, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_come_to_one_end),
        cmocka_unit_test(stopped_by_any_rank_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
