/* The spike guard against weighted means of x and of x^2: a spike is what lies more than z standard
 * deviations above the mean, in either series. */
#include "tests/lib/normal.h"
#include "tests/lib/test.h"

#include "train/optim/spike_guard.h"

#include <math.h>

enum { WINDOW = 100, STEPS = 350 };
static const double MEANS[SPIKE_SERIES] = {3, 40}, DEVIATIONS[SPIKE_SERIES] = {0.25, 4};

/* The same moments in another form: of the first WINDOW steps all weigh the same, from then on the
 * newest weighs 1 / WINDOW. */
struct plain_moments {
    double n, mean, square;
};

static void add_plainly(struct plain_moments *p, double x)
{
    p->n++;
    const double share = 1 / fmin(p->n, WINDOW);
    p->mean = (1 - share) * p->mean + share * x;
    p->square = (1 - share) * p->square + share * x * x;
}

static double plain_variance(const struct plain_moments *p)
{
    return p->square - p->mean * p->mean;
}

static double sample(int series, int step)
{
    return MEANS[series] + DEVIATIONS[series] * normal_number(2, (uint64_t)series, (uint64_t)step);
}

static void add_sample(struct spike_guard *g, struct plain_moments *plain, int step)
{
    spike_guard_add(g, sample(SPIKE_LOSS, step), sample(SPIKE_NORM, step));
    for (int i = 0; i < SPIKE_SERIES; i++)
        add_plainly(&plain[i], sample(i, step));
}

static void the_moments_are_those_of_the_last_hundred_steps(void **state)
{
    (void)state;
    struct spike_guard g = {0};
    struct plain_moments plain[SPIKE_SERIES] = {0};
    for (int step = 0; step < STEPS; step++) {
        add_sample(&g, plain, step);
        assert_int_equal(g.n, step + 1);
        for (int i = 0; i < SPIKE_SERIES; i++) {
            assert_true(fabs(g.mean[i] - plain[i].mean) < 1e-10 * MEANS[i]);
            assert_true(fabs(g.variance[i] - plain_variance(&plain[i])) < 1e-10 * plain[i].square);
        }
    }
}

static void a_spike_is_above_z_deviations(void **state)
{
    (void)state;
    static const double z[] = {0.5, 3, 6};
    struct spike_guard g = {0};
    struct plain_moments plain[SPIKE_SERIES] = {0};
    for (int step = 0; step < STEPS; step++) {
        add_sample(&g, plain, step);
        for (int k = 0; k < 3 && step + 1 >= SPIKE_GUARD_WARMUP; k++)
            for (int i = 0; i < SPIKE_SERIES; i++) {
                const double reach = z[k] * sqrt(plain_variance(&plain[i]));
                double below[] = {plain[0].mean, plain[1].mean};
                double above[] = {plain[0].mean, plain[1].mean};
                below[i] += 0.9999 * reach;
                above[i] += 1.0001 * reach;
                assert_false(spike_guard_detects(&g, below[0], below[1], z[k]));
                assert_true(spike_guard_detects(&g, above[0], above[1], z[k]));
                below[i] = plain[i].mean - 9 * reach; /* a fall is no spike */
                assert_false(spike_guard_detects(&g, below[0], below[1], z[k]));
            }
    }
}

static void there_is_none_while_it_warms_up_or_is_off(void **state)
{
    (void)state;
    struct spike_guard g = {0};
    struct plain_moments plain[SPIKE_SERIES] = {0};
    for (int step = 0; step < STEPS; step++) {
        assert_int_equal(spike_guard_detects(&g, 1e6, 1e6, 6), step >= SPIKE_GUARD_WARMUP);
        assert_false(spike_guard_detects(&g, 1e6, 1e6, 0));
        add_sample(&g, plain, step);
    }
}

/* Without a deviation whatever is above the mean is one; what is as before is none. */
static void a_constant_series_has_no_spikes(void **state)
{
    (void)state;
    struct spike_guard g = {0};
    for (int step = 0; step < STEPS; step++) {
        assert_false(spike_guard_detects(&g, 2.5, 0.5, 6));
        spike_guard_add(&g, 2.5, 0.5);
    }
    assert_true(g.variance[SPIKE_LOSS] == 0 && g.variance[SPIKE_NORM] == 0);
    assert_true(spike_guard_detects(&g, 2.5, 0.5000001, 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_moments_are_those_of_the_last_hundred_steps),
        cmocka_unit_test(a_spike_is_above_z_deviations),
        cmocka_unit_test(there_is_none_while_it_warms_up_or_is_off),
        cmocka_unit_test(a_constant_series_has_no_spikes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
