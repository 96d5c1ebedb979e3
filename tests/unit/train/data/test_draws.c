/* Which source each window is from: shares, phases, going anywhere. */
#include "tests/lib/test.h"

#include "model/base/mem.h"
#include "model/base/rng.h"
#include "train/data/draws.h"

#include <math.h>

static const uint64_t SIZES[MIXTURE_MAX] = {700, 123, 1, 4567, 89, 1000000};

/* n_steps of one window each. */
static struct draws *open_draws(const char *text, int64_t n_steps)
{
    struct mixture m;
    struct draws *d = NULL;
    assert_ok(mixture_parse(&m, text));
    assert_ok(draws_new(&d, &m, SIZES, n_steps, 1));
    mixture_release(&m);
    return d;
}

static const char *const texts[] = {
    "a:0.7,b:0.3",
    "a:1,b:1,c:1",
    "a:0.5,b:0.3,c:0.2",
    "a:0.98,b:0.005,c:0.005,d:0.005,e:0.005",
    "a:3.14159265358979,b:2.71828182845905,c:1.41421356237310,d:1e-7",
    "a:1,b:2,c:4,d:8,e:16,f:32,g:64,h:128,i:256,j:512",
    "a:..,b:..,c:..,d:..,e:..",
    "a:1e-9,b:1e9,c:0",
    "a:1e-301,b:3e-301,c:0",
    "a:5",
};

/* Of any beginning each source has its share to within less than one, of any stretch to within
 * less than two. */
static void shares_are_exact(void **state)
{
    (void)state;
    enum { N = 20000 };
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        struct draws *d = open_draws(texts[t], 0);
        struct draw_cursor c = {0};
        double counts[MIXTURE_MAX] = {0}, least[MIXTURE_MAX] = {0}, most[MIXTURE_MAX] = {0},
               sum = 0;
        for (int i = 0; i < 10; i++)
            sum += draws_share(d, 0, i);
        assert_true(fabs(sum - 1) < 1e-12);
        for (int n = 1; n <= N; n++) {
            uint64_t before;
            int source = draw_cursor_next(d, &c, &before);
            assert_int_equal(before, counts[source]);
            counts[source]++;
            for (int i = 0; i < 10; i++) {
                double off = counts[i] - n * draws_share(d, 0, i);
                least[i] = fmin(least[i], off);
                most[i] = fmax(most[i], off);
                if (fabs(off) >= 1 || most[i] - least[i] >= 2)
                    fail_msg("%s: source %d has %g of %d windows", texts[t], i, counts[i], n);
            }
        }
        draws_free(d);
    }
}

static void weights_become_shares(void **state)
{
    (void)state;
    struct draws *d = open_draws("a:0.7,b:0.3,c:0", 0);
    assert_true(draws_share(d, 0, 0) == 0.7 && draws_share(d, 0, 1) == 0.3);
    assert_true(draws_share(d, 0, 2) == 0);
    draws_free(d);
    d = open_draws("a:3.3333333333333333,b:6.6666666666666666", 0);
    assert_true(fabs(draws_share(d, 0, 0) - 1.0 / 3) < 1e-8);
    draws_free(d);
    static const char *const tiny[] = {"a:1e-15,b:3e-15,c:0", "a:1e-301,b:3e-301,c:0",
                                       "a:1e-310,b:3e-310,c:0", "a:5e-324,b:15e-324,c:0"};
    for (size_t i = 0; i < sizeof tiny / sizeof *tiny; i++) {
        d = open_draws(tiny[i], 0);
        assert_true(fabs(draws_share(d, 0, 0) - 0.25) < 1e-8 && draws_share(d, 0, 2) == 0);
        draws_free(d);
    }
    d = open_draws("a:1e-310,b:0", 0);
    assert_true(draws_share(d, 0, 0) == 1 && draws_share(d, 0, 1) == 0);
    draws_free(d);
    d = open_draws("a:5e-324,b:1e9", 0);
    assert_true(draws_share(d, 0, 0) > 0 && draws_share(d, 0, 0) < 1e-8);
    draws_free(d);
    d = open_draws("a:..,b:..,c:..", 0); /* by size */
    assert_true(draws_share(d, 0, 0) == 700.0 / 824 && draws_share(d, 0, 2) == 1.0 / 824);
    draws_free(d);
}

static void going_anywhere_is_going_on(void **state)
{
    (void)state;
    enum { N = 3000 };
    static int sources[N];
    static uint64_t befores[N];
    static const char *const phased[] = {"a:0.7:..0.2,b:0.3,c:1:0.2..700,d:2.5:700..", "a:..,b:..",
                                         "a:0.61803398874989,b:1"};
    for (size_t t = 0; t < sizeof phased / sizeof *phased; t++) {
        struct draws *d = open_draws(phased[t], N);
        struct draw_cursor c = {0};
        for (int i = 0; i < N; i++)
            sources[i] = draw_cursor_next(d, &c, &befores[i]);
        for (uint64_t k = 0; k < 500; k++) {
            uint32_t w[4];
            uint64_t before;
            rng_words(w, 5, t, k);
            int to = (int)(w[0] % (N - 3));
            draw_cursor_move(d, &c, (uint64_t)to);
            for (int i = 0; i < 4; i++) {
                uint64_t count = 0;
                for (int n = 0; n < to; n++)
                    count += sources[n] == i;
                assert_int_equal(draw_cursor_count(d, &c, i), count);
            }
            for (int i = to; i < to + 3; i++) {
                assert_int_equal(draw_cursor_next(d, &c, &before), sources[i]);
                assert_int_equal(before, befores[i]);
            }
        }
        draws_free(d);
    }
    /* Far away, where weights are short. */
    struct draws *d = open_draws("a:0.7,b:0.3", 0);
    struct draw_cursor c = {0};
    draw_cursor_move(d, &c, 10000000000000000 + 5);
    assert_int_equal(draw_cursor_count(d, &c, 0) + draw_cursor_count(d, &c, 1),
                     10000000000000000 + 5);
    assert_in_range(draw_cursor_count(d, &c, 0), 7000000000000003, 7000000000000004);
    draws_free(d);
}

