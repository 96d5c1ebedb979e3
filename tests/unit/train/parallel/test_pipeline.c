/* The order of work in a pipeline: whole, in the order of micro-batches, and without a deadlock. */
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "train/parallel/pipeline.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { STAGES = 6, MICRO = 8 };

struct lists {
    struct pipeline_job *jobs[STAGES];
    int n[STAGES];
};

static void take_lists(struct lists *l, const struct pipeline *p)
{
    for (int i = 0; i < p->stages; i++)
        assert_ok(pipeline_order(&l->jobs[i], &l->n[i], p, i));
}

static void free_lists(struct lists *l, int stages)
{
    for (int i = 0; i < stages; i++)
        mem_free(l->jobs[i]);
}

/* "F0 F1 H0 B0" */
static void write_list(char *out, size_t room, const struct lists *l, int stage)
{
    *out = '\0';
    for (int i = 0; i < l->n[stage]; i++) {
        const size_t n = strlen(out);
        snprintf(out + n, room - n, "%s%c%d", i > 0 ? " " : "", "FHB"[l->jobs[stage][i].work],
                 l -> jobs[stage][i].micro);
    }
}

static void check_order(const struct pipeline *p, const char *const *want)
{
    struct lists l;
    char got[512];
    take_lists(&l, p);
    for (int i = 0; i < p->stages; i++) {
        write_list(got, sizeof got, &l, i);
        assert_string_equal(got, want[i]);
    }
    free_lists(&l, p->stages);
}

static void one_forward_one_backward(void **state)
{
    (void)state;
    const int64_t forward[] = {2, 2, 2};
    check_order(&(struct pipeline){1, 2, 2, forward, 6},
                (const char *const[]){"F0 H0 B0 F1 H1 B1"});
    check_order(
        &(struct pipeline){2, 4, 4, forward, 1},
        (const char *const[]){"F0 F1 H0 F2 H1 B0 H2 F3 B1 B2 H3 B3", "F0 F1 B0 F2 B1 B2 F3 B3"});
    check_order(&(struct pipeline){3, 4, 4, forward, 1},
                (const char *const[]){"F0 F1 F2 H0 F3 H1 H2 B0 H3 B1 B2 B3",
                                      "F0 F1 F2 B0 F3 B1 B2 B3", "F0 F1 B0 F2 B1 F3 B2 B3"});
}

/* The head of the next block's first micro-batch waits for the last backward of this one. */
static void blocks_do_not_mix(void **state)
{
    (void)state;
    const int64_t forward[] = {2, 2};
    struct lists l;
    char got[512];
    take_lists(&l, &(struct pipeline){2, 4, 2, forward, 1});
    write_list(got, sizeof got, &l, 0);
    assert_true(strstr(got, "B1") < strstr(got, "H2"));
    free_lists(&l, 2);
}

/* What a job of a stage waits for has been done by `at` of each. */
static bool can_do(const struct pipeline *p, int done[STAGES][3], int stage,
                   const struct pipeline_job *j)
{
    switch (j->work) {
    case PIPELINE_FORWARD:
        return stage == 0 || done[stage - 1][PIPELINE_FORWARD] > j->micro;
    case PIPELINE_HEAD:
        return done[p->stages - 1][PIPELINE_FORWARD] > j->micro;
    case PIPELINE_BACKWARD:
        break;
    }
    return stage == p->stages - 1 ? done[0][PIPELINE_HEAD] > j->micro
                                  : done[stage + 1][PIPELINE_BACKWARD] > j->micro;
}

/* Work through the lists, whichever stage can go on: all come to their ends. */
static void check_lists(const struct pipeline *p)
{
    struct lists l;
    int at[STAGES] = {0}, done[STAGES][3] = {{0}}, all = 0;
    take_lists(&l, p);
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = p->stages - 1; i >= 0; i--) {
            if (at[i] == l.n[i] || !can_do(p, done, i, &l.jobs[i][at[i]]))
                continue;
            const struct pipeline_job *j = &l.jobs[i][at[i]++];
            assert_int_equal(j->micro, done[i][j->work]);
            done[i][j->work]++;
            if (j->work == PIPELINE_HEAD)
                assert_true(done[0][PIPELINE_BACKWARD] >= j->micro / p->of_block * p->of_block);
            if (j->work == PIPELINE_BACKWARD)
                assert_true(done[i][PIPELINE_FORWARD] > j->micro);
            assert_true(done[i][PIPELINE_FORWARD] - done[i][PIPELINE_BACKWARD] <=
                        pipeline_in_flight(p->stages, p->n_micro, i));
            moved = true;
            all++;
        }
    }
    assert_int_equal(all, (2 * p->stages + 1) * p->n_micro);
    free_lists(&l, p->stages);
}

static void every_order_comes_to_its_end(void **state)
{
    (void)state;
    for (int stages = 1; stages <= STAGES; stages++)
        for (int micro = 1; micro <= MICRO; micro++)
            for (int of_block = 1; of_block <= micro; of_block++)
                for (int uneven = 0; uneven < 3 && micro % of_block == 0; uneven++) {
                    int64_t forward[STAGES];
                    for (int i = 0; i < stages; i++)
                        forward[i] = uneven == 0 ? 10 : uneven == 1 ? i * 10 : 50 - i * 7;
                    check_lists(&(struct pipeline){stages, micro, of_block, forward, uneven * 8});
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_forward_one_backward),
        cmocka_unit_test(blocks_do_not_mix),
        cmocka_unit_test(every_order_comes_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
