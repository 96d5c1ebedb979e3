/* Weights of which inference makes no numbers: there is one sentence for it, on every way on which
 * logits become tokens, probabilities or losses, and what has nothing to do with them goes on. */
#include "model/base/rng.h"
#include "sampling/chain/logits.h"
#include "sampling/generate.h"
#include "sampling/scheduler.h"
#include "sampling/score.h"
#include "tests/lib/tiny_text.h"

#include <math.h>
#include <stdio.h>

enum { BAD_POSITION = 5, BATCH = 3 };

static struct model model;
static struct generate_config config;
static struct sampler_config sampler;
static const token_id prompt_ids[] = {4, 9, 2, 7, 1, 3, 8, 6, 5, 4};
enum { N_PROMPT = sizeof prompt_ids / sizeof *prompt_ids };

static int set_up(void **state)
{
    (void)state;
    tiny_speaker(&model, 21);
    model.name = mem_strdup("odd");
    generate_config_init(&config);
    sampler_config_init(&sampler);
    sampler.seed = 4;
    sampler.ignore_eos = true;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    mem_free(model.name);
    model.name = NULL;
    tiny_speaker_release(&model);
    return 0;
}

/* Texts that reach this position have no logits behind it. */
static void spoil_position(void)
{
    for (int i = 0; i < model.config.n_embd; i++)
        model.params.wpe[BAD_POSITION * model.config.n_embd + i] = NAN;
}

/* Keys that are numbers, but none of fp16's. */
static void overflow_keys(struct model *m)
{
    const int C = m->config.n_embd;
    float *bias = params_find(&m->params, "h.0.attn.c_attn.bias")->data;
    for (int i = C; i < 2 * C; i++)
        bias[i] = 1e6f;
}

static void test_of_a_row(void **state)
{
    (void)state;
    enum { V = 37 };
    float row[V];
    const float bad[] = {NAN, -NAN, INFINITY};
    for (int i = 0; i < V; i++)
        row[i] = (float)(i % 5) - 3e38f * (float)(i == 11);
    assert_true(logits_are_finite(row, V));
    for (int at = 0; at < V; at++) {
        const float was = row[at];
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            row[at] = bad[k];
            assert_false(logits_are_finite(row, V));
        }
        row[at] = -INFINITY; /* a mask's */
        assert_true(logits_are_finite(row, V));
        row[at] = was;
    }
    for (int i = 0; i < V; i++)
        row[i] = -INFINITY;
    assert_false(logits_are_finite(row, V));
}

/* The first n ids of the prompt, gone on with. */
static int go_on_from(int n, int n_new, struct answer *answers)
{
    struct engine engine;
    struct sequence sequence;
    struct prompt p = {0};
    config.max_new_tokens = n_new;
    assert_ok(engine_init(&engine, &model, 8));
    assert_ok(sequence_init(&sequence, &engine));
    assert_ok(ids_add(&p.ids, prompt_ids, (size_t)n));
    int rc = generate(&sequence, &p, &config, &sampler, NULL, answers);
    prompt_release(&p);
    sequence_release(&sequence);
    assert_int_equal(engine.cache.n_free, engine.cache.n_pages);
    engine_release(&engine);
    return rc;
}

/* Every way of choosing: of a prompt behind which there is nothing, and in the middle of a text. */
static void test_ways_of_choosing(void **state)
{
    (void)state;
    static const struct {
        float temperature, alpha;
        int n, beams, top_k;
    } ways[] = {
        {0, 0, 1, 1, 0}, {1, 0, 1, 1, 0}, {1, 0, 3, 1, 0}, {1, 0, 2, 4, 0}, {1, 0.6f, 1, 1, 4}};
    spoil_position();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int device_loop = 0; device_loop < 2; device_loop++) {
            struct answer answers[3] = {0};
            sampler.temperature = ways[i].temperature;
            sampler.top_k = ways[i].top_k;
            config.penalty_alpha = ways[i].alpha;
            config.num_return_sequences = ways[i].n;
            config.num_beams = ways[i].beams;
            config.device_loop = device_loop;
            assert_int_equal(go_on_from(N_PROMPT, 4, answers), ERR_NOT_FINITE);
            assert_string_equal(err_text(), "odd: the logits after 10 tokens are NaN or infinite; "
                                            "the weights are damaged, or too large for fp16: "
                                            "--dtype fp32 may help");
            for (int k = 0; k < 3; k++)
                answer_release(&answers[k]);
            assert_int_equal(go_on_from(3, 9, answers), ERR_NOT_FINITE);
            assert_non_null(strstr(err_text(), "odd: the logits after 6 tokens are NaN"));
            for (int k = 0; k < 3; k++)
                answer_release(&answers[k]);
            /* The token behind the last good logits is good. */
            assert_ok(go_on_from(3, 3, answers));
            assert_int_equal(answers[0].ids.n, 3);
            for (int k = 0; k < 3; k++)
                answer_release(&answers[k]);
        }
}