static void phases_have_their_own_shares(void **state)
{
    (void)state;
    struct draws *d = open_draws("a:0.7:..0.8,b:0.3,c:1:0.8..", 100);
    struct draw_cursor c = {0};
    uint64_t before;
    int counts[2][3] = {{0}};
    assert_int_equal(draws_phases(d), 2);
    assert_int_equal(draws_phase_begin(d, 1), 80);
    assert_int_equal(draws_phase_end(d, 0), 80);
    assert_true(draws_phase_end(d, 1) == INT64_MAX);
    assert_true(draws_share(d, 1, 1) == 3.0 / 13 && draws_share(d, 1, 0) == 0);
    for (int i = 0; i < 106; i++)
        counts[i >= 80][draw_cursor_next(d, &c, &before)]++;
    assert_int_equal(counts[0][0], 56);
    assert_int_equal(counts[0][1], 24);
    assert_int_equal(counts[0][2], 0);
    assert_int_equal(counts[1][0], 0);
    assert_int_equal(counts[1][1], 6); /* the last phase has no end */
    assert_int_equal(counts[1][2], 20);
    draws_free(d);
    /* The same source at two times goes on where it was. */
    d = open_draws("a:1:..10,b:1,a:3:10..", 20);
    c = (struct draw_cursor){0};
    for (uint64_t i = 0, next = 0; i < 20; i++)
        if (draw_cursor_next(d, &c, &before) == 0)
            assert_int_equal(before, next++);
    assert_in_range(draw_cursor_count(d, &c, 0), 5 + 7, 5 + 8);
    draws_free(d);
    d = open_draws("a:1,a:2,b:1", 0); /* together */
    assert_true(draws_share(d, 0, 0) == 0.75);
    draws_free(d);
}

static void gaps_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t n_steps;
        const char *sentence;
    } cases[] = {
        {"a:1:..0.8", 100, "no source of the data has a weight above 0 in steps 81 to 100"},
        {"a:1:..90,b:1:95..", 100, "no source of the data has a weight above 0 in steps 91 to 95"},
        {"a:1:0.5..", 100, "no source of the data has a weight above 0 in steps 1 to 50"},
        {"a:0,b:0", 100, "no source of the data has a weight above 0 in steps 1 to 100"},
        {"a:0,b:1:..7", 0, "no source of the data has a weight above 0 from step 8 on"},
        {"a:1:..0.5", 0,
         "a is drawn in a fraction of the run, whose length is not known: give FROM and UNTIL in "
         "steps, or set training.steps or training.epochs"},
        {"a:1,b:1:0.9..5", 100,
         "b begins at step 91 and ends at step 5 of a run of 100: FROM must come before UNTIL"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mixture m;
        struct draws *d;
        assert_ok(mixture_parse(&m, cases[i].text));
        assert_int_equal(draws_new(&d, &m, SIZES, cases[i].n_steps, 3), ERR_RANGE);
        assert_string_equal(err_text(), cases[i].sentence);
        mixture_release(&m);
    }
    draws_free(open_draws("a:1:..100", 100)); /* an end at the run's own */
    draws_free(open_draws("a:1:..1", 0));
    draws_free(open_draws("a:1:..200,b:1:150..", 100));
    draws_free(open_draws("a:1,b:1:0.5..0.501", 100)); /* less than a step */
}

static void plans_agree_up_to_a_window(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t a, b;
        uint64_t n; /* up to here, and no further */
    } cases[] = {
        {"a:1:..0.5,b:1:0.5..", 100, 200, 50},
        {"a:1:..0.5,b:1:0.5..", 200, 100, 50},
        {"a:1:..50,b:1:50..", 100, 200, UINT64_MAX},
        {"a:1,b:1", 100, 200, UINT64_MAX},
        {"a:1:..0.5,b:2", 10, 1000, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct draws *a = open_draws(cases[i].text, cases[i].a);
        struct draws *b = open_draws(cases[i].text, cases[i].b);
        uint64_t n = cases[i].n == UINT64_MAX ? 100000 : cases[i].n;
        assert_true(draws_agree(a, b, 0) && draws_agree(a, b, n) && draws_agree(b, a, n));
        assert_int_equal(draws_agree(a, b, n + 1), cases[i].n == UINT64_MAX);
        assert_int_equal(draws_agree(b, a, n + 1), cases[i].n == UINT64_MAX);
        draws_free(a);
        draws_free(b);
    }
}

static void memory_runs_out(void **state)
{
    (void)state;
    struct mixture m;
    assert_ok(mixture_parse(&m, "a:1:..5,b:1,c:2:7.."));
    int rc = ERR_NOMEM;
    for (uint64_t k = 1; rc != 0; k++) {
        struct draws *d = NULL;
        mem_fail_at(k);
        rc = draws_new(&d, &m, SIZES, 20, 2);
        mem_fail_at(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        draws_free(d);
    }
    mixture_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_exact),
        cmocka_unit_test(weights_become_shares),
        cmocka_unit_test(going_anywhere_is_going_on),
        cmocka_unit_test(phases_have_their_own_shares),
        cmocka_unit_test(gaps_are_named),
        cmocka_unit_test(plans_agree_up_to_a_window),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
