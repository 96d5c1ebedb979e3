/* What a request may ask for, how many texts it takes, and where it stops. */
#include "model/forward.h"
#include "sampling/text/request.h"
#include "tests/lib/tiny_text.h"

static void searches_have_as_many_texts_as_they_need(void **state)
{
    (void)state;
    struct generate_config g;
    struct sampler_config c;
    generate_config_init(&g);
    sampler_config_init(&c);
    c.top_k = 6;
    assert_int_equal(generate_texts(&g, &c), 1);
    g.num_return_sequences = 3;
    assert_int_equal(generate_texts(&g, &c), 3);
    g.num_beams = 4;
    assert_int_equal(generate_texts(&g, &c), 8);
    g.num_beams = g.num_return_sequences = 1;
    g.penalty_alpha = 0.5f;
    assert_int_equal(generate_texts(&g, &c), 6);
}

static void contrastive_search_has_two_candidates_to_a_pass(void **state)
{
    (void)state;
    struct generate_config g;
    struct sampler_config c;
    generate_config_init(&g);
    sampler_config_init(&c);
    g.penalty_alpha = 0.5f;
    for (c.top_k = 0; c.top_k <= FORWARD_MAX_ROWS + 1; c.top_k++)
        assert_int_equal(generate_config_check(&g, &c),
                         c.top_k >= 2 && c.top_k <= FORWARD_MAX_ROWS ? 0 : ERR_RANGE);
    g.penalty_alpha = 0; /* none */
    assert_ok(generate_config_check(&g, &c));
}

static void beams_return_no_more_than_there_are(void **state)
{
    (void)state;
    struct generate_config g;
    struct sampler_config c;
    generate_config_init(&g);
    sampler_config_init(&c);
    for (g.num_beams = 1; g.num_beams <= 4; g.num_beams++)
        for (g.num_return_sequences = 1; g.num_return_sequences <= 5; g.num_return_sequences++)
            assert_int_equal(generate_config_check(&g, &c),
                             g.num_beams == 1 || g.num_return_sequences <= g.num_beams ? 0
                                                                                       : ERR_RANGE);
}

/* Stop tokens: ids and texts, each once, as many as there is room for. */
static void stop_tokens_are_counted(void **state)
{
    (void)state;
    struct model model;
    struct generate_config config;
    struct stop_tokens stop;
    struct buf text = {0};
    tiny_speaker(&model, 3);
    generate_config_init(&config);
    config.stop_token = "7,q,7,\\n,<|endoftext|>";
    assert_ok(generate_stop_tokens(&stop, &config, &model));
    assert_int_equal(stop.n, 4);
    assert_memory_equal(stop.ids, ((token_id[]){7, 1 + 'q', 1 + '\n', 0}), 4 * sizeof(token_id));
    config.stop_token = NULL;
    assert_ok(generate_stop_tokens(&stop, &config, &model));
    assert_true(stop.n == 1 && stop.ids[0] == 0);
    for (int i = 0; i < STOP_TOKENS_MAX; i++)
        assert_ok(buf_printf(&text, "%s%d", i > 0 ? "," : "", 10 + i));
    config.stop_token = text.data;
    assert_ok(generate_stop_tokens(&stop, &config, &model));
    assert_int_equal(stop.n, STOP_TOKENS_MAX);
    assert_ok(buf_str(&text, ",10")); /* one that there is */
    config.stop_token = text.data;
    assert_ok(generate_stop_tokens(&stop, &config, &model));
    assert_ok(buf_str(&text, ",9"));
    config.stop_token = text.data;
    assert_fails(generate_stop_tokens(&stop, &config, &model), ERR_RANGE,
                 "stop_token has more than ");
    for (int id = TINY_V - 1; id <= TINY_V; id++) {
        text.n = 0;
        assert_ok(buf_printf(&text, "%d", id));
        config.stop_token = text.data;
        assert_int_equal(generate_stop_tokens(&stop, &config, &model), id < TINY_V ? 0 : ERR_RANGE);
    }
    buf_release(&text);
    tiny_speaker_release(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searches_have_as_many_texts_as_they_need),
        cmocka_unit_test(contrastive_search_has_two_candidates_to_a_pass),
        cmocka_unit_test(beams_return_no_more_than_there_are),
        cmocka_unit_test(stop_tokens_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
