/* Settings that were given and change nothing. */
#include "tests/lib/test.h"

#include "repl/settings/unused.h"

#include <string.h>

static struct buf told;
static void tell(const char *sentence)
{
    assert_ok(buf_printf(&told, "%s\n", sentence));
}

/* "temperature=0 top_k=5" on the command line, and what is told of it. */
static void expect_told(const char *words, const char *expected)
{
    struct options o;
    char text[256], *rest = text, *word;
    assert_ok(options_init(&o));
    snprintf(text, sizeof text, "%s", words);
    while ((word = strsep(&rest, " ")) != NULL) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        assert_ok(
            options_set(&o, settings_table_find(&options_table, word), ORIGIN_COMMAND_LINE, value));
    }
    told.n = 0;
    assert_ok(options_say_unused(&o, ORIGIN_COMMAND_LINE, tell));
    if (strcmp(told.n == 0 ? "" : buf_text(&told), expected) != 0)
        fail_msg("%s: told \"%s\", expected \"%s\"", words, told.n == 0 ? "" : buf_text(&told),
                 expected);
    told.n = 0;
    assert_ok(options_say_unused(&o, ORIGIN_SET, tell));
    assert_int_equal(told.n, 0);
    options_release(&o);
}

static void what_another_setting_switches_off_is_told(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"dry_base=3", "dry_base is not used: dry_multiplier is 0\n"},
        {"dry_base=3 dry_multiplier=1", ""},
        {"xtc_threshold=0.2", "xtc_threshold is not used: xtc_probability is 0\n"},
        {"dynatemp_exponent=2", "dynatemp_exponent is not used: dynatemp_range is 0\n"},
        {"mirostat_tau=3", "mirostat_tau is not used: mirostat is 0\n"},
        {"mirostat=2 mirostat_tau=3 top_p=0.5", "top_p is not used: mirostat takes its place\n"},
        {"topk_uniform=on", "topk_uniform is not used: top_k is 0\n"},
        {"topk_uniform=on top_k=3", ""},
        {"penalty_window=4", "penalty_window is not used: there is no penalty\n"},
        {"penalty_window=4 presence_penalty=1", ""},
        {"early_stopping=never", "early_stopping is not used: num_beams is 1\n"},
        {"device_loop=off device_iterations=4",
         "device_iterations is not used: device_loop is off\n"},
        {"top_logprobs=4", "top_logprobs is not used: jsonl is off\n"},
        {"top_logprobs=4 jsonl=on", ""},
        {"keep=on", "keep is not used: outside the prompt each text is new\n"},
        {"seq_length=64 last_n=0", "seq_length is not used: it is for evaluations\n"},
        {"temperature=0 top_k=5", "top_k is not used: temperature is 0\n"},
        {"num_beams=2 temperature=0.5", "temperature is not used: beam search draws nothing\n"},
        {"penalty_alpha=0.6 top_k=4 min_p=0.1",
         "min_p is not used: contrastive search draws nothing\n"},
        {"penalty_alpha=0.6 top_k=4 mirostat=2",
         "mirostat is not used: contrastive search draws nothing\n"},
        {"temperature=0 xtc_probability=1", "xtc_probability is not used: temperature is 0\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_told(cases[i][0], cases[i][1]);
}

static void what_the_chain_leaves_out_is_told(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"chain=temperature,top_k top_k=5 temperature=2", ""},
        {"chain=temperature top_k=5", "top_k is not used: chain has no stage top_k\n"},
        {"chain=topk_uniform top_k=5 topk_uniform=on", ""},
        {"chain=top_k temperature=2", "temperature is not used: chain has no stage temperature\n"},
        {"chain=top_k temperature=0", ""},
        {"chain=top_k ignore_eos=on",
         "ignore_eos is not used: chain has no stage min_new_tokens\n"},
        {"chain=top_k logit_bias=5:-inf",
         "logit_bias is not used: chain has no stage logit_bias\n"},
        {"chain=top_k penalty_alpha=0.6 top_k=4", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_told(cases[i][0], cases[i][1]);
}

/* Nothing was asked for that is not done. */
static void off_and_built_in_values_are_not_told(void **state)
{
    (void)state;
    static const char *const cases[] = {"temperature=0 top_k=0",
                                        "temperature=0 top_p=1",
                                        "temperature=0 top_p=0.95",
                                        "temperature=0 seed=5",
                                        "num_beams=2 seed=5",
                                        "topk_uniform=off",
                                        "dry_base=1.75",
                                        "keep=off",
                                        "top_logprobs=0",
                                        "chain=top_k ignore_eos=off"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_told(cases[i], "");
    buf_release(&told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_another_setting_switches_off_is_told),
        cmocka_unit_test(what_the_chain_leaves_out_is_told),
        cmocka_unit_test(off_and_built_in_values_are_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
