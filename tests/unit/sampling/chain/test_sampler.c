/* The chain as a whole: draws, order, greedy, refusals, explanations. */
#include "tests/lib/normal.h"
#include "tests/lib/sampling_golden.h"

#include "model/base/mem.h"
#include "model/kernels/kernels.h"
#include "model/kernels/kernels_tables.h"

#include <float.h>

static struct sampler *open_sampler(const struct sampler_config *c, int n_vocab)
{
    struct sampler *s;
    assert_ok(sampler_new(&s, c, n_vocab, 256, NULL, &(struct stop_tokens){{0}, 1}));
    return s;
}

static struct sampler_config plain(void)
{
    struct sampler_config c;
    sampler_config_init(&c);
    c.temperature = 1;
    c.top_p = 1;
    c.seed = 42;
    return c;
}

/* Token for token the draws of the NumPy form, mirostat's learning with them. */
static void test_draws(void **state)
{
    (void)state;
    struct golden g;
    size_t i;
    json_t *entry;
    float *logits;
    golden_open(&g);
    int n = golden_logits(&g, "peaked", &logits);
    float *turned = mem_array((size_t)n, sizeof *turned);
    json_array_foreach(json_object_get(g.root, "drawn"), i, entry)
    {
        struct sampler_config c;
        token_id text[64] = {1, 2, 3};
        golden_config(&c, entry);
        c.seed = (uint64_t)json_integer_value(json_object_get(entry, "seed"));
        c.draw = json_integer_value(json_object_get(entry, "draw"));
        struct sampler *s = open_sampler(&c, n);
        json_t *ids = json_object_get(entry, "ids");
        for (int round = 0; round < 2; round++) {
            for (size_t k = 0; k < json_array_size(ids); k++) {
                int sum = 0;
                for (size_t j = 0; j < 3 + k; j++)
                    sum += text[j];
                for (int j = 0; j < n; j++)
                    turned[(j + sum) % n] = logits[j];
                struct sampled got = sampler_pick(s, turned, text, 3 + k, (int)k);
                assert_int_equal(got.id, json_integer_value(json_array_get(ids, k)));
                text[3 + k] = got.id;
            }
            sampler_reset(s, c.draw, false); /* the second round is like the first */
        }
        sampler_free(s);
    }
    mem_free(turned);
    mem_free(logits);
    golden_close(&g);
}

/* Frequencies of draws against the chain's own probabilities: chi-square with 19
 * degrees of freedom, 43.8 is passed once in a thousand. */
static void test_frequencies(void **state)
{
    (void)state;
    enum { V = 20, N = 20000 };
    float logits[V];
    struct alternative all[V], chosen;
    int count[V] = {0};
    double chi = 0;
    for (int i = 0; i < V; i++)
        logits[i] = normal_number(3, 0, (uint64_t)i);
    struct sampler_config c = plain();
    c.temperature = 1.3f;
    struct sampler *s = open_sampler(&c, V);
    for (int i = 0; i < N; i++)
        count[sampler_pick(s, logits, NULL, 0, i).id]++;
    assert_int_equal(sampler_explain(s, logits, NULL, 0, 0, 0, &chosen, all, V), V);
    for (int i = 0; i < V; i++) {
        double want = N * (double)all[i].p_chain, d = count[all[i].id] - want;
        chi += d * d / want;
    }
    assert_true(chi < 43.8);
    assert_true(chi > 2); /* nor too even to be draws */
    sampler_free(s);
}

