#include "tests/lib/test.h"

#include "train/optim/schedule.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* The rates of tests/golden/optimizer/schedules.json, by the originals' formulas. */

static const char *const kinds[] = {"constant", "linear", "cosine", "cosine_ramp"};

static struct schedule_config config_of(const json_t *j)
{
    struct schedule_config c = {
        .kind = -1,
        .learning_rate = json_number_value(json_object_get(j, "learning_rate")),
        .min_learning_rate = json_number_value(json_object_get(j, "min_learning_rate")),
        .warmup = json_number_value(json_object_get(j, "warmup")),
        .warmup_init = json_number_value(json_object_get(j, "warmup_init")),
        .decay_start = json_number_value(json_object_get(j, "decay_start")),
        .decay_steps = json_integer_value(json_object_get(j, "decay_steps"))};
    for (int i = 0; i < 4; i++)
        if (strcmp(json_string_value(json_object_get(j, "kind")), kinds[i]) == 0)
            c.kind = i;
    assert_int_not_equal(c.kind, -1);
    return c;
}

static void originals_agree(void **state)
{
    (void)state;
    json_error_t error;
    json_t *all = json_load_file("tests/golden/optimizer/schedules.json", 0, &error), *j, *pair;
    if (all == NULL)
        fail_msg("schedules.json: %s", error.text);
    size_t i, k;
    assert_true(json_array_size(all) >= 9);
    json_array_foreach(all, i, j)
    {
        struct schedule_config c = config_of(j);
        int64_t n_steps = json_integer_value(json_object_get(j, "n_steps"));
        json_array_foreach(json_object_get(j, "rates"), k, pair)
        {
            int64_t step = json_integer_value(json_array_get(pair, 0));
            double want = json_number_value(json_array_get(pair, 1));
            double got = schedule_rate(&c, step, n_steps);
            if (!(fabs(got - want) <= 1e-12 * c.learning_rate))
                fail_msg("%s, step %lld: %.15g, expected %.15g",
                         json_string_value(json_object_get(j, "name")), (long long)step, got, want);
        }
        assert_true(k >= 7);
    }
    json_decref(all);
}

static void ends_hold(void **state)
{
    (void)state;
    struct schedule_config c = {.learning_rate = 1, .min_learning_rate = 0.25, .warmup = 10};
    for (int kind = SCHEDULE_CONSTANT; kind <= SCHEDULE_COSINE_RAMP; kind++) {
        double end = kind == SCHEDULE_CONSTANT ? 1 : 0.25;
        c.kind = kind;
        c.decay_steps = 0;
        assert_true(schedule_rate(&c, 100, 100) == end);
        assert_true(schedule_rate(&c, 100000, 100) == end);
        c.decay_steps = 40;
        assert_true(schedule_rate(&c, 40, 100) == end);
        assert_true(schedule_rate(&c, 99, 100) == end);
        /* Falls from where the warm-up ends, without a jump. */
        for (int64_t s = kind == SCHEDULE_COSINE_RAMP ? 9 : 10; s < 99; s++) {
            double a = schedule_rate(&c, s, 100), b = schedule_rate(&c, s + 1, 100);
            assert_true(a >= b && a - b < 0.1);
        }
    }
    /* All of it warm-up. */
    c.kind = SCHEDULE_COSINE;
    c.decay_steps = 10;
    assert_true(schedule_rate(&c, 9, 100) == 0.9);
    assert_true(schedule_rate(&c, 10, 100) == 0.25);
}

static void warmup_is_steps_or_a_part(void **state)
{
    (void)state;
    struct schedule_config c;
    schedule_config_init(&c);
    c.warmup = 0.1;
    assert_int_equal(schedule_warmup(&c, 1000), 100);
    c.warmup = 1;
    assert_int_equal(schedule_warmup(&c, 1000), 1);
    for (int part = 1; part < 100; part++) { /* as said, where a double is a little less */
        c.warmup = part / 100.0;
        assert_int_equal(schedule_warmup(&c, 100), part);
        assert_int_equal(schedule_warmup(&c, 10100), 101 * part);
        assert_int_equal(schedule_warmup(&c, 99), 99 * part / 100);
    }
    c.warmup = 2000;
    assert_int_equal(schedule_warmup(&c, 1000), 2000);
    c.warmup = 0;
    assert_int_equal(schedule_warmup(&c, 1000), 0);
    assert_true(schedule_rate(&c, 0, 1000) == c.learning_rate);
}

