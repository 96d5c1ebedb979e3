/* The order of work in a pipeline: whole, in the order of micro-batches, and without a deadlock. */
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "train/parallel/pipeline.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { STAGES = 6, CHUNKS = 3, MICRO = 12 };

struct plans {
    struct pipeline_plan of[STAGES];
};

static void take_plans(struct plans *l, const struct pipeline *p)
{
    for (int i = 0; i < p->ring.stages; i++)
        assert_ok(pipeline_plan(&l->of[i], p, i));
}

static void release_plans(struct plans *l, int stages)
{
    for (int i = 0; i < stages; i++)
        pipeline_plan_release(&l->of[i]);
}

/* "F0 F1 H0 B0"; of a chunk behind the first "F0'" */
static void write_list(char *out, size_t room, const struct plans *l, int stage)
{
    *out = '\0';
    for (int i = 0; i < l->of[stage].n_jobs; i++) {
        const struct pipeline_job *j = &l->of[stage].jobs[i];
        const size_t n = strlen(out);
        snprintf(out + n, room - n, "%s%c%d%s", i > 0 ? " " : "", "FHB"[j->work], j -> micro,
                 j -> chunk > 0 ? "'" : "");
    }
}

static void check_order(const struct pipeline *p, const char *const *want)
{
    struct plans l;
    char got[512];
    take_plans(&l, p);
    for (int i = 0; i < p->ring.stages; i++) {
        write_list(got, sizeof got, &l, i);
        assert_string_equal(got, want[i]);
    }
    release_plans(&l, p->ring.stages);
}

static void one_forward_one_backward(void **state)
{
    (void)state;
    const int64_t forward[] = {2, 2, 2};
    check_order(&(struct pipeline){{1, 1, false}, 2, 2, forward, 6},
                (const char *const[]){"F0 H0 B0 F1 H1 B1"});
    check_order(
        &(struct pipeline){{2, 1, false}, 4, 4, forward, 1},
        (const char *const[]){"F0 F1 H0 F2 H1 B0 H2 F3 B1 B2 H3 B3", "F0 F1 B0 F2 B1 B2 F3 B3"});
    check_order(&(struct pipeline){{3, 1, false}, 4, 4, forward, 1},
                (const char *const[]){"F0 F1 F2 H0 F3 H1 H2 B0 H3 B1 B2 B3",
                                      "F0 F1 F2 B0 F3 B1 B2 B3", "F0 F1 B0 F2 B1 F3 B2 B3"});
}

/* Two micro-batches through both chunks, then two more. */
static void chunks_are_interleaved(void **state)
{
    (void)state;
    const int64_t forward[] = {2, 2, 2, 2, 2, 2};
    check_order(
        &(struct pipeline){{2, 2, false}, 4, 4, forward, 1},
        (const char *const[]){"F0 F1 F0' F1' H0 F2 H1 F3 B0' F2' B1' F3' B0 H2 B1 H3 B2' B3' B2 B3",
                              "F0 F1 F0' F1' B0' F2 B1' F3 B0 F2' B1 F3' B2' B3' B2 B3"});
    check_order(&(struct pipeline){{3, 2, true}, 2, 2, forward, 1},
                (const char *const[]){"F0 F1 H0 H1 B0 B1", "F0 F1 F0' F1' B0' B1' B0 B1",
                                      "F0 F1 F0' F1' B0' B1' B0 B1"});
}

/* The bubble is that of Narayanan et al. 2021: (stages - 1) / chunks micro-batches' time, also
 * where the micro-batches are no multiple of the stages. */
static void chunks_lessen_the_bubble(void **state)
{
    (void)state;
    for (int stages = 2; stages <= 4; stages++)
        for (int micro = stages; micro <= 12; micro++)
            for (int chunks = 2; chunks <= 4; chunks++) {
                int64_t forward[16];
                struct pipeline_plan plan;
                for (int i = 0; i < 16; i++)
                    forward[i] = 120000 / chunks;
                const struct pipeline p = {{stages, chunks, false}, micro, micro, forward, 1};
                assert_ok(pipeline_plan(&plan, &p, 0));
                const double filling = (stages - 1.0) / chunks;
                assert_true(fabs(plan.idle - filling / (micro + filling)) < 0.001);
                pipeline_plan_release(&plan);
            }
}