/* Weights that are good in fp32: that is what the sentence says. */
static void test_keys_beyond_fp16(void **state)
{
    (void)state;
    struct answer a = {0};
    overflow_keys(&model);
    assert_int_equal(go_on_from(2, 4, &a), ERR_NOT_FINITE);
    assert_non_null(strstr(err_text(), "after 2 tokens"));
    answer_release(&a);

    struct model wide;
    struct engine engine;
    struct sequence s;
    tiny_init(&wide, &model.config, DTYPE_F32, 21);
    overflow_keys(&wide);
    assert_ok(engine_init(&engine, &wide, 1));
    assert_ok(sequence_init(&s, &engine));
    assert_ok(sequence_feed(&s, prompt_ids, 2, NULL));
    assert_true(logits_are_finite(s.logits, (size_t)wide.config.n_vocab));
    wide.name = model.name;
    logits_refuse(&wide, 1);
    assert_string_equal(
        err_text(), "odd: the logits after 1 token are NaN or infinite; the weights are damaged");
    sequence_release(&s);
    engine_release(&engine);
    tiny_release(&wide);
}

static const int lengths[BATCH] = {2, N_PROMPT, 3};
struct batch {
    int given, delivered, rcs[BATCH];
    size_t n_ids[BATCH];
};

static int next_request(void *user, struct generate_request *request, bool wait)
{
    struct batch *b = user;
    (void)wait;
    if (b->given == BATCH)
        return REQUEST_END;
    request->ids = prompt_ids;
    request->n_ids = (size_t)lengths[b->given++];
    return REQUEST_READY;
}

static int take_answers(void *user, const struct generate_request *request, int rc,
                        struct answer *answers, int n)
{
    struct batch *b = user;
    (void)request;
    b->rcs[b->delivered] = rc;
    b->n_ids[b->delivered] = n > 0 ? answers[0].ids.n : 0;
    if (rc != 0)
        assert_non_null(strstr(err_text(), "odd: the logits after 10 tokens"));
    b->delivered++;
    return 0;
}

/* It is the error of its own request. */
static void test_other_requests_go_on(void **state)
{
    (void)state;
    spoil_position();
    config.max_new_tokens = 2;
    for (int slots = 1; slots <= 3; slots += 2) {
        struct engine engine;
        struct batch b = {0};
        const struct scheduler_callbacks callbacks = {
            .next = next_request, .done = take_answers, .user = &b};
        assert_ok(engine_init(&engine, &model, slots));
        assert_ok(scheduler_run(&engine, &config, &sampler, slots, &callbacks, NULL));
        assert_int_equal(b.delivered, BATCH);
        assert_int_equal(b.rcs[0], 0);
        assert_int_equal(b.rcs[1], ERR_NOT_FINITE);
        assert_int_equal(b.rcs[2], 0);
        assert_true(b.n_ids[0] == 2 && b.n_ids[1] == 0 && b.n_ids[2] == 2);
        engine_release(&engine);
    }
}

static void count_rows(void *user, size_t i, const float *logits)
{
    int *n = user;
    (void)i;
    assert_true(logits_are_finite(logits, (size_t)model.config.n_vocab));
    ++*n;
}

static void test_scores(void **state)
{
    (void)state;
    struct engine engine;
    struct scorer *s;
    const struct score_row *rows;
    const float *logits;
    struct score scores[SCORE_ROWS];
    const struct passage text = {.ids = prompt_ids, .n = N_PROMPT, .first = 1};
    int n = 0, got;
    spoil_position();
    assert_ok(engine_init(&engine, &model, 1));
    assert_int_equal(score_text(&engine, prompt_ids, N_PROMPT, 1, count_rows, &n, NULL),
                     ERR_NOT_FINITE);
    assert_int_equal(n, BAD_POSITION);
    assert_non_null(strstr(err_text(), "odd: the logits after 6 tokens"));
    assert_ok(scorer_new(&s, &engine));
    assert_ok(scorer_begin(s, &text, 1));
    assert_ok(scorer_next(s, &rows, &logits, &got, NULL));
    err_clear();
    assert_int_equal(scorer_judge(s, scores), ERR_NOT_FINITE);
    assert_non_null(strstr(err_text(), "odd: the logits after 6 tokens"));
    scorer_free(s);
    engine_release(&engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_a_row),
        cmocka_unit_test_setup_teardown(test_ways_of_choosing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keys_beyond_fp16, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_requests_go_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_scores, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
