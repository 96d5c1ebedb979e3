/* What changes logits because of the text, each against NumPy; words need a tokenizer. */
#include "tests/lib/sampling_golden.h"

#include "model/base/words.h"
#include "model/tokenizer/tokenizer.h"
#include "sampling/chain/dry.h"
#include "sampling/chain/penalties.h"

static void test_goldens(void **state)
{
    (void)state;
    golden_run((const char *const[]){"logit_bias", "penalties", "dry", "no_repeat_ngram",
                                     "min_new_tokens", NULL});
}

static const token_id no_text[1]; /* of which none is read */

/* A vocabulary of letters, some pairs and a word. */
static struct tokenizer *letters(void)
{
    static const char *const tokens[] = {"a",
                                         "b",
                                         "c",
                                         "\xc4\xa0",
                                         ":",
                                         "\xc4\x8a",
                                         "ab",
                                         "b:",
                                         "\xc4\xa0"
                                         "a"};
    static const char *const merges[] = {"a b", "b :", "\xc4\xa0 a"};
    const struct vocab v = {
        .n_tokens = 9, .tokens = tokens, .n_merges = 3, .merges = merges, .eos = TOKEN_NONE};
    struct tokenizer *t;
    assert_ok(tokenizer_new(&t, &v));
    return t;
}

static void test_bad_words(void **state)
{
    (void)state;
    enum { A, B, C, BLANK, COLON, LINE, AB, B_COLON, BLANK_A, V };
    struct tokenizer *t = letters();
    struct sampler_config c;
    sampler_config_init(&c);
    c.bad_words = "a,cc";
    struct sampler *s;
    assert_ok(sampler_new(&s, &c, V, 16, t, NULL));
    static const struct {
        token_id text[3];
        size_t n;
        unsigned banned; /* bits by id */
    } cases[] = {
        {{0}, 0, 1 << A | 1 << BLANK_A},          {{B}, 1, 1 << A | 1 << BLANK_A},
        {{C}, 1, 1 << A | 1 << BLANK_A | 1 << C}, {{BLANK, C}, 2, 1 << A | 1 << BLANK_A | 1 << C},
        {{C, B}, 2, 1 << A | 1 << BLANK_A},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float scores[V] = {0};
        sampler_adjust(s, scores, cases[i].text, cases[i].n, 0);
        for (int id = 0; id < V; id++)
            assert_int_equal(scores[id] == -INFINITY, cases[i].banned >> id & 1);
    }
    sampler_free(s);
    /* Ids the model has no logits for are no reason to fail. */
    assert_ok(sampler_new(&s, &c, 3, 16, t, NULL));
    sampler_free(s);
    c.bad_words = "a,x";
    assert_int_equal(sampler_new(&s, &c, V, 16, t, NULL), ERR_RANGE);
    assert_null(s);
    c.bad_words = "a";
    assert_int_equal(sampler_new(&s, &c, V, 16, NULL, NULL), ERR_UNSUPPORTED);
    assert_string_equal(err_text(), "bad_words needs a tokenizer, and this model has none");
    tokenizer_free(t);
}

/* A word that begins another is banned beside it, in either order. */
static void a_bad_word_may_begin_another(void **state)
{
    (void)state;
    enum { A, B, C, BLANK, V = 9 };
    static char *const words[] = {"cc,c", "c,cc"};
    struct tokenizer *t = letters();
    struct sampler_config c;
    sampler_config_init(&c);
    for (int i = 0; i < 2; i++) {
        struct sampler *s;
        float scores[V] = {0};
        c.bad_words = words[i];
        assert_ok(sampler_new(&s, &c, V, 16, t, NULL));
        sampler_adjust(s, scores, no_text, 0, 0);
        for (int id = 0; id < V; id++)
            assert_int_equal(scores[id] == -INFINITY, id == C);
        sampler_free(s);
    }
    tokenizer_free(t);
}

/* Only the model's own logits are written to. */
static void ids_beyond_the_logits_are_left_alone(void **state)
{
    (void)state;
    enum { B = 1, AB = 6, BLANK_A = 8, V };
    struct tokenizer *t = letters();
    struct sampler_config c;
    sampler_config_init(&c);
    c.bad_words = " a,ab";
    c.min_new_tokens = 1;
    for (int n_vocab = AB; n_vocab <= V; n_vocab++) {
        struct sampler *s;
        float scores[V + 1] = {0};
        assert_ok(sampler_new(&s, &c, n_vocab, 16, t, &(struct stop_tokens){{V, B}, 2}));
        sampler_adjust(s, scores, no_text, 0, 0);
        for (int id = 0; id <= V; id++)
            if ((scores[id] == -INFINITY) !=
                (id == B || ((id == AB || id == BLANK_A) && id < n_vocab)))
                fail_msg("of %d logits %d is %g", n_vocab, id, (double)scores[id]);
        sampler_free(s);
        c.logit_bias = "9:1"; /* V itself */
        assert_int_equal(sampler_new(&s, &c, V, 16, t, NULL), ERR_RANGE);
        c.logit_bias = NULL;
    }
    tokenizer_free(t);
}