/* An answer that goes on where another ended goes on in its draw, XTC's numbers with it. */
static void a_position_continues_a_draw(void **state)
{
    (void)state;
    enum { V = 20, N = 60, FROM = 17 };
    float logits[V];
    token_id whole[N];
    int others = 0;
    for (int i = 0; i < V; i++)
        logits[i] = normal_number(3, 1, (uint64_t)i);
    for (int xtc = 0; xtc < 2; xtc++) {
        struct sampler_config c = plain();
        c.xtc_probability = xtc ? 0.5f : 0;
        c.xtc_threshold = 0.1f;
        struct sampler *s = open_sampler(&c, V);
        for (int k = 0; k < N; k++)
            whole[k] = sampler_pick(s, logits, NULL, 0, k).id;
        sampler_free(s);
        c.position = FROM;
        s = open_sampler(&c, V);
        for (int k = FROM; k < N; k++) {
            assert_int_equal(sampler_pick(s, logits, NULL, 0, k - FROM).id, whole[k]);
            others += whole[k] != whole[k - FROM];
        }
        sampler_free(s);
    }
    assert_true(others > N / 2);
}

static void test_greedy(void **state)
{
    (void)state;
    float logits[6] = {1, 7, -2, 7, NAN, 3}, none[3] = {NAN, NAN, NAN};
    struct sampler_config c = plain();
    c.temperature = 0;
    c.xtc_probability = 1;
    c.mirostat = 2;
    struct sampler *s = open_sampler(&c, 6);
    struct sampled got = sampler_pick(s, logits, NULL, 0, 0);
    assert_int_equal(got.id, 1); /* ties to the lowest id */
    assert_true(got.chain_logprob == 0);
    sampler_free(s);
    c.logit_bias = "1:-1";
    s = open_sampler(&c, 6);
    assert_int_equal(sampler_pick(s, logits, NULL, 0, 0).id, 3);
    sampler_free(s);
    c.logit_bias = NULL;
    s = open_sampler(&c, 3);
    assert_int_equal(sampler_pick(s, none, NULL, 0, 0).id, 0);
    sampler_free(s);
    /* As cold as can be is greedy too, ties apart. */
    logits[3] = 6.9999995f;
    c = plain();
    for (int i = 0; i < 2; i++) {
        c.temperature = i ? 1e-30f : FLT_TRUE_MIN;
        s = open_sampler(&c, 6);
        for (int k = 0; k < 50; k++)
            assert_int_equal(sampler_pick(s, logits, NULL, 0, k).id, 1);
        sampler_free(s);
    }
}

static void test_all_filtered_away(void **state)
{
    (void)state;
    float logits[4] = {1, 2, 5, 4};
    token_id text[4] = {0, 1, 2, 3};
    struct sampler_config c = plain();
    c.no_repeat_ngram_size = 1;
    struct sampler *s = open_sampler(&c, 4);
    struct sampled got = sampler_pick(s, logits, text, 4, 0);
    assert_int_equal(got.id, 2);
    assert_true(got.chain_logprob == 0);
    sampler_free(s);
}

static void test_order_is_a_setting(void **state)
{
    (void)state;
    /* At temperature 2 the first token has 0.55, at 1 it has 0.73. */
    float logits[3] = {2, 1, -1};
    struct alternative all[3], chosen;
    struct sampler_config c = plain();
    c.temperature = 2;
    c.top_p = 0.7f;
    static const struct {
        char *chain;
        bool second;
    } cases[] = {{"temperature,top_p", true},
                 {" top_p , temperature", false},
                 {"temperature", true},
                 {NULL, true}};
    for (size_t i = 0; i < 4; i++) {
        c.chain = cases[i].chain;
        struct sampler *s = open_sampler(&c, 3);
        sampler_explain(s, logits, NULL, 0, 0, 1, &chosen, all, 3);
        assert_true((chosen.p_chain > 0) == cases[i].second);
        assert_int_equal(chosen.rank, 2);
        sampler_free(s);
    }
}

