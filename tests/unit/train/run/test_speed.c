/* The yardstick of training, by a clock of its own: for a while something else has the processor.
 */
#include "tests/lib/test.h"

#include "model/base/clock.h"
#include "model/base/par.h"
#include "train/run/speed.h"

#include <math.h>

static const struct config tiny = {
    .n_layer = 2, .n_head = 2, .n_embd = 32, .n_inner = 128, .n_ctx = 64, .n_vocab = 64};

static const double TAKES_S = 1e-6, DISTURBED_S = 1e-3;
static double now_s;
static int looks, disturbed;

double clock_s(void)
{
    return now_s += looks++ % 20 < disturbed ? DISTURBED_S : TAKES_S;
}

void clock_sleep_s(double seconds)
{
    now_s += seconds;
}

static double measure_disturbed(int n)
{
    disturbed = n;
    looks = 0;
    return speed_sgemm_estimate(&tiny, 48, FACTORS_FLOAT32);
}

/* Three looks at a product of microseconds are over before what disturbs them is: then a step was
 * faster than the yardstick, two or three times. */
static void small_products_are_seen_at_their_best(void **state)
{
    (void)state;
    assert_ok(par_open(1, false));
    const double ops = 3 * 2.0 * 48 * 2 * 12 * 32 * 32, runs = 2 * 12;
    const double alone = measure_disturbed(0);
    assert_true(fabs(alone * runs * TAKES_S / ops - 1) < 1e-6);
    assert_true(fabs(measure_disturbed(16) / alone - 1) < 1e-6);
    par_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_products_are_seen_at_their_best),
    };
    return cmocka_run_group_tests_name("speed", tests, NULL, NULL);
}
