#include "sampling/scheduler.h"
#include "sampling/generate.h"

#include "model/base/progress.h"
#include "tests/lib/tiny_text.h"

#include <stdio.h>

enum { LINES = 12 };

static struct model model;
static struct engine engine;
static struct generate_config config;
static struct sampler_config sampler;

static int set_up(void **state)
{
    (void)state;
    tiny_speaker(&model, 21);
    assert_ok(engine_init(&engine, &model, 8));
    generate_config_init(&config);
    sampler_config_init(&sampler);
    config.max_new_tokens = 25;
    sampler.seed = 4;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    interrupt_clear();
    assert_int_equal(engine.cache.n_free, engine.cache.n_pages);
    engine_release(&engine);
    tiny_speaker_release(&model);
    return 0;
}

static const char *const PROMPTS[LINES] = {"the end",
                                           "one ",
                                           "the end of the",
                                           "",
                                           "ab abc ab",
                                           "the end of one",
                                           "on one on one",
                                           "the end of the",
                                           "x",
                                           " ",
                                           "a\nb\n\xff\xc3",
                                           "the end of the end"};

/* A run over lines, and what came out. */
struct lines_run {
    const char *const *lines;
    int n_lines, given, delivered, stop_at, interrupt_at, later;
    bool deaf; /* texts are not kept */
    const struct sampler_config *samplers[LINES];
    const struct generate_config *configs[LINES];
    struct buf texts[LINES];
    enum finish finish[LINES];
    int rcs[LINES], n_ids[LINES], next_rc;
    char sentence[256];
    int wrong; /* a request whose own error comes with it; 0: none */
    struct scheduler_stats stats;
};

static int next(void *user, struct generate_request *item, bool wait)
{
    struct lines_run *r = user;
    if (!wait && r->later > 0) {
        r->later--;
        return REQUEST_LATER;
    }
    if (r->given == r->n_lines)
        return r->next_rc == 0 ? REQUEST_END : err_set(r->next_rc, "the input is broken");
    if (r->wrong > 0 && r->given == r->wrong) {
        item->rc = ERR_FORMAT;
        item->error = "this line is wrong";
    }
    item->sampler = r->samplers[r->given];
    item->generate = r->configs[r->given];
    item->user = (void *)(intptr_t)r->given;
    item->text = r->lines[r->given++];
    item->n = strlen(item->text);
    return REQUEST_READY;
}

static int done(void *user, const struct generate_request *item, int rc, struct answer *answers,
                int n)
{
    struct lines_run *r = user;
    int i = r->delivered++;
    assert_int_equal(i, (intptr_t)item->user);
    r->rcs[i] = rc;
    if (rc != 0)
        snprintf(r->sentence, sizeof r->sentence, "%s", err_text());
    for (int k = 0; k < n; k++) {
        if (!r->deaf)
            assert_ok(buf_printf(&r->texts[i], "%s|", buf_text(&answers[k].text)));
        r->finish[i] = answers[k].finish;
        r->n_ids[i] += (int)answers[k].ids.n;
    }
    if (r->delivered == r->interrupt_at)
        interrupt_raise();
    return r->delivered == r->stop_at ? -1000 : 0;
}

static int run(struct lines_run *r, int batch_size)
{
    const struct scheduler_callbacks callbacks = {.next = next, .done = done, .user = r};
    return scheduler_run(&engine, &config, &sampler, batch_size, &callbacks, &r->stats);
}

static struct lines_run all_lines(void)
{
    return (struct lines_run){.lines = PROMPTS, .n_lines = LINES};
}

static void release(struct lines_run *r)
{
    for (int i = 0; i < LINES; i++)
        buf_release(&r->texts[i]);
}

/* The line alone, in a sequence of its own. */
static void alone(struct buf *out, int line, const struct lines_run *r)
{
    const struct generate_config *g = r->configs[line] != NULL ? r->configs[line] : &config;
    struct sampler_config c = r->samplers[line] != NULL ? *r->samplers[line] : sampler;
    struct sequence sequence;
    struct prompt p = {0};
    struct answer answers[4] = {0};
    for (int i = 0; i < line; i++)
        c.draw += (r->configs[i] != NULL ? r->configs[i] : &config)->num_return_sequences;
    assert_ok(sequence_init(&sequence, &engine));
    assert_ok(prompt_encode(&p, &model, g, r->lines[line], strlen(r->lines[line])));
    assert_ok(generate(&sequence, &p, g, &c, NULL, answers));
    for (int k = 0; k < g->num_return_sequences; k++) {
        assert_ok(buf_printf(out, "%s|", buf_text(&answers[k].text)));
        answer_release(&answers[k]);
    }
    prompt_release(&p);
    sequence_release(&sequence);
}

