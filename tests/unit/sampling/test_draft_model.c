/* When a smaller model is asked for drafts, and what it drafts. */
#include "sampling/draft_model.h"

#include "kvcache/sequence.h"
#include "model/base/par.h"
#include "model/base/rng.h"
#include "tests/lib/tiny_text.h"

enum { LENGTHS = 4 };

static struct model model, small;
static struct engine engine, drafter;
static struct draft *draft;

static int set_up(void **state)
{
    (void)state;
    tiny_speaker(&model, 11);
    struct config c = model.config;
    c.n_layer = 1;
    c.n_ctx = 40;
    tiny_init(&small, &c, DTYPE_F16, 11);
    assert_ok(engine_init(&engine, &model, 2));
    assert_ok(engine_init(&drafter, &small, 2));
    engine_use_drafter(&engine, &drafter);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    draft_free(draft);
    draft = NULL;
    assert_int_equal(drafter.cache.n_free, drafter.cache.n_pages);
    engine_release(&engine);
    engine_release(&drafter);
    tiny_speaker_release(&model);
    tiny_release(&small);
    return 0;
}

static void begin_draft(void)
{
    assert_ok(draft_begin(&draft, &model, SPECULATE_AUTO));
    assert_ok(draft_model_begin(draft, &engine));
}

/* ---- when ---- */

/* Whether token i is what the drafter would have said. trusted: it has drafted just now. */
typedef bool speaker(uint64_t seed, int i, bool trusted);

static double chance(uint64_t seed, int i)
{
    return rng_uniform(seed, 3, (uint64_t)i);
}
static bool never(uint64_t seed, int i, bool trusted)
{
    (void)seed;
    (void)i;
    (void)trusted;
    return false;
}
static bool always(uint64_t seed, int i, bool trusted)
{
    (void)seed;
    (void)i;
    (void)trusted;
    return true;
}
static bool seldom(uint64_t seed, int i, bool trusted)
{
    (void)trusted;
    return chance(seed, i) < 0.3;
}
static bool by_half(uint64_t seed, int i, bool trusted)
{
    (void)trusted;
    return chance(seed, i) < 0.55;
}
static bool by_turns(uint64_t seed, int i, bool trusted)
{
    (void)seed;
    (void)trusted;
    return i / 80 % 2 == 0;
}
/* The worst. */
static bool not_when_trusted(uint64_t seed, int i, bool trusted)
{
    (void)seed;
    (void)i;
    return !trusted;
}

/* The time of a text of n tokens, in passes of one row; the first reading is not counted. */
static double follow(speaker *right, uint64_t seed, float share, int n)
{
    double cost = 0;
    int unread = 1;
    begin_draft();
    draft->few_rows = 6; /* whatever this processor has */
    draft->second_row = 0.5f;
    draft->further_row = 0.1f;
    draft->share = share;
    for (int i = 0; i < n; cost++) {
        const int most = n - i - 1 < DRAFT_MAX ? n - i - 1 : DRAFT_MAX;
        const int k = draft_choose(draft, unread, most, 1, 1);
        int accepted = 0;
        assert_in_range(k, 0, most > 0 ? most : 0);
        if (k > 0) {
            const int pending = draft->read.n == 0 ? 1 : unread;
            cost += 0.5 + 0.1 * (k - 1) + (double)share * (k + 0.1 * (pending - 1));
            while (accepted < k && right(seed, i + accepted, k > 2))
                accepted++;
            draft_count(draft, k, accepted);
            draft->read.n = 1; /* it has read something */
        }
        unread = k > 0 ? (accepted == k ? 2 : 1) : unread + 1;
        i += accepted + 1;
    }
    draft->read.n = 0;
    return cost;
}

static const float SHARES[] = {0.03f, 0.06f, 0.15f, 0.4f, 1};

static void no_text_loses(void **state)
{
    static speaker *const speakers[] = {never, always, seldom, by_half, by_turns, not_when_trusted};
    static const int lengths[LENGTHS] = {40, 64, 300, 1000};
    (void)state;
    for (int s = 0; s < 6; s++)
        for (size_t k = 0; k < sizeof SHARES / sizeof *SHARES; k++)
            for (uint64_t i = 0; i < 20; i++) {
                const int n = lengths[i % LENGTHS];
                const double cost = follow(speakers[s], i, SHARES[k], n);
                if (cost * 0.97 > n)
                    fail_msg("speaker %d, share %g: %d tokens took %g passes", s, (double)SHARES[k],
                             n, cost);
            }
}

