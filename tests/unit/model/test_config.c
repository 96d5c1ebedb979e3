/* Sizes of a model: the named ones are the published ones, and what cannot be is named. */
#include "tests/lib/test.h"

#include "model/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void named_sizes_have_the_published_parameters(void **state)
{
    (void)state;
    const struct {
        const char *name;
        uint64_t params;
    } sizes[] = {{"gpt2", 124439808},
                 {"gpt2-small", 124439808},
                 {"gpt2-medium", 354823168},
                 {"gpt2-large", 774030080},
                 {"gpt2-xl", 1557611200}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct config c;
        assert_ok(config_named(&c, sizes[i].name));
        assert_int_equal(config_params(&c), sizes[i].params);
        assert_int_equal(c.n_inner, 4 * c.n_embd);
        assert_int_equal(config_head_size(&c), 64);
    }
    struct config c;
    assert_ok(config_named(&c, "gpt2"));
    /* evaluation.md: 85.0M in the layers, 38.6M in the head. */
    assert_int_equal(config_matmul_params(&c), 84934656 + 38597376);
    c.tie_word_embeddings = false;
    assert_int_equal(config_params(&c), 124439808 + 38597376);
    assert_int_equal(config_named(&c, "gpt3"), ERR_RANGE);
    assert_string_equal(err_text(), "no model size is called gpt3; there are gpt2-test, gpt2 "
                                    "(gpt2-small), gpt2-medium, gpt2-large and gpt2-xl");
}

static void a_size_out_of_range_is_named(void **state)
{
    (void)state;
    const struct {
        size_t field;
        int value;
        const char *sentence;
    } rows[] = {
#define FIELD(f) offsetof(struct config, f)
        {FIELD(n_layer), 0, "n_layer is 0, must be 1 to 4096"},
        {FIELD(n_layer), 1000000000, "n_layer is 1000000000, must be 1 to 4096"},
        {FIELD(n_embd), -768, "n_embd is -768, must be 1 to 131072"},
        {FIELD(n_head), 0, "n_head is 0, must be 1 to 768"},
        {FIELD(n_head), 769, "n_head is 769, must be 1 to 768"},
        {FIELD(n_head), 7, "n_head 7 does not divide n_embd 768"},
        {FIELD(n_ctx), 0, "n_positions is 0, must be 1 to 16777216"},
        {FIELD(n_vocab), 0, "vocab_size is 0, must be 1 to 16777216"},
        {FIELD(n_inner), -1, "n_inner is -1, must be 0 to 1048576"},
        {FIELD(eos_token_id), 50257, "eos_token_id is 50257, must be below vocab_size 50257"},
        {FIELD(bos_token_id), -2, "bos_token_id is -2, must be below vocab_size 50257"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct config c;
        config_init(&c);
        memcpy((char *)&c + rows[i].field, &rows[i].value, sizeof(int));
        assert_int_equal(config_check(&c), ERR_RANGE);
        assert_string_equal(err_text(), rows[i].sentence);
    }
    const float epsilons[] = {0, -1e-5f, NAN, INFINITY};
    for (size_t i = 0; i < sizeof epsilons / sizeof *epsilons; i++) {
        struct config c;
        config_init(&c);
        c.layer_norm_epsilon = epsilons[i];
        assert_int_equal(config_check(&c), ERR_RANGE);
        assert_non_null(strstr(err_text(), "layer_norm_epsilon is "));
    }
    /* Each in its range, together more than can be counted on. */
    struct config c;
    config_init(&c);
    c.n_layer = 4096;
    c.n_embd = 1 << 17;
    c.n_head = 1;
    assert_int_equal(config_check(&c), ERR_RANGE);
    assert_non_null(strstr(err_text(), "parameters, at most 17592186044416 are possible"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_sizes_have_the_published_parameters),
        cmocka_unit_test(a_size_out_of_range_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