/* Mirostat and topk_uniform displace other cuts only where they are in the chain themselves. */
static void test_missing_stages_displace_none(void **state)
{
    (void)state;
    float logits[3] = {2, 1, -1};
    struct alternative all[3], chosen;
    static const struct {
        char *chain;
        bool second;
    } cases[] = {{"top_k", false}, {"top_k,mirostat", true}, {"top_k,topk_uniform", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int uniform = 0; uniform < 2; uniform++) {
            struct sampler_config c = plain();
            c.top_k = 1;
            c.mirostat = uniform ? 0 : 2;
            c.topk_uniform = uniform;
            c.chain = cases[i].chain;
            struct sampler *s = open_sampler(&c, 3);
            sampler_explain(s, logits, NULL, 0, 0, 1, &chosen, all, 3);
            assert_true((chosen.p_chain > 0) == (cases[i].second && !uniform));
            sampler_free(s);
        }
}

static void test_explain(void **state)
{
    (void)state;
    float logits[5] = {0, 3, 1, 3, -1};
    double sum = exp(0) + exp(3) + exp(1) + exp(3) + exp(-1);
    struct alternative top[4], chosen;
    struct sampler_config c = plain();
    c.top_k = 2;
    c.logit_bias = "1:-9";
    struct sampler *s = open_sampler(&c, 5);
    sampler_want_logprobs(s, true);
    struct sampled got = sampler_pick(s, logits, NULL, 0, 0);
    assert_true(got.id == 3 || got.id == 2);
    assert_true(fabs((double)got.logprob - ((double)logits[got.id] - log(sum))) < 1e-6);
    assert_int_equal(sampler_explain(s, logits, NULL, 0, 0, got.id, &chosen, top, 4), 4);
    assert_true(fabsf(logf(chosen.p_chain) - got.chain_logprob) < 1e-6f);
    /* Under the chain first, then what the model alone thinks likely. */
    static const struct {
        token_id id;
        int rank;
    } want[] = {{3, 2}, {2, 3}, {1, 1}, {0, 4}};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(top[i].id, want[i].id);
        assert_int_equal(top[i].rank, want[i].rank);
        assert_true(fabs((double)top[i].p_model - exp((double)logits[top[i].id]) / sum) < 1e-6);
        assert_true((top[i].p_chain > 0) == (i < 2));
    }
    sampler_free(s);
}

/* Every table of this machine draws the same. */
static void test_tables_agree(void **state)
{
    (void)state;
    enum { V = 4099, N = 60 };
    float *logits = mem_array(V, sizeof *logits);
    struct sampled first[N];
    for (int i = 0; i < V; i++)
        logits[i] = 3 * normal_number(9, 1, (uint64_t)i);
    struct sampler_config c = plain();
    c.temperature = 0.9f;
    c.top_k = 3000;
    c.top_p = 0.97f;
    c.min_p = 1e-5f;
    c.typical_p = 0.9f;
    for (int table = 0; kernels_nth(table); table++) {
        assert_ok(kernels_select(kernels_nth(table)->name));
        struct sampler *s = open_sampler(&c, V);
        sampler_want_logprobs(s, true);
        for (int i = 0; i < N; i++) {
            struct sampled got = sampler_pick(s, logits, NULL, 0, i);
            if (table == 0)
                first[i] = got;
            assert_memory_equal(&got, &first[i], sizeof got);
        }
        sampler_free(s);
    }
    assert_ok(kernels_select(NULL));
    mem_free(logits);
}

