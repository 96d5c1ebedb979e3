/* Mirostat's cuts and what it learns, against NumPy, and that it does what it is for. */
#include "tests/lib/sampling_golden.h"

#include "model/base/mem.h"
#include "model/base/rng.h"

static void test_goldens(void **state)
{
    (void)state;
    golden_run((const char *const[]){"mirostat", NULL});
}

/* The surprise of what is drawn, in bits on average, comes near tau. */
static void test_reaches_tau(void **state)
{
    (void)state;
    enum { V = 5000, N = 600 };
    float *logits = mem_array(V, sizeof *logits);
    for (int i = 0; i < V; i++)
        logits[i] = -1.1f * logf((float)(i + 1));
    for (int version = 1; version <= 2; version++)
        for (float tau = 2; tau <= 6; tau += 2) {
            struct sampler_config c;
            struct sampler *s;
            sampler_config_init(&c);
            c.temperature = 1;
            c.seed = 5;
            c.mirostat = version;
            c.mirostat_tau = tau;
            assert_ok(sampler_new(&s, &c, V, 16, NULL, NULL));
            double sum = 0;
            for (int i = 0; i < N; i++)
                sum -= (double)sampler_pick(s, logits, NULL, 0, i).chain_logprob / log(2);
            assert_true(fabs(sum / N - (double)tau) < 0.25 * (double)tau);
            sampler_free(s);
        }
    mem_free(logits);
}

/* Even, single and banned candidates leave something to draw. */
static void test_extremes(void **state)
{
    (void)state;
    static const float odd[][4] = {
        {1, 1, 1, 1}, {0, -INFINITY, -INFINITY, -INFINITY}, {1e30f, 0, 0, 0}, {NAN, NAN, NAN, NAN}};
    for (int version = 1; version <= 2; version++)
        for (size_t k = 0; k < 4; k++) {
            struct sampler_config c;
            struct sampler *s;
            sampler_config_init(&c);
            c.mirostat = version;
            c.mirostat_tau = 0.01f;
            c.mirostat_eta = 1;
            assert_ok(sampler_new(&s, &c, 4, 16, NULL, NULL));
            for (int i = 0; i < 200; i++) {
                struct sampled got = sampler_pick(s, odd[k], NULL, 0, i);
                assert_in_range(got.id, 0, 3);
                assert_true(k == 0 || got.id == 0);
                assert_true(got.chain_logprob <= 0 && isfinite(got.chain_logprob));
            }
            sampler_free(s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_reaches_tau),
        cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
