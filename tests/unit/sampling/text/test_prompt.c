/* Where a text's begin token comes from, and to which prompts it is added. */
#include "sampling/text/prompt.h"
#include "tests/lib/tiny_text.h"

static struct model model;
static struct generate_config config;

static int set_up(void **state)
{
    (void)state;
    tiny_speaker(&model, 3);
    generate_config_init(&config);
    config.begin = true;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tiny_speaker_release(&model);
    return 0;
}

/* bos_token_id, else eos_token_id, else the tokenizer's; none that has no logits. */
static void the_begin_token_is_the_first_that_is_set(void **state)
{
    (void)state;
    static const struct {
        token_id bos, eos, begin;
    } cases[] = {{5, 7, 5},
                 {TOKEN_NONE, 7, 7},
                 {TOKEN_NONE, TOKEN_NONE, 0},
                 {TINY_V - 1, 7, TINY_V - 1},
                 {TINY_V, 7, TOKEN_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        model.config.bos_token_id = cases[i].bos;
        model.config.eos_token_id = cases[i].eos;
        assert_int_equal(prompt_begin_token(&model), cases[i].begin);
    }
    struct tokenizer *t = model.tokenizer;
    model.tokenizer = NULL;
    model.config.bos_token_id = model.config.eos_token_id = TOKEN_NONE;
    assert_int_equal(prompt_begin_token(&model), TOKEN_NONE);
    model.tokenizer = t;
}

/* Encode behind n_before ids 98, and compare. */
static void expect_ids(const char *text, size_t n_before, const token_id *want, size_t n,
                       bool begun)
{
    struct prompt p = {0};
    for (size_t i = 0; i < n_before; i++)
        assert_ok(ids_add(&p.ids, &(token_id){98}, 1));
    assert_ok(prompt_encode(&p, &model, &config, text, strlen(text)));
    assert_int_equal(p.ids.n, n);
    if (n > 0)
        assert_memory_equal(p.ids.data, want, n * sizeof *want);
    assert_int_equal(p.begun, begun);
    prompt_release(&p);
}

static void only_a_beginning_gets_the_begin_token(void **state)
{
    (void)state;
    enum { Q = 1 + 'q' };
    expect_ids("qq", 0, (token_id[]){0, Q, Q}, 3, true);
    expect_ids("", 0, (token_id[]){0}, 1, true);
    expect_ids("q", 2, (token_id[]){98, 98, Q}, 3, false);
    config.begin = false;
    expect_ids("q", 0, (token_id[]){Q}, 1, false);
    expect_ids("", 0, NULL, 0, false);
    /* One that the text brings is enough. */
    config.begin = config.special = true;
    expect_ids("<|endoftext|>q", 0, (token_id[]){0, Q}, 2, false);
    expect_ids("<|endoftext|>", 0, (token_id[]){0}, 1, false);
    expect_ids("<|endoftext|><|endoftext|>q", 0, (token_id[]){0, 0, Q}, 3, false);
    /* A special token inside is no beginning. */
    expect_ids("q<|endoftext|>", 0, (token_id[]){0, Q, 0}, 3, true);
    model.config.bos_token_id = TINY_V;
    struct prompt p = {0};
    assert_fails(prompt_encode(&p, &model, &config, "q", 1), ERR_RANGE,
                 "begin is on, and this model has no token that begins a text");
    prompt_release(&p);
}

/* The space at the very end is kept back with trim alone, and one of several. */
static void a_last_space_is_held_back(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool trim, held;
        size_t n;
    } cases[] = {{"q ", true, true, 1},   {"q ", false, false, 2}, {"q  ", true, true, 2},
                 {"q\n", true, false, 2}, {" ", true, true, 0},    {"", true, false, 0}};
    config.begin = false;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct prompt p = {0};
        config.trim = cases[i].trim;
        assert_ok(prompt_encode(&p, &model, &config, cases[i].text, strlen(cases[i].text)));
        assert_int_equal(p.held_space, cases[i].held);
        assert_int_equal(p.ids.n, cases[i].n);
        prompt_release(&p);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_begin_token_is_the_first_that_is_set),
        TEST(only_a_beginning_gets_the_begin_token),
        TEST(a_last_space_is_held_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