static void test_refuses(void **state)
{
    (void)state;
#define BAD(field, value, text)                                                                    \
    do {                                                                                           \
        struct sampler_config c = plain();                                                         \
        struct sampler *s;                                                                         \
        c.field = value;                                                                           \
        assert_int_equal(sampler_config_check(&c), ERR_RANGE);                                     \
        assert_string_equal(err_text(), text);                                                     \
        assert_int_equal(sampler_new(&s, &c, 10, 16, NULL, NULL), ERR_RANGE);                      \
        assert_string_equal(err_text(), text);                                                     \
        assert_null(s);                                                                            \
    } while (0)
    BAD(temperature, -1, "temperature must be finite and at least 0, not -1");
    BAD(temperature, INFINITY, "temperature must be finite and at least 0, not inf");
    BAD(top_p, 1.5f, "top_p must be at least 0 and at most 1, not 1.5");
    BAD(top_k, -3, "top_k must be 0 or more, not -3");
    BAD(typical_p, 0, "typical_p must be more than 0 and at most 1, not 0");
    BAD(xtc_threshold, 0.6f, "xtc_threshold must be at least 0 and at most 0.5, not 0.6");
    BAD(mirostat, 3, "mirostat must be 0 to 2, not 3");
    BAD(repetition_penalty, 0, "repetition_penalty must be finite and more than 0, not 0");
    BAD(frequency_penalty, 101, "frequency_penalty must be at least -100 and at most 100, not 101");
    BAD(penalty_window, -2, "penalty_window must be -1 or more, not -2");
    BAD(draw, -1, "draw must be 0 or more, not -1");
    BAD(chain, "temperature,topp", "chain has no stage topp; did you mean top_p?");
    BAD(chain, "qqqqqqq",
        "chain has no stage qqqqqqq; the stages are logit_bias, penalties, dry, no_repeat_ngram, "
        "bad_words, min_new_tokens, grammar, temperature, top_k, top_p, min_p, typical_p, "
        "top_n_sigma, xtc, topk_uniform, mirostat");
    BAD(chain, "xtc,xtc", "chain: stage xtc is there twice");
    BAD(bad_words, "a\\", "bad_words: unknown escape \\ in \"a\\\": write \\\\ for a backslash");
#define NOT_A_NUMBER(field)                                                                        \
    do {                                                                                           \
        struct sampler_config c = plain();                                                         \
        c.field = NAN;                                                                             \
        assert_int_equal(sampler_config_check(&c), ERR_RANGE);                                     \
        assert_non_null(strstr(err_text(), #field " must be "));                                   \
    } while (0)
    NOT_A_NUMBER(temperature);
    NOT_A_NUMBER(dynatemp_range);
    NOT_A_NUMBER(dynatemp_exponent);
    NOT_A_NUMBER(top_p);
    NOT_A_NUMBER(min_p);
    NOT_A_NUMBER(typical_p);
    NOT_A_NUMBER(top_n_sigma);
    NOT_A_NUMBER(xtc_probability);
    NOT_A_NUMBER(xtc_threshold);
    NOT_A_NUMBER(mirostat_tau);
    NOT_A_NUMBER(mirostat_eta);
    NOT_A_NUMBER(repetition_penalty);
    NOT_A_NUMBER(frequency_penalty);
    NOT_A_NUMBER(presence_penalty);
    NOT_A_NUMBER(dry_multiplier);
    NOT_A_NUMBER(dry_base);
}

/* Nothing is allocated after sampler_new, and failing allocations leave nothing behind. */
static void test_memory(void **state)
{
    (void)state;
    float logits[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    token_id text[6] = {1, 2, 3, 1, 2, 3};
    struct sampler_config c = plain();
    c.logit_bias = "1:2,3:-1";
    c.dry_multiplier = 1;
    c.repetition_penalty = 1.1f;
    c.no_repeat_ngram_size = 3;
    c.mirostat = 1;
    struct sampler *s;
    uint64_t k = 1;
    for (;; k++) {
        mem_fail_at(k);
        int rc = sampler_new(&s, &c, 8, 16, NULL, NULL);
        mem_fail_at(0);
        if (rc == 0)
            break;
        assert_int_equal(rc, ERR_NOMEM);
        assert_null(s);
    }
    assert_true(k > 3);
    uint64_t before = mem_count();
    for (int i = 0; i < 10; i++)
        sampler_pick(s, logits, text, 6, i);
    sampler_reset(s, 4, false);
    assert_int_equal(mem_count(), before);
    sampler_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_frequencies),
        cmocka_unit_test(a_position_continues_a_draw),
        cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_all_filtered_away),
        cmocka_unit_test(test_order_is_a_setting),
        cmocka_unit_test(test_missing_stages_displace_none),
        cmocka_unit_test(test_explain),
        cmocka_unit_test(test_tables_agree),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