/* There a word cannot have a space before it. */
static void a_vocabulary_may_have_no_space(void **state)
{
    (void)state;
    static const char *const tokens[] = {"a", "b"};
    const struct vocab v = {.n_tokens = 2, .tokens = tokens, .eos = TOKEN_NONE};
    struct tokenizer *t;
    struct sampler_config c;
    struct sampler *s;
    float scores[2] = {0};
    sampler_config_init(&c);
    c.bad_words = "b";
    assert_ok(tokenizer_new(&t, &v));
    assert_ok(sampler_new(&s, &c, 2, 16, t, NULL));
    sampler_adjust(s, scores, no_text, 0, 0);
    assert_true(scores[0] == 0 && scores[1] == -INFINITY);
    sampler_free(s);
    tokenizer_free(t);
}

/* With ignore_eos no stop token is drawn however long the answer is. */
static void stop_tokens_may_be_banned_for_good(void **state)
{
    (void)state;
    for (int ignore = 0; ignore < 2; ignore++) {
        struct sampler_config c;
        struct sampler *s;
        float scores[3] = {0};
        sampler_config_init(&c);
        c.ignore_eos = ignore;
        c.min_new_tokens = 4;
        assert_ok(sampler_new(&s, &c, 3, 16, NULL, &(struct stop_tokens){{2}, 1}));
        sampler_adjust(s, scores, no_text, 0, 3);
        assert_true(scores[1] == 0 && scores[2] == -INFINITY);
        scores[2] = 0;
        sampler_adjust(s, scores, no_text, 0, 4);
        assert_int_equal(scores[2] == -INFINITY, ignore);
        sampler_free(s);
    }
}

/* How much a repetition costs counts what follows the last breaker alone: of several breakers that
 * begin there, the longest. */
static void repetitions_count_from_the_breaker(void **state)
{
    (void)state;
    enum { A, B, C, BLANK, COLON, LINE, V = 9 };
    static const struct {
        char *breakers;
        token_id text[9];
        size_t n;
        float c, line; /* their logits */
    } cases[] = {
        {"", {C, COLON, A, LINE, C, COLON, A}, 7, 0, -4},
        {":", {C, COLON, A, LINE, C, COLON, A}, 7, 0, -1},
        {"bac,ba", {B, A, C, A, LINE, B, A, C, A}, 9, -1, -1},
        {"ba,bac", {B, A, C, A, LINE, B, A, C, A}, 9, -1, -1},
        {"ba", {B, A, C, A, LINE, B, A, C, A}, 9, -1, -2},
    };
    struct tokenizer *t = letters();
    struct sampler_config c;
    sampler_config_init(&c);
    c.dry_multiplier = 1;
    c.dry_base = 2;
    c.dry_allowed_length = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sampler *s;
        float scores[V] = {0};
        c.dry_breakers = cases[i].breakers;
        assert_ok(sampler_new(&s, &c, V, 16, t, NULL));
        sampler_adjust(s, scores, cases[i].text, cases[i].n, 0);
        for (int id = 0; id < V; id++) {
            const float want = id == C ? cases[i].c : id == LINE ? cases[i].line : 0;
            if (scores[id] != want)
                fail_msg("case %zu: logit %d is %g, expected %g", i, id, (double)scores[id],
                         (double)want);
        }
        sampler_free(s);
    }
    tokenizer_free(t);
}