/* Where groups would have the stages wait for a head that takes as long as their layers. */
static void a_long_head_is_not_waited_for(void **state)
{
    (void)state;
    const int64_t forward[] = {2, 4, 2, 4};
    struct pipeline_plan once, twice;
    assert_ok(pipeline_plan(
        &once, &(struct pipeline){{2, 1, false}, 16, 16, (const int64_t[]){4, 8}, 16}, 0));
    assert_ok(pipeline_plan(&twice, &(struct pipeline){{2, 2, false}, 16, 16, forward, 16}, 0));
    assert_true(twice.idle < once.idle);
    pipeline_plan_release(&once);
    pipeline_plan_release(&twice);
}

/* The head of the next block's first micro-batch waits for the last backward of this one. */
static void blocks_do_not_mix(void **state)
{
    (void)state;
    const int64_t forward[] = {2, 2};
    struct plans l;
    char got[512];
    take_plans(&l, &(struct pipeline){{2, 1, false}, 4, 2, forward, 1});
    write_list(got, sizeof got, &l, 0);
    assert_true(strstr(got, "B1") < strstr(got, "H2"));
    release_plans(&l, 2);
}

/* How often each place of the ring has done what. */
typedef int done_table[STAGES * CHUNKS][3];

/* What a job of a stage waits for has been done. */
static bool can_do(const struct pipeline *p, done_table done, int place,
                   const struct pipeline_job *j)
{
    const int last = chunk_ring_size(&p->ring) - 1;
    switch (j->work) {
    case PIPELINE_FORWARD:
        return place == 0 || done[place - 1][PIPELINE_FORWARD] > j->micro;
    case PIPELINE_HEAD:
        return done[last][PIPELINE_FORWARD] > j->micro;
    case PIPELINE_BACKWARD:
        break;
    }
    return place == last ? done[0][PIPELINE_HEAD] > j->micro
                         : done[place + 1][PIPELINE_BACKWARD] > j->micro;
}

/* What the bits and the memory need, as the job is done. */
static void check_job(const struct pipeline *p, const struct plans *l, done_table done, int stage,
                      const struct pipeline_job *j)
{
    const int place = chunk_ring_place(&p->ring, stage, j->chunk),
              before = j->micro / p->of_block * p->of_block;
    assert_in_range(j->chunk, 0, chunk_ring_chunks(&p->ring, stage) - 1);
    assert_int_equal(j->micro, done[place][j->work]);
    done[place][j->work]++;
    if (j->work == PIPELINE_HEAD)
        assert_true(done[0][PIPELINE_BACKWARD] >= before);
    if (j->work == PIPELINE_BACKWARD) {
        assert_true(done[place][PIPELINE_FORWARD] > j->micro);
        for (int i = 0; i < chunk_ring_chunks(&p->ring, stage); i++) /* of blocks before */
            assert_true(done[chunk_ring_place(&p->ring, stage, i)][PIPELINE_BACKWARD] >= before);
    }
    assert_true(done[place][PIPELINE_FORWARD] - done[place][PIPELINE_BACKWARD] <=
                l->of[0].slots[stage * p->ring.chunks + j->chunk]);
    assert_true(done[0][PIPELINE_BACKWARD] <= done[place][PIPELINE_BACKWARD]);
}

/* Work through the lists, whichever stage can go on: all come to their ends. */
static void check_lists(const struct pipeline *p)
{
    struct plans l;
    done_table done = {{0}};
    int at[STAGES] = {0}, all = 0;
    take_plans(&l, p);
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = p->ring.stages - 1; i >= 0; i--) {
            if (at[i] == l.of[i].n_jobs)
                continue;
            const struct pipeline_job *j = &l.of[i].jobs[at[i]];
            if (!can_do(p, done, chunk_ring_place(&p->ring, i, j->chunk), j))
                continue;
            at[i]++;
            check_job(p, &l, done, i, j);
            moved = true;
            all++;
        }
    }
    assert_int_equal(all, (2 * chunk_ring_size(&p->ring) + 1) * p->n_micro);
    release_plans(&l, p->ring.stages);
}

