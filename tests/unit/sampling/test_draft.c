#include "sampling/draft.h"

#include "model/base/mem.h"
#include "model/base/rng.h"
#include "tests/lib/tiny_text.h"

enum { MOST = 1024, PROMPT = 40 };

static struct model model;
static struct draft *draft;

static int set_up(void **state)
{
    (void)state;
    struct config c = tiny_config();
    c.n_ctx = MOST;
    tiny_init(&model, &c, DTYPE_F16, 3);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    draft_free(draft);
    draft = NULL;
    tiny_release(&model);
    return 0;
}

/* A model of gpt2's shape, whose weights nothing touches. */
static void further_rows_cost_more_in_q8(void **state)
{
    (void)state;
    float further[2];
    struct config c;
    config_init(&c);
    assert_ok(config_check(&c));
    for (int i = 0; i < 2; i++) {
        struct model m = {.config = c};
        struct draft *d = NULL;
        assert_ok(params_init(&m.params, &c, i == 0 ? DTYPE_F16 : DTYPE_Q8));
        assert_ok(draft_begin(&d, &m, SPECULATE_AUTO));
        further[i] = d->further_row;
        draft_free(d);
        params_release(&m.params);
    }
    assert_true(further[1] > 2 * further[0]);
}

/* What is said next, at position i of a text whose draft, if any, has this here. */
typedef token_id speaker(const token_id *text, size_t i, token_id drafted, uint64_t seed);

static token_id random_id(uint64_t seed, size_t i, uint32_t n)
{
    uint32_t w[4];
    rng_words(w, seed, 1, i);
    return (token_id)(w[0] % n);
}

static token_id say_at_random(const token_id *text, size_t i, token_id drafted, uint64_t seed)
{
    (void)text;
    (void)drafted;
    return random_id(seed, i, seed % 2 == 0 ? 3 : 40);
}

static token_id say_again(const token_id *text, size_t i, token_id drafted, uint64_t seed)
{
    const size_t period = 7 + seed % 30;
    (void)drafted;
    return i < period ? random_id(seed, i, 1000) : text[i - period];
}

/* The worst: as before until a draft has it so. */
static token_id say_otherwise(const token_id *text, size_t i, token_id drafted, uint64_t seed)
{
    const token_id same = say_again(text, i, drafted, seed);
    return drafted == same ? same + 1 : same;
}

/* By turns of a hundred ids. */
static token_id say_by_turns(const token_id *text, size_t i, token_id drafted, uint64_t seed)
{
    return i / 100 % 2 == 0 ? say_again(text, i, drafted, seed) : random_id(seed, i, 1000);
}

/* A list: entries of twelve ids, of which one is new. */
static token_id say_list(const token_id *text, size_t i, token_id drafted, uint64_t seed)
{
    (void)text;
    (void)drafted;
    return i % 12 == 5 ? random_id(seed, i, 1000) + 12 : (token_id)(i % 12);
}

/* How a text of n ids came about. */
struct course {
    int passes;
    double cost; /* in passes of one row each */
    token_id text[MOST + 1 + DRAFT_MAX];
};

static double pass_cost(int rows)
{
    const int few = rows < draft->few_rows ? rows : draft->few_rows;
    return (1 +
            (few > 1 ? (double)draft->second_row + (double)draft->further_row * (few - 2) : 0)) *
           rows / few;
}

static void follow(struct course *c, speaker *say, uint64_t seed, enum speculate how, size_t length)
{
    size_t n = 0;
    *c = (struct course){0};
    assert_ok(draft_begin(&draft, &model, how));
    draft->few_rows = 6; /* whatever this processor has */
    while (n < PROMPT) {
        c->text[n] = say(c->text, n, TOKEN_NONE, seed);
        n++;
    }
    while (n < length) {
        int k = draft_propose(draft, c->text, n, (int)(length - n) - 1, 1, 1), right = 0;
        assert_true(k >= 0 && k <= DRAFT_MAX && n + (size_t)k < length);
        token_id drafted[DRAFT_MAX + 1];
        memcpy(drafted, c->text + n, (size_t)k * sizeof *drafted);
        drafted[k] = TOKEN_NONE;
        c->passes++;
        c->cost += pass_cost(1 + k);
        for (;; right++) {
            c->text[n] = say(c->text, n, drafted[right], seed);
            if (c->text[n++] != drafted[right])
                break;
        }
        if (k > 0)
            draft_count(draft, k, right);
    }
}

static const float ROW_COSTS[][2] = {{0.1f, 0.1f}, {0.5f, 0.1f}, {0.36f, 0.38f}, {1, 1}};

