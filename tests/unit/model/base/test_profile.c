/* The parts that threads name take the time of their work, and who is done waits. */
#include "tests/lib/still_clock.h"
#include "tests/lib/test.h"

#include "model/base/clock.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"

#include <math.h>

static void work_in_parts(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    const double *work_s = arg;
    assert_int_equal(profile_set(PART_ACTIVATION), PART_REST);
    for (double end = clock_s() + work_s[thread]; clock_s() < end;)
        ;
    assert_int_equal(profile_set(PART_LOSS), PART_ACTIVATION);
    par_barrier();
    assert_int_equal(profile_set(PART_REST), PART_LOSS);
}

static void a_job_in_parts(void **state)
{
    (void)state;
    double work_s[] = {0.01, 0.03}, seconds[N_PARTS], all = 0;
    still_clock_run(1e-6);
    assert_ok(par_open(2, true));
    assert_ok(profile_start(par_threads()));
    double begun = clock_s();
    par_run(work_in_parts, work_s);
    double wall_s = clock_s() - begun;
    profile_stop(seconds);
    for (int i = 0; i < N_PARTS; i++)
        all += seconds[i];
    assert_true(all <= 2 * wall_s);
    /* Threads may come late, but each does its work, and the one that is done waits. */
    assert_true(seconds[PART_ACTIVATION] >= 0.04);
    assert_true(seconds[PART_WAITS] > 0);
    assert_true(seconds[PART_ATTENTION] == 0);
    assert_int_equal(profile_set(PART_ACTIVATION), PART_REST);
    assert_int_equal(profile_set(PART_ACTIVATION), PART_REST);
    par_close();
}

static size_t count_events(const struct profile_lane *l, int span, int part)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n_events; i++)
        n += span >= 0 ? l->events[i].span == span
                       : l->events[i].span < 0 && l->events[i].part == part;
    return n;
}

/* A category within itself is one span of it, and nothing of the one around it. */
static void a_category_in_itself(void **state)
{
    (void)state;
    struct profile_trace t;
    still_clock_run(1e-6);
    assert_ok(par_open(1, true));
    assert_ok(profile_trace_start(1, 0));
    profile_set(PART_LOADER);
    const enum profile_part outer = profile_change(PART_EXCHANGE);
    const enum profile_part inner = profile_change(PART_EXCHANGE);
    clock_s();
    profile_resume(inner);
    clock_s();
    profile_resume(outer);
    profile_trace_stop(&t);
    const struct profile_lane *l = &t.lanes[1];
    assert_int_equal(outer, PART_LOADER);
    assert_int_equal(inner, PART_EXCHANGE);
    assert_int_equal(count_events(l, -1, PART_EXCHANGE), 1);
    assert_int_equal(count_events(l, -1, PART_LOADER), 2);
    assert_true(fabs(l->seconds[PART_EXCHANGE] - 3e-6) < 1e-9);
    profile_trace_release(&t);
    /* Off, nothing is of a category. */
    assert_int_equal(profile_change(PART_EXCHANGE), PART_REST);
    profile_resume(PART_LOADER);
    assert_int_equal(profile_change(PART_EXCHANGE), PART_REST);
    par_close();
}

/* A stage with a category, which a short moment of another does not cut in two. */
static void work_in_stages(void *arg, int thread, int n_threads)
{
    (void)thread, (void)n_threads;
    for (int i = 0; i < *(const int *)arg; i++) {
        profile_begin(SPAN_LAYER, i);
        profile_set(PART_MATRICES);
        profile_work(1e6, 1e3);
        profile_within(PART_ACTIVATION);
        profile_within(PART_MATRICES);
        profile_begin(SPAN_LOSS, -1);
        profile_set(PART_LOSS);
        profile_end();
        profile_end();
    }
}