static void check_against_single(const struct lines_run *r)
{
    for (int i = 0; i < r->n_lines; i++) {
        struct buf expected = {0};
        alone(&expected, i, r);
        assert_int_equal(r->rcs[i], 0);
        assert_string_equal(buf_text(&r->texts[i]), buf_text(&expected));
        buf_release(&expected);
    }
}

static void any_batch_size_equals_single_runs(void **state)
{
    (void)state;
    for (int size = 1; size <= 8; size += size < 4 ? 1 : 2) {
        struct lines_run r = all_lines();
        r.later = size;
        config.device_iterations = size;
        config.device_loop = size != 3;
        assert_ok(run(&r, size));
        assert_int_equal(r.delivered, LINES);
        check_against_single(&r);
        assert_int_equal(r.stats.n_prompts, LINES);
        release(&r);
    }
}

static void contexts_slide_inside_a_batch(void **state)
{
    (void)state;
    config.max_new_tokens = 260;
    config.on_full = ON_FULL_SLIDE;
    sampler.ignore_eos = true;
    struct lines_run r = all_lines();
    r.n_lines = 5;
    assert_ok(run(&r, 3));
    check_against_single(&r);
    assert_int_equal(r.stats.n_new_tokens, 5 * 260);
    release(&r);
}

/* To the last token that the context allows, beams and candidates too. */
static void contexts_end_inside_a_batch(void **state)
{
    (void)state;
    struct generate_config beams = config, contrastive = config;
    struct sampler_config top = sampler;
    config.max_new_tokens = beams.max_new_tokens = contrastive.max_new_tokens = 1000;
    beams.num_beams = 2;
    contrastive.penalty_alpha = 0.5f;
    top.top_k = 3;
    sampler.ignore_eos = top.ignore_eos = true;
    for (int size = 1; size <= 4; size += 3) {
        struct lines_run r = all_lines();
        r.n_lines = 5;
        r.configs[2] = &beams;
        r.configs[3] = &contrastive;
        r.samplers[2] = r.samplers[3] = &top;
        assert_ok(run(&r, size));
        check_against_single(&r);
        for (int i = 0; i < r.n_lines; i++)
            assert_int_equal(r.finish[i], FINISH_CONTEXT);
        assert_int_equal(r.stats.n_new_tokens + r.stats.n_prompt_tokens, 5 * 151);
        release(&r);
    }
}

/* Settings of a line's own: samples, beams, another temperature, a stop string. */
static void lines_have_settings_of_their_own(void **state)
{
    (void)state;
    struct lines_run r = all_lines();
    struct generate_config three = config, beams = config, stop = config, contrastive = config;
    struct sampler_config hot = sampler, greedy = sampler, top = sampler;
    three.num_return_sequences = 3;
    beams.num_beams = 2;
    beams.num_return_sequences = 2;
    stop.stop = (char *)"e,\\x01,q";
    contrastive.penalty_alpha = 0.5f;
    hot.temperature = 2;
    hot.draw = 100;
    greedy.temperature = 0;
    top.top_k = 3;
    r.configs[1] = &three;
    r.configs[4] = &beams;
    r.configs[5] = &stop;
    r.configs[8] = &contrastive;
    r.samplers[2] = &hot;
    r.samplers[6] = &greedy;
    r.samplers[8] = &top;
    r.samplers[9] = &hot;
    for (int size = 1; size <= 8; size += 7) {
        struct lines_run each = r;
        assert_ok(run(&each, size));
        check_against_single(&each);
        release(&each);
    }
}

static void errors_stay_with_their_line(void **state)
{
    (void)state;
    struct lines_run r = all_lines();
    struct generate_config bad = config, token = config;
    struct sampler_config cold = sampler;
    static char longer[400];
    const char *lines[LINES];
    memcpy(lines, PROMPTS, sizeof lines);
    memset(longer, 'q', sizeof longer - 1);
    lines[6] = longer;
    bad.num_beams = 0;
    token.stop_token = (char *)"no token";
    cold.temperature = -1;
    r.lines = lines;
    r.configs[0] = &bad;
    r.configs[3] = &token;
    r.samplers[4] = &cold;
    r.wrong = 5;
    assert_ok(run(&r, 4));
    assert_int_equal(r.delivered, LINES);
    for (int i = 0; i < LINES; i++) {
        int expected = i == 0 || i == 3 || i == 4 ? ERR_RANGE
                       : i == 5                   ? ERR_FORMAT
                       : i == 6                   ? ERR_FULL
                                                  : 0;
        assert_int_equal(r.rcs[i], expected);
    }
    assert_string_equal(r.sentence, "the prompt has 399 tokens, the context holds 150: shorten "
                                    "it, or set on_full to slide");
    release(&r);
}