static void no_text_loses(void **state)
{
    (void)state;
    static speaker *const speakers[] = {say_at_random, say_again, say_otherwise, say_by_turns,
                                        say_list};
    static const size_t lengths[] = {PROMPT + 40, PROMPT + 64, PROMPT + 300, MOST};
    static struct course c;
    int drafted = 0;
    for (int s = 0; s < 5; s++)
        for (int cost = 0; cost < 4; cost++)
            for (uint64_t i = 0; i < 40; i++) {
                assert_ok(draft_begin(&draft, &model, SPECULATE_AUTO));
                draft->second_row = ROW_COSTS[cost][0];
                draft->further_row = ROW_COSTS[cost][1];
                const size_t n = lengths[i % 4];
                follow(&c, speakers[s], i + 1, SPECULATE_AUTO, n);
                assert_true(c.cost * 0.97 <= (double)(n - PROMPT));
                drafted += s == 2 ? draft->n_drafted : 0;
            }
    assert_true(drafted > 100); /* or the worst was never tried */
}

static void repetition_gains(void **state)
{
    (void)state;
    static struct course c;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        follow(&c, say_again, seed, SPECULATE_AUTO, 400);
        assert_true(draft->n_accepted * 10 >= draft->n_drafted * 9);
        assert_true(c.cost * 1.8 <= 400 - PROMPT);
    }
}

/* A draft goes on behind the word that is new, and waits for no n-gram. */
static void a_list_gains(void **state)
{
    (void)state;
    static struct course c;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        follow(&c, say_list, seed, SPECULATE_AUTO, PROMPT + 600);
        assert_true(c.passes <= 200); /* 262 without that */
    }
}

/* Many texts share a pass, whose time is in its rows then. */
static void many_texts_have_no_drafts(void **state)
{
    (void)state;
    static struct course c;
    follow(&c, say_again, 1, SPECULATE_AUTO, 400);
    assert_true(draft_propose(draft, c.text, 400, DRAFT_MAX, 1, 1) > 0);
    assert_int_equal(draft_propose(draft, c.text, 400, DRAFT_MAX, 16, 16), 0);
    assert_int_equal(draft_propose(draft, c.text, 400, DRAFT_MAX, 6, 6), 0);
    draft->few_rows = 1; /* arithmetic is the limit */
    assert_int_equal(draft_propose(draft, c.text, 400, DRAFT_MAX, 1, 1), 0);
}

static void lookup_always_drafts(void **state)
{
    (void)state;
    const token_id text[8 + DRAFT_MAX] = {1, 2, 3, 4, 9, 1, 2}, after[] = {3, 4, 9, 1, 2};
    token_id other[3 + DRAFT_MAX] = {1, 2, 1};
    assert_ok(draft_begin(&draft, &model, SPECULATE_LOOKUP));
    token_id copy[8 + DRAFT_MAX];
    memcpy(copy, text, sizeof copy);
    assert_int_equal(draft_propose(draft, copy, 7, 100, 50, 50), DRAFT_MAX);
    assert_memory_equal(copy + 7, after, sizeof after);
    draft_forget_text(draft);
    assert_int_equal(draft_propose(draft, copy, 7, 2, 1, 1), 2);
    draft_forget_text(draft);
    assert_int_equal(draft_propose(draft, copy, 7, 0, 1, 1), 0);
    draft_forget_text(draft);
    assert_int_equal(draft_propose(draft, copy, 7, -1, 1, 1), 0);
    draft_forget_text(draft);
    assert_int_equal(draft_propose(draft, other, 3, 5, 1, 1), 0);
}

static void the_course_depends_on_the_text_alone(void **state)
{
    (void)state;
    static struct course first, second;
    follow(&first, say_by_turns, 5, SPECULATE_AUTO, 700);
    follow(&second, say_otherwise, 6, SPECULATE_AUTO, 700);
    uint64_t before = mem_count();
    follow(&second, say_by_turns, 5, SPECULATE_AUTO, 700);
    assert_int_equal(mem_count(), before);
    assert_memory_equal(&first, &second, sizeof first);
}

static void off_has_none(void **state)
{
    (void)state;
    assert_ok(draft_begin(&draft, &model, SPECULATE_AUTO));
    assert_ok(draft_begin(&draft, &model, SPECULATE_OFF));
    assert_null(draft);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(further_rows_cost_more_in_q8),
        cmocka_unit_test_setup_teardown(no_text_loses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(repetition_gains, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_gains, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_texts_have_no_drafts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lookup_always_drafts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_course_depends_on_the_text_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(off_has_none, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