static void a_trace_of_stages(void **state)
{
    (void)state;
    struct profile_trace t;
    int n = 3;
    double caller_s = 0;
    still_clock_run(1e-6);
    assert_ok(par_open(2, true));
    assert_ok(profile_trace_start(2, 0));
    assert_fails(profile_trace_start(2, 0), ERR_EXISTS, "is being recorded");
    profile_begin(SPAN_COMMAND, -1);
    par_run(work_in_stages, &n);
    const struct profile_mark mark = profile_loader_begin();
    profile_loader_end(mark, SPAN_PREPARE);
    profile_trace_stop(&t); /* ends the stage that is open */
    assert_int_equal(t.n_threads, 2);
    assert_int_equal(profile_trace_dropped(&t), 0);
    for (int i = 0; i < 2; i++) {
        const struct profile_lane *l = &t.lanes[i];
        assert_int_equal(count_events(l, SPAN_LAYER, 0), 3);
        assert_int_equal(count_events(l, SPAN_LOSS, 0), 3);
        /* Before the inner stage, at its beginning, and behind it. */
        assert_int_equal(count_events(l, -1, PART_MATRICES), 9);
        assert_int_equal(count_events(l, -1, PART_LOSS), 3);
        assert_int_equal(count_events(l, -1, PART_ACTIVATION), 0);
        assert_true(l->seconds[PART_ACTIVATION] > 0);
        assert_true(l->flops[PART_MATRICES] == 3e6 && l->bytes[PART_MATRICES] == 3e3);
    }
    assert_int_equal(count_events(&t.lanes[2], SPAN_COMMAND, 0), 1);
    assert_int_equal(count_events(&t.lanes[3], SPAN_PREPARE, 0), 1);
    for (int part = 0; part < N_PARTS; part++)
        caller_s += t.lanes[2].seconds[part];
    assert_true(fabs(caller_s - (t.end - t.begin)) < 1e-9);
    profile_trace_release(&t);
    /* What began in a trace and ends behind it is of none. */
    profile_loader_end(mark, SPAN_PREPARE);
    assert_int_equal(profile_set(PART_LOSS), PART_REST);
    assert_int_equal(profile_set(PART_LOSS), PART_REST);
    par_close();
}

static void a_trace_without_room(void **state)
{
    (void)state;
    struct profile_trace t;
    int n = 1000;
    assert_ok(par_open(2, true));
    assert_ok(profile_trace_start(2, 1));
    par_run(work_in_stages, &n);
    profile_trace_stop(&t);
    for (int i = 0; i < 2; i++) {
        const struct profile_lane *l = &t.lanes[i];
        assert_true(l->n_events <= l->max_events && l->max_events < 100);
        assert_true(l->flops[PART_MATRICES] == 1e9); /* sums go on */
        /* The last room is of stages. */
        assert_true(l->events[l->n_events - 1].span >= 0);
    }
    assert_true(profile_trace_dropped(&t) > 4000);
    profile_trace_release(&t);
    par_close();
}

/* A bench within a profiled command has its own times, and the trace goes on. */
static void times_within_a_trace(void **state)
{
    (void)state;
    struct profile_trace t;
    double seconds[N_PARTS];
    int n = 3;
    assert_ok(par_open(2, true));
    assert_ok(profile_trace_start(2, 0));
    par_run(work_in_stages, &n);
    assert_ok(profile_start(2));
    profile_stop(seconds);
    assert_true(seconds[PART_MATRICES] == 0);
    assert_ok(profile_start(2));
    par_run(work_in_stages, &n);
    profile_stop(seconds);
    assert_true(seconds[PART_MATRICES] > 0);
    profile_trace_stop(&t);
    assert_true(2 * profile_trace_team_s(&t, PART_MATRICES) > seconds[PART_MATRICES]);
    assert_int_equal(count_events(&t.lanes[0], SPAN_LAYER, 0), 6);
    profile_trace_release(&t);
    par_close();
}

static void no_memory_for_a_trace(void **state)
{
    (void)state;
    for (uint64_t k = 1; k <= 2; k++) {
        mem_fail_at(k);
        assert_int_equal(profile_trace_start(2, 0), ERR_NOMEM);
        mem_fail_at(0);
    }
    assert_int_equal(profile_set(PART_LOSS), PART_REST);
    assert_int_equal(profile_set(PART_LOSS), PART_REST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_in_parts),        cmocka_unit_test(a_trace_of_stages),
        cmocka_unit_test(a_trace_without_room),  cmocka_unit_test(times_within_a_trace),
        cmocka_unit_test(no_memory_for_a_trace), cmocka_unit_test(a_category_in_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