static void a_good_drafter_gains(void **state)
{
    (void)state;
    assert_true(follow(always, 1, 0.06f, 300) * 2.5 < 300);
    assert_true(follow(by_turns, 1, 0.06f, 1000) * 1.2 < 1000);
    follow(always, 1, 1, 300); /* as slow as the model */
    assert_int_equal(draft->n_drafted, 0);
}

/* One that was wrong for long is tried now and then, and used again. */
static void a_drafter_gets_another_chance(void **state)
{
    (void)state;
    follow(never, 1, 0.06f, 1000);
    const int wrong = draft->n_drafted;
    assert_in_range(wrong, 3, 40);
    int asked = 0;
    for (int i = 0; i < 400; i++) {
        const int k = draft_choose(draft, 1, DRAFT_MAX, 1, 1);
        draft_count(draft, k, k);
        asked += k > 0;
    }
    assert_true(asked > 200);
}

/* ---- what ---- */

static void run_drafts(void *arg, int thread, int n_threads)
{
    (void)arg;
    draft_model_run(&drafter, &draft, 1, thread, n_threads);
}

/* The most likely token after the text, by the smaller model from the beginning. */
static token_id most_likely(const token_id *text, int n)
{
    struct sequence s = {0};
    assert_ok(sequence_init(&s, &drafter));
    assert_ok(sequence_feed(&s, text, (size_t)n, NULL));
    token_id best = 0;
    for (token_id i = 1; i < small.config.n_vocab; i++)
        best = s.logits[i] > s.logits[best] ? i : best;
    sequence_release(&s);
    return best;
}

static int make_draft(token_id *text, int n, int most)
{
    if (draft_model_plan(draft, text, (size_t)n, most, 1, 1) == 0)
        return 0;
    par_run(run_drafts, NULL);
    return draft->n_made;
}

/* Whatever was accepted before, and however much of the text is new. */
static void a_draft_is_what_the_model_says(void **state)
{
    token_id text[60 + DRAFT_MAX], expected[60 + DRAFT_MAX];
    int n = 5, n_made = 0;
    (void)state;
    tiny_ids(text, 60, &small.config, 7);
    begin_draft();
    draft->share = -1; /* always */
    for (int round = 0; n <= 40; round++) {
        memcpy(expected, text, sizeof text);
        const int k = make_draft(text, n, round % (DRAFT_MAX + 1));
        assert_int_equal(k, round % (DRAFT_MAX + 1) < 41 - n ? round % (DRAFT_MAX + 1) : 41 - n);
        for (int i = 0; i < k; i++) {
            expected[n + i] = most_likely(expected, n + i);
            assert_int_equal(text[n + i], expected[n + i]);
        }
        n_made += k;
        const int accepted = k == 0 ? 0 : round % (k + 1);
        if (k > 0)
            draft_count(draft, k, accepted);
        n += accepted;
        text[n] = (text[n] + 1) % small.config.n_vocab;
        n += 1 + round % 2;
    }
    assert_true(n_made > 20);
    assert_int_equal(make_draft(text, 41, 3), 0); /* its context is full */
    draft_forget_text(draft);
    assert_int_equal(make_draft(text, 9, 2), 2);
    assert_int_equal(text[9], most_likely(text, 9));
}

/* A larger vocabulary of the model is padding, which it may draw all the same. */
static void ids_that_the_drafter_lacks_have_no_draft(void **state)
{
    token_id text[30] = {1, 2, 3, 4, 5};
    (void)state;
    begin_draft();
    draft->share = -1;
    assert_int_equal(make_draft(text, 5, 2), 2);
    text[5] = small.config.n_vocab;
    draft_count(draft, 2, 0);
    assert_int_equal(make_draft(text, 6, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_text_loses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_good_drafter_gains, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_drafter_gets_another_chance, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_draft_is_what_the_model_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ids_that_the_drafter_lacks_have_no_draft, set_up,
                                        tear_down),
    };
    assert_ok(par_open(2, false));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
