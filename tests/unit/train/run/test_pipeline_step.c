/* A run by the stages of a pipeline comes to the end of one by one process, however often one of
 * its ranks stops it on the way. */
#include "tests/lib/trial.h"

#include "model/base/mem.h"
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

struct pipeline_trial {
    struct trial *t;
    const char *const *mode;
    const char *layers;
    const char *model;  /* NULL: the trial's, of two layers */
    const char *chunks; /* a setting; NULL: none */
    int raising, every; /* the rank that is stopped, at each of so many jobs; 0: none is */
    int lacking;        /* the rank without memory for a step's activation statistics; 0: none */
};

enum { STATS_EVERY = 5 };
#define MODEL_OF_FOUR "random:tests/cli/data/config.json,n_layer=4"

/* Behind this step of the run the next allocation is for the statistics. */
static void lack_at_tick(void *user, const struct metrics *m, int64_t step, double part)
{
    (void)user;
    (void)m;
    (void)part;
    if (step == STATS_EVERY - 2)
        mem_fail_at(1);
}

static void act_stage(void *arg)
{
    const struct pipeline_trial *p = arg;
    struct trial *t = p->t;
    struct run *r;
    struct ticks ticks = {.every = p->every};
    const bool raises = p->every > 0 && world_rank() == p->raising;
    const bool lacks = p->lacking > 0 && world_rank() == p->lacking;
    const struct run_events e = {.tick = raises  ? raise_at_tick
                                         : lacks ? lack_at_tick
                                                 : NULL,
                                 .user = &ticks};
    const char *words[8] = {NULL};
    int rc, n = 0, pauses = 0, failures = 0;
    par_open(1 + world_rank() % 2, false);
    for (; p->mode[n] != NULL; n++)
        words[n] = p->mode[n];
    words[n++] = p->layers;
    if (p->chunks != NULL)
        words[n++] = p->chunks;
    if (p->lacking > 0)
        words[n] = "log_activations_every=5";
    trial_configure(t, words);
    EXPECT(run_new(&r, &t->config, t->model, NULL, &e) == 0);
    EXPECT(run_join(r, 0) == 0);
    while ((rc = trial_go(r, &pauses)) == ERR_NOMEM && failures == 0)
        failures++;
    EXPECT(rc == 0);
    EXPECT(failures == (world_rank() == 0 && p->lacking > 0));
    EXPECT(world_rank() > 0 || p->every == 0 || pauses > 2);
    run_free(r);
}

/* What one process makes of the same model. */
static void expect_end(struct trial *t, const struct pipeline_trial *p)
{
    struct trial one;
    struct buf got = {0}, want = {0};
    if (p->model == NULL) {
        trial_expect_reference(t, p->mode);
        return;
    }
    trial_open(&one, p->mode);
    trial_load(&one, p->model);
    trial_configure(&one, p->mode);
    trial_finish(&one);
    trial_read_end(&one, &want);
    trial_read_end(t, &got);
    assert_int_equal(got.n, want.n);
    assert_memory_equal(got.data, want.data, want.n);
    buf_release(&got);
    buf_release(&want);
    trial_close(&one);
}

static void check_stages(const struct pipeline_trial *how, int size)
{
    struct trial t;
    struct pipeline_trial p = *how;
    trial_open(&t, p.mode);
    if (p.model != NULL)
        trial_load(&t, p.model);
    p.t = &t;
    par_close(); /* no threads where processes are forked */
    assert_int_equal(crowd_run(size, act_stage, &p), 0);
    expect_end(&t, &p);
    trial_close(&t);
}

static void stages_come_to_one_end(void **state)
{
    (void)state;
    check_stages(
        &(struct pipeline_trial){.mode = trial_modes[0], .layers = "layers_per_device=1,1"}, 2);
    check_stages(
        &(struct pipeline_trial){.mode = trial_modes[1], .layers = "layers_per_device=0,1,1"}, 3);
}

/* Thinned, by the last rank, and below with several chunks by the first and the last. */
static void stopped_by_any_rank_too(void **state)
{
    (void)state;
    for (int rank = 0; rank < 3; rank++) {
        if (!thin_runs(rank + 1, 3))
            continue;
        check_stages(&(struct pipeline_trial){.mode = trial_modes[rank % N_TRIAL_MODES],
                                              .layers = "layers_per_device=0,1,1",
                                              .raising = rank,
                                              .every = 13},
                     3);
    }
}

/* A rank's chunks are stopped together, wherever each of them is. */
static void with_several_chunks_too(void **state)
{
    (void)state;
    for (int rank = 0; rank < 3; rank++) {
        if (!thin_runs(rank, 2))
            continue;
        check_stages(&(struct pipeline_trial){.mode = trial_modes[rank % N_TRIAL_MODES],
                                              .layers = rank < 2 ? "layers_per_device=2,2"
                                                                 : "layers_per_device=0,2,2",
                                              .model = MODEL_OF_FOUR,
                                              .chunks = "virtual_stages=2",
                                              .raising = rank,
                                              .every = 19}, /* a step has up to 15 */
                     rank < 2 ? 2 : 3);
    }
}

/* The others have begun the step, and it has not. */
static void one_that_cannot_begin_stops_all(void **state)
{
    (void)state;
    check_stages(&(struct pipeline_trial){.mode = trial_modes[0],
                                          .layers = "layers_per_device=0,1,1",
                                          .lacking = 1},
                 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_come_to_one_end),
        cmocka_unit_test(stopped_by_any_rank_too),
        cmocka_unit_test(with_several_chunks_too),
        cmocka_unit_test(one_that_cannot_begin_stops_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