/* 100 common ids are computed once, whether the prompts come together or in turn. */
static void a_common_beginning_is_read_once(void **state)
{
    (void)state;
    static char texts[4][128];
    const char *lines[4];
    for (int i = 0; i < 4; i++) {
        memset(texts[i], 'q', 100);
        memcpy(texts[i] + 100, "0zzz", 5);
        texts[i][100] = (char)(texts[i][100] + i);
        lines[i] = texts[i];
    }
    for (int size = 1; size <= 4; size++) {
        struct lines_run r = {.lines = lines, .n_lines = 4};
        assert_ok(run(&r, size));
        assert_int_equal(r.stats.n_prompt_tokens, 4 * 104);
        assert_int_equal(r.stats.n_reused_tokens, 3 * 100);
        check_against_single(&r);
        release(&r);
    }
}

/* Requests as they are, and what came of each. */
struct asked {
    struct generate_request *list;
    int n, given, delivered;
    int64_t draws[LINES];
    int rcs[LINES], n_answers[LINES], n_ids[LINES], n_slid[LINES];
    struct buf texts[LINES];
};

static int next_asked(void *user, struct generate_request *request, bool wait)
{
    struct asked *a = user;
    (void)wait;
    if (a->given == a->n)
        return REQUEST_END;
    *request = a->list[a->given++];
    return REQUEST_READY;
}

static int done_asked(void *user, const struct generate_request *request, int rc,
                      struct answer *answers, int n)
{
    struct asked *a = user;
    const int i = a->delivered++;
    a->draws[i] = request->draw;
    a->rcs[i] = rc;
    a->n_answers[i] = n;
    for (int k = 0; k < n; k++) {
        a->n_ids[i] += (int)answers[k].ids.n;
        a->n_slid[i] += answers[k].slid;
        assert_ok(buf_printf(&a->texts[i], "%s|", buf_text(&answers[k].text)));
    }
    return 0;
}

static void ask_all(struct asked *a, int batch_size)
{
    const struct scheduler_callbacks callbacks = {
        .next = next_asked, .done = done_asked, .user = a};
    assert_ok(scheduler_run(&engine, &config, &sampler, batch_size, &callbacks, NULL));
    assert_int_equal(a->delivered, a->n);
}

static void release_asked(struct asked *a)
{
    for (int i = 0; i < a->n; i++)
        buf_release(&a->texts[i]);
}

/* Each answer is a draw, and so is a request that has none because it failed; those that are
 * generated elsewhere count, those with a draw of their own have it, and count. */
static void every_request_knows_its_draws(void **state)
{
    (void)state;
    struct sampler_config own = sampler;
    struct generate_config two = config, bad = config;
    own.draw = 50;
    two.num_return_sequences = 2;
    bad.num_beams = 0;
    struct generate_request list[] = {
        {.text = "the end", .n = 7, .generate = &two},
        {.text = "the end", .n = 7, .generate = &bad},
        {.text = "the end", .n = 7, .generate = &two, .elsewhere = true},
        {.text = "the end", .n = 7, .sampler = &own, .own_draw = true},
        {.text = "the end", .n = 7},
        {.text = "the end", .n = 7, .sampler = &own},
    };
    static const int64_t draws[] = {0, 2, 3, 50, 6, 57};
    for (int size = 1; size <= 4; size += 3) {
        struct asked a = {.list = list, .n = 6};
        ask_all(&a, size);
        for (int i = 0; i < 6; i++) {
            struct lines_run alone_run = {.lines = &(const char *){"the end"}};
            struct sampler_config c = sampler;
            struct buf expected = {0};
            assert_int_equal(a.draws[i], draws[i]);
            assert_int_equal(a.rcs[i], i == 1 ? ERR_RANGE : 0);
            assert_int_equal(a.n_answers[i], i == 1 ? 0 : list[i].generate == &two ? 2 : 1);
            c.draw = draws[i];
            alone_run.samplers[0] = &c;
            alone_run.configs[0] = list[i].generate == &two ? &two : NULL;
            alone(&expected, 0, &alone_run);
            assert_string_equal(buf_text(&a.texts[i]), i == 1   ? ""
                                                       : i == 2 ? "||"
                                                                : buf_text(&expected));
            buf_release(&expected);
        }
        release_asked(&a);
    }
}