static void falls_late(void **state)
{
    (void)state;
    struct schedule_config c = {.learning_rate = 1, .min_learning_rate = 0.25, .warmup = 10};
    for (int kind = SCHEDULE_LINEAR; kind <= SCHEDULE_COSINE; kind++) {
        c.kind = kind;
        c.decay_steps = 0;
        c.decay_start = 0.5;
        assert_true(schedule_rate(&c, 9, 100) == 0.9);
        for (int64_t s = 10; s <= 50; s++)
            assert_true(schedule_rate(&c, s, 100) == 1);
        assert_true(schedule_rate(&c, 51, 100) < 1);
        assert_true(fabs(schedule_rate(&c, 75, 100) - 0.625) < 1e-12);
        assert_true(schedule_rate(&c, 100, 100) == 0.25);
        /* Before the warm-up's end it says nothing; after the decay's end there is no line. */
        c.decay_start = 4;
        assert_true(schedule_rate(&c, 10, 100) == 1 && schedule_rate(&c, 11, 100) < 1);
        c.decay_start = 70;
        c.decay_steps = 60;
        assert_true(schedule_rate(&c, 59, 100) == 1 && schedule_rate(&c, 60, 100) == 0.25);
    }
    /* It moves neither of the others. */
    for (int64_t s = 0; s < 100; s++)
        for (int kind = SCHEDULE_CONSTANT; kind <= SCHEDULE_COSINE_RAMP; kind += 3) {
            c.kind = kind;
            c.decay_start = 0;
            double was = schedule_rate(&c, s, 100);
            c.decay_start = 0.5;
            assert_true(schedule_rate(&c, s, 100) == was);
        }
}

/* A cycle of a run is a run of its own; the last one has what remains. */
static void begins_anew(void **state)
{
    (void)state;
    struct schedule_config one = {.learning_rate = 1, .min_learning_rate = 0.25, .warmup = 0.1},
                           many = one;
    many.cycles = 3;
    many.decay_start = one.decay_start = 0.5;
    for (int kind = SCHEDULE_CONSTANT; kind <= SCHEDULE_COSINE_RAMP; kind++) {
        one.kind = many.kind = kind;
        for (int64_t s = 0; s < 210; s++) {
            const int64_t cycle = s / 70 < 2 ? s / 70 : 2;
            const double want = schedule_rate(&one, s - 70 * cycle, cycle < 2 ? 70 : 71);
            assert_true(schedule_rate(&many, s, 211) == want);
        }
        assert_true(schedule_rate(&many, 1, 2) == schedule_rate(&one, 1, 2));
    }
    assert_int_equal(schedule_warmup(&many, 211), 7);
    one.kind = many.kind = SCHEDULE_LINEAR;
    assert_true(schedule_rate(&many, 69, 211) < 0.3 && schedule_rate(&many, 70, 211) == 0);
    assert_true(schedule_rate(&many, 77, 211) == 1);
    assert_true(schedule_rate(&many, 1000, 0) == 1);
}

static void a_run_without_an_end(void **state)
{
    (void)state;
    struct schedule_config c = {
        .learning_rate = 1, .min_learning_rate = 0, .warmup = 0.5, .warmup_init = 0.5};
    for (int kind = SCHEDULE_CONSTANT; kind <= SCHEDULE_COSINE_RAMP; kind++) {
        c.kind = kind;
        assert_true(schedule_rate(&c, 0, 0) == 1);
        assert_true(schedule_rate(&c, 1000000, 0) == 1);
    }
    c.kind = SCHEDULE_LINEAR;
    c.warmup = 4;
    c.decay_steps = 8;
    assert_true(schedule_rate(&c, 2, 0) == 0.75);
    assert_true(schedule_rate(&c, 6, 0) == 0.5);
    assert_true(schedule_rate(&c, 9, 0) == 0);
}

/* A rate of 0 has no part that a ramp could begin at. */
static void a_rate_of_nothing_is_a_number(void **state)
{
    (void)state;
    struct schedule_config c = {.warmup = 4};
    for (int kind = SCHEDULE_CONSTANT; kind <= SCHEDULE_COSINE_RAMP; kind++)
        for (int64_t step = 0; step < 12; step++) {
            c.kind = kind;
            assert_true(schedule_rate(&c, step, 10) == 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(originals_agree),
        cmocka_unit_test(ends_hold),
        cmocka_unit_test(falls_late),
        cmocka_unit_test(warmup_is_steps_or_a_part),
        cmocka_unit_test(begins_anew),
        cmocka_unit_test(a_run_without_an_end),
        cmocka_unit_test(a_rate_of_nothing_is_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
