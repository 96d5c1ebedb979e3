#include "model/kernels/log_sum_exp.h"
#include "tests/lib/test.h"

#include <math.h>

enum { N = 100 };

static void fill_logits(float *x)
{
    for (int i = 0; i < N; i++)
        x[i] = (float)(80 * sin(i * i));
}

static void agrees_with_a_plain_sum(void **state)
{
    (void)state;
    float x[N];
    double sum = 0;
    fill_logits(x);
    for (int i = 0; i < N; i++)
        sum += exp((double)x[i]);
    assert_true(fabs(log_sum_exp(x, N) - log(sum)) < 1e-5);
    for (int i = 0; i < N; i++)
        x[i] += 3e4f; /* exp alone would be infinite */
    assert_true(fabs(log_sum_exp(x, N) - 3e4 - log(sum)) < 1e-2);
}

static void terms_make_the_softmax(void **state)
{
    (void)state;
    float x[N], y[N];
    double sum, total = 0;
    fill_logits(x);
    assert_true(log_sum_exp_terms(y, &sum, x, N) == log_sum_exp(x, N));
    for (int i = 0; i < N; i++)
        total += (double)y[i] / sum;
    assert_true(fabs(total - 1) < 1e-12);
    log_sum_exp_terms(x, &total, x, N); /* in place */
    assert_memory_equal(x, y, sizeof x);
    assert_true(total == sum);
}

static void says_when_there_is_no_number(void **state)
{
    (void)state;
    const float low[] = {-INFINITY, -INFINITY, -INFINITY}, bad[] = {1, NAN, 2};
    assert_true(isnan(log_sum_exp(low, 3)));
    assert_true(isnan(log_sum_exp(bad, 3)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_plain_sum),
        cmocka_unit_test(terms_make_the_softmax),
        cmocka_unit_test(says_when_there_is_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