/* A search with more texts than the engine holds has an engine of its own: one more, or many. */
static void a_search_may_be_larger_than_the_engine(void **state)
{
    (void)state;
    for (int more = 0; more <= 5; more++) {
        struct sampler_config top = sampler;
        struct generate_config contrastive = config, beams = config;
        contrastive.penalty_alpha = 0.5f;
        top.top_k = engine.max_seqs + more;
        beams.num_beams = (engine.max_seqs + more + 1) / 2;
        top.ignore_eos = true;
        struct generate_request list[] = {
            {.text = "the end", .n = 7, .generate = &contrastive, .sampler = &top},
            {.text = "the end", .n = 7, .generate = &beams, .sampler = &top}};
        struct asked a = {.list = list, .n = 2};
        ask_all(&a, 2);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(a.rcs[i], 0);
            assert_int_equal(a.n_ids[i], config.max_new_tokens);
        }
        release_asked(&a);
    }
}

/* All answers of a prompt that did not fit say that it slid, and no others. */
static void a_prompt_that_slid_says_so(void **state)
{
    (void)state;
    static char longer[200];
    memset(longer, 'q', sizeof longer);
    config.on_full = ON_FULL_SLIDE;
    config.max_new_tokens = 2;
    config.num_return_sequences = 3;
    struct generate_request list[] = {{.text = longer, .n = sizeof longer},
                                      {.text = longer, .n = 20}};
    struct asked a = {.list = list, .n = 2};
    ask_all(&a, 2);
    assert_int_equal(a.n_slid[0], 3);
    assert_int_equal(a.n_slid[1], 0);
    release_asked(&a);
}

static void a_closed_output_ends_it(void **state)
{
    (void)state;
    struct lines_run r = all_lines();
    r.stop_at = 3;
    assert_int_equal(run(&r, 4), -1000);
    assert_int_equal(r.delivered, 3);
    release(&r);
}

static void an_interrupt_delivers_what_was_made(void **state)
{
    (void)state;
    struct lines_run r = all_lines();
    r.interrupt_at = 2;
    assert_int_equal(run(&r, 4), ERR_INTERRUPTED);
    assert_true(r.delivered >= 2 && r.delivered == r.given);
    assert_true(r.delivered == LINES || r.finish[r.delivered - 1] == FINISH_INTERRUPTED);
    release(&r);
}

static void broken_input_ends_it_after_what_was_read(void **state)
{
    (void)state;
    struct lines_run r = all_lines();
    r.n_lines = 5;
    r.next_rc = ERR_IO;
    assert_int_equal(run(&r, 3), ERR_IO);
    assert_string_equal(err_text(), "the input is broken");
    assert_int_equal(r.delivered, 5);
    check_against_single(&r);
    release(&r);
}

static void nothing_in_nothing_out(void **state)
{
    (void)state;
    struct lines_run r = {.lines = PROMPTS};
    assert_ok(run(&r, 8));
    assert_int_equal(r.delivered, 0);
    r.n_lines = 3;
    config.max_new_tokens = 0;
    assert_ok(run(&r, 2));
    assert_int_equal(r.delivered, 3);
    assert_int_equal(r.stats.n_new_tokens, 0);
    release(&r);
    assert_int_equal(run(&r, 0), ERR_RANGE);
    assert_int_equal(run(&r, 9), ERR_RANGE);
}

/* Whichever allocation fails: an error of the batch or of a line, and nothing leaks. */
static void survives_without_memory(void **state)
{
    (void)state;
    bool failed = true;
    uint64_t k = 1;
    for (; failed; k += 1 + k / 8) {
        struct lines_run r = all_lines();
        r.n_lines = 3;
        r.deaf = true;
        mem_fail_at(k);
        const struct scheduler_callbacks callbacks = {.next = next, .done = done, .user = &r};
        int rc = scheduler_run(&engine, &config, &sampler, 2, &callbacks, &r.stats);
        mem_fail_at(0);
        failed = rc != 0;
        for (int i = 0; i < 3; i++)
            failed |= r.rcs[i] != 0;
        release(&r);
        assert_int_equal(engine.cache.n_free, engine.cache.n_pages);
        assert_true(k < 100000);
    }
    assert_true(k > 10);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(any_batch_size_equals_single_runs),
        TEST(contexts_slide_inside_a_batch),
        TEST(contexts_end_inside_a_batch),
        TEST(lines_have_settings_of_their_own),
        TEST(errors_stay_with_their_line),
        TEST(a_common_beginning_is_read_once),
        TEST(every_request_knows_its_draws),
        TEST(a_search_may_be_larger_than_the_engine),
        TEST(a_prompt_that_slid_says_so),
        TEST(a_closed_output_ends_it),
        TEST(an_interrupt_delivers_what_was_made),
        TEST(broken_input_ends_it_after_what_was_read),
        TEST(nothing_in_nothing_out),
        TEST(survives_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
