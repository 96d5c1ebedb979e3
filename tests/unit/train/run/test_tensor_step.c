/* A run by the ranks of tensor parallelism, of the stages of a pipeline too, comes to the end of
 * one by one process, however often one of its ranks stops it on the way. */
#include "tests/lib/trial.h"

#include "model/base/par.h"
#include "tests/lib/crowd.h"
#include "tests/lib/thin.h"
#include "train/parallel/world.h"

/* In children of the test, where a failed assertion would go nowhere. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            world_end_all(1);                                                                      \
    } while (0)

struct tensor_trial {
    struct trial *t;
    const char *const *mode;
    const char *layers; /* of each stage, a setting; NULL: one has all */
    int raising, every; /* the rank that is stopped, at each of so many micro-batches, or jobs of a
                           stage; 0: none is */
};

static void act_rank(void *arg)
{
    const struct tensor_trial *p = arg;
    struct run *r;
    struct ticks ticks = {.every = p->every};
    const bool raises = p->every > 0 && world_rank() == p->raising;
    const struct run_events e = {.tick = raises ? raise_at_tick : NULL, .user = &ticks};
    const char *words[8] = {NULL};
    int n = 0, pauses = 0;
    par_open(1, false);
    for (; p->mode[n] != NULL; n++)
        words[n] = p->mode[n];
    words[n++] = "tensor_parallel=2";
    words[n] = p->layers;
    trial_configure(p->t, words);
    EXPECT(run_new(&r, &p->t->config, p->t->model, NULL, &e) == 0);
    EXPECT(run_join(r, 0) == 0);
    EXPECT(trial_go(r, &pauses) == 0);
    EXPECT(world_rank() > 0 || p->every == 0 || pauses > 2);
    run_free(r);
}

static void check_ranks(const struct tensor_trial *how, int size)
{
    struct trial t;
    struct tensor_trial p = *how;
    trial_open(&t, p.mode);
    p.t = &t;
    par_close(); /* no threads where processes are forked */
    assert_int_equal(crowd_run(size, act_rank, &p), 0);
    trial_expect_reference(&t, p.mode);
    trial_close(&t);
}

static void ranks_come_to_one_end(void **state)
{
    (void)state;
    for (int mode = 0; mode < N_TRIAL_MODES; mode++)
        check_ranks(&(struct tensor_trial){.mode = trial_modes[mode]}, 2);
}

static void stages_too(void **state)
{
    (void)state;
    check_ranks(&(struct tensor_trial){.mode = trial_modes[0], .layers = "layers_per_device=1,1"},
                4);
    check_ranks(&(struct tensor_trial){.mode = trial_modes[1], .layers = "layers_per_device=0,1,1"},
                6);
}

static void stopped_by_any_rank_too(void **state)
{
    (void)state;
    check_ranks(&(struct tensor_trial){.mode = trial_modes[0], .every = 5}, 2);
    check_ranks(&(struct tensor_trial){.mode = trial_modes[1], .raising = 1, .every = 5}, 2);
}

/* At all jobs of a stage, one after another. Thinned, by one rank of each stage. */
static void stages_are_stopped_by_any_rank_too(void **state)
{
    (void)state;
    for (int rank = 0; rank < 4; rank++) {
        if (!thin_runs(rank, 3))
            continue;
        check_ranks(&(struct tensor_trial){.mode = trial_modes[rank % N_TRIAL_MODES],
                                           .layers = "layers_per_device=1,1",
                                           .raising = rank,
                                           .every = 13},
                    4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_come_to_one_end),
        cmocka_unit_test(stages_too),
        cmocka_unit_test(stopped_by_any_rank_too),
        cmocka_unit_test(stages_are_stopped_by_any_rank_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