/* Chunks that all cost the same, or each something else. */
static void check_costs(struct chunk_ring ring, int micro, int of_block)
{
    int64_t forward[STAGES * CHUNKS];
    for (int uneven = 0; uneven < 3; uneven++) {
        for (int i = 0; i < chunk_ring_size(&ring); i++)
            forward[i] = uneven == 0 ? 10 : uneven == 1 ? i * 10 : 50 + i % 3 * 30 - i;
        check_lists(&(struct pipeline){ring, micro, of_block, forward, uneven * 60});
    }
}

static void every_order_comes_to_its_end(void **state)
{
    (void)state;
    for (int stages = 1; stages <= STAGES; stages++)
        for (int chunks = 1; chunks <= (stages > 1 ? CHUNKS : 1); chunks++)
            for (int micro = 1; micro <= MICRO; micro++)
                for (int of_block = 1; of_block <= micro; of_block++)
                    for (int bare = 0; bare < 2 && micro % of_block == 0; bare++)
                        if (bare == 0 || stages > 2)
                            check_costs((struct chunk_ring){stages, chunks, bare == 1}, micro,
                                        of_block);
}

/* The clock of the order, in seconds: without messages its own time; a single micro-batch waits for
 * each message. */
static void times_are_those_of_the_order(void **state)
{
    (void)state;
    const int64_t costs[] = {6, 4, 5, 3};
    const double forward[] = {6, 4, 5, 3}, backward[] = {12, 8, 10, 6};
    struct pipeline_plan plan;
    struct pipeline_time t;
    for (int of_block = 1; of_block <= 6; of_block++) {
        const struct pipeline p = {{2, 2, false}, 2 * of_block, of_block, costs, 7};
        const struct pipeline_seconds s = {forward, backward, .head = 7};
        assert_ok(pipeline_plan(&plan, &p, PIPELINE_ALL));
        assert_int_equal(plan.n_jobs, 9 * p.n_micro);
        assert_ok(pipeline_time(&t, &p, &plan, &s));
        assert_true(fabs(t.busy - p.n_micro * (3 * 11 + 7)) < 1e-9);
        assert_true(fabs(p.n_micro * (3 * 18 + 7) / (2 * t.all) - (1 - plan.idle)) < 1e-9);
        pipeline_plan_release(&plan);
    }
    const struct pipeline one = {{2, 2, false}, 1, 1, costs, 7};
    assert_ok(pipeline_plan(&plan, &one, PIPELINE_ALL));
    assert_ok(
        pipeline_time(&t, &one, &plan, &(struct pipeline_seconds){forward, backward, 7, 2, 0.5, 0}));
    assert_true(fabs(t.all - (3 * 18 + 7 + 8 * 2.5)) < 1e-9);
    pipeline_plan_release(&plan);
    /* A link that is busy longer than the stages has one message at a time, each way. */
    const struct pipeline many = {{2, 1, false}, 20, 20, costs, 1};
    assert_ok(pipeline_plan(&plan, &many, PIPELINE_ALL));
    assert_ok(
        pipeline_time(&t, &many, &plan, &(struct pipeline_seconds){forward, backward, .head = 1, .message = 100}));
    assert_true(t.all >= 40 * 100 && t.all < 80 * 100);
    pipeline_plan_release(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_forward_one_backward),
        cmocka_unit_test(chunks_are_interleaved),
        cmocka_unit_test(chunks_lessen_the_bubble),
        cmocka_unit_test(blocks_do_not_mix),
        cmocka_unit_test(a_long_head_is_not_waited_for),
        cmocka_unit_test(times_are_those_of_the_order),
        cmocka_unit_test(every_order_comes_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