/* A breaker inside a token, and one that lies over two tokens. */
static void test_dry_breakers(void **state)
{
    (void)state;
    enum { A, B, C, BLANK, COLON, LINE, AB, B_COLON, BLANK_A, V };
    struct tokenizer *t = letters();
    struct sampler_config c;
    sampler_config_init(&c);
    c.dry_multiplier = 1;
    c.dry_base = 1;
    c.dry_allowed_length = 1;
    static const struct {
        char *breakers;
        token_id text[8];
        size_t n;
        int penalized;
    } cases[] = {
        {":", {A, B, C, A, B}, 5, C},
        {":", {A, COLON, C, A, COLON}, 5, -1},
        {":", {A, B_COLON, C, A, B_COLON}, 5, -1},
        {":", {COLON, A, C, COLON, A}, 5, C},
        {"ba", {B, A, C, B, A}, 5, -1},        /* b begins it, a is the rest */
        {"ba", {C, A, B, C, A}, 5, B},         /* no b before */
        {"ba", {AB, A, C, AB, A}, 5, -1},      /* ab ends with its beginning */
        {"aba", {AB, A, C, AB, A}, 5, -1},     /* and with more of it */
        {"ba", {B, A, C, AB, B, A, C}, 7, AB}, /* reaches back to the breaker alone */
        {"", {A, COLON, C, A, COLON}, 5, C},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sampler *s;
        float scores[V] = {0};
        c.dry_breakers = cases[i].breakers;
        assert_ok(sampler_new(&s, &c, V, 16, t, NULL));
        sampler_adjust(s, scores, cases[i].text, cases[i].n, 0);
        for (int id = 0; id < V; id++)
            if (scores[id] != (id == cases[i].penalized ? -1.0f : 0.0f))
                fail_msg("case %zu: logit %d is %g", i, id, (double)scores[id]);
        sampler_free(s);
    }
    tokenizer_free(t);
}

static void test_logit_bias_refuses(void **state)
{
    (void)state;
    static const struct {
        char *text, *sentence;
    } bad[] = {
        {"7", "logit_bias must be ID:BIAS pairs, not \"7\""},
        {":7", "logit_bias must be ID:BIAS pairs, not \":7\""},
        {"1:2, :7", "logit_bias must be ID:BIAS pairs, not \" :7\""},
        {"1:2,x:1", "logit_bias must be ID:BIAS pairs, not \"x:1\""},
        {"1:2,", "logit_bias must be ID:BIAS pairs, not \"\""},
        {"1:2;3:4", "logit_bias must be ID:BIAS pairs, not \"1:2;3:4\""},
        {"50257:1", "logit_bias must have IDs of 0 to 9, not 50257"},
        {"-1:1", "logit_bias must have IDs of 0 to 9, not -1"},
        {"99999999999999999999:1", "logit_bias must have IDs of 0 to 9, not 9223372036854775807"},
        {"1:nan", "logit_bias must have finite biases, or -inf for a ban, not \"1:nan\""},
        {"1:inf", "logit_bias must have finite biases, or -inf for a ban, not \"1:inf\""},
        {"1:1e99", "logit_bias must have finite biases, or -inf for a ban, not \"1:1e99\""},
    };
    struct sampler_config c;
    sampler_config_init(&c);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sampler *s;
        c.logit_bias = bad[i].text;
        assert_int_equal(sampler_new(&s, &c, 10, 16, NULL, NULL), ERR_RANGE);
        if (strstr(bad[i].sentence, "IDs of 0 to") == NULL || sampler_config_check(&c) == 0)
            assert_string_equal((sampler_new(&s, &c, 10, 16, NULL, NULL), err_text()),
                                bad[i].sentence);
        assert_null(s);
    }
}

/* What is pushed beyond all numbers is drawn. */
static void test_huge_logits(void **state)
{
    (void)state;
    const float logits[3] = {1, 2, 3};
    const token_id text[1] = {1};
    for (int what = 0; what < 3; what++) {
        struct sampler_config c;
        struct sampler *s;
        sampler_config_init(&c);
        c.seed = 1;
        c.temperature = what == 0 ? 0.5f : 1;
        c.logit_bias = what < 2 ? "1:3e38,1:3e38" : "1:3e38";
        c.repetition_penalty = what < 2 ? 1 : 0.5f;
        assert_ok(sampler_new(&s, &c, 3, 16, NULL, NULL));
        for (int k = 0; k < 20; k++) {
            const struct sampled got = sampler_pick(s, logits, text, 1, k);
            assert_int_equal(got.id, 1);
            assert_true(got.chain_logprob == 0);
        }
        sampler_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_bad_words),
        cmocka_unit_test(a_bad_word_may_begin_another),
        cmocka_unit_test(ids_beyond_the_logits_are_left_alone),
        cmocka_unit_test(a_vocabulary_may_have_no_space),
        cmocka_unit_test(stop_tokens_may_be_banned_for_good),
        cmocka_unit_test(repetitions_count_from_the_breaker),
        cmocka_unit_test(test_dry_breakers),
        cmocka_unit_test(test_logit_bias_refuses),
        cmocka_unit_test(test_huge_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
