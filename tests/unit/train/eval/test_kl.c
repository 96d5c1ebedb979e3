/* Two models on a text, as far from each other as PyTorch finds them
 * (tests/golden/comparison_reference.py). */
#include "tests/lib/eval_golden.h"

#include "model/base/par.h"

#include <math.h>

static int open_goldens(void **state)
{
    (void)state;
    eval_golden_open("comparison");
    return 0;
}

static int close_goldens(void **state)
{
    (void)state;
    eval_golden_close();
    return 0;
}

static void expect_near(double got, double wanted, double tolerance, const char *group,
                        const char *name)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%s %s: %.9g, expected %.9g", group, name, got, wanted);
}

static void expect_ratio(const struct eval_result *r)
{
    const struct eval_figure *ratio = eval_figure_find(r, "perplexity_ratio"),
                             *change = eval_figure_find(r, "loss_change");
    assert_true(ratio->value == exp(change->value));
    assert_true(ratio->error == ratio->value * change->error);
}

static void two_models_differ_as_pytorch_says(void **state)
{
    (void)state;
    static const struct {
        const char *group, *what, *to;
        int max_seqs, threads;
        double part; /* of a figure by which it may be off, so small are they */
    } cases[] = {
        {"kl_near", "gelu_new", "gelu", 3, 2, 0.1},
        {"kl_far", "by_inverse_layer_idx\": false", "by_inverse_layer_idx\": true", 3, 2, 1e-4},
        {"kl_far", "by_inverse_layer_idx\": false", "by_inverse_layer_idx\": true", 1, 1, 1e-4}};
    static const struct {
        const char *figure, *name;
    } figures[] = {{"kl", "mean"},     {"kl_median", "p50"},     {"kl_p90", "p90"},
                   {"kl_p95", "p95"},  {"kl_p99", "p99"},        {"kl_p99_9", "p99.9"},
                   {"kl_max", "p100"}, {"loss_change", "change"}};
    static const struct {
        const char *figure, *name, *of_loss;
    } errors[] = {{"kl_median", "p50_error", NULL},
                  {"kl_p90", "p90_error", NULL},
                  {"kl_p95", "p95_error", NULL},
                  {"kl_p99", "p99_error", NULL},
                  {"perplexity", "loss_error", "loss"},
                  {"other_perplexity", "other_loss_error", "other_loss"}};
    struct model *m = eval_golden_model(DTYPE_F32, NULL, NULL);
    double first = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *group = cases[i].group;
        struct model *other = eval_golden_model(DTYPE_F32, cases[i].what, cases[i].to);
        struct eval_config c;
        struct eval_result r;
        eval_config_init(&c);
        c.seq_length = 48;
        c.overlap = 16;
        assert_ok(par_open(cases[i].threads, false));
        assert_ok(eval_golden_run(&r, "kl", &c, "tests/golden/comparison/text.txt", m, other,
                                  cases[i].max_seqs));
        double n = (double)r.targets;
        assert_true(n == eval_golden_number(group, "targets"));
        for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
            double wanted = eval_golden_number(group, figures[k].name);
            expect_near(eval_figure_value(&r, figures[k].figure), wanted,
                        cases[i].part * fabs(wanted) + 1e-10, group, figures[k].name);
        }
        expect_near(round(eval_figure_value(&r, "same_top") * n / 100),
                    eval_golden_number(group, "same_top"), 0, group, "same_top");
        expect_near(eval_figure_value(&r, "perplexity"), exp(eval_golden_number(group, "loss")),
                    0.02, group, "perplexity");
        expect_near(eval_figure_find(&r, "kl")->error, eval_golden_number(group, "error"),
                    cases[i].part * eval_golden_number(group, "error"), group, "error");
        expect_near(
            eval_figure_find(&r, "loss_change")->error, eval_golden_number(group, "change_error"),
            cases[i].part * eval_golden_number(group, "change_error"), group, "change_error");
        for (size_t k = 0; k < sizeof errors / sizeof *errors; k++) {
            double wanted = eval_golden_number(group, errors[k].name);
            if (errors[k].of_loss != NULL)
                wanted *= exp(eval_golden_number(group, errors[k].of_loss));
            expect_near(eval_figure_find(&r, errors[k].figure)->error, wanted,
                        cases[i].part * wanted, group, errors[k].name);
        }
        expect_ratio(&r);
        /* So few targets say nothing of the last thousandth. */
        assert_true(n < 999 && isnan(eval_figure_find(&r, "kl_p99_9")->error));
        assert_true(isnan(eval_figure_find(&r, "kl_max")->error));
        /* The same bits for another batch and team. */
        if (i == 2)
            assert_true(eval_figure_value(&r, "kl") == first);
        first = eval_figure_value(&r, "kl");
        eval_result_release(&r);
        model_free(other);
    }
    model_free(m);
}

static void a_model_is_not_far_from_itself(void **state)
{
    (void)state;
    struct model *m = eval_golden_model(DTYPE_F16, NULL, NULL);
    struct eval_config c;
    struct eval_result r;
    eval_config_init(&c);
    assert_ok(eval_golden_run(&r, "kl", &c, "tests/golden/comparison/text.txt", m, m, 2));
    assert_true(eval_figure_value(&r, "kl") == 0 && eval_figure_value(&r, "kl_max") == 0);
    assert_true(eval_figure_value(&r, "same_top") == 100 &&
                eval_figure_value(&r, "perplexity_ratio") == 1);
    eval_result_release(&r);
    model_free(m);
}

static void other_vocabularies_are_refused(void **state)
{
    (void)state;
    struct engine e, o;
    struct eval_config c;
    struct eval_result r;
    const char *text = "tests/golden/comparison/text.txt";
    struct model *m = eval_golden_model(DTYPE_F32, NULL, NULL), *small = NULL, *other;
    eval_golden_copy("tokenizer", "vocab.json", "\"!\": 0, \"\\\"\": 1", "\"!\": 1, \"\\\"\": 0");
    other = eval_golden_model(DTYPE_F32, NULL, NULL);
    eval_golden_copy("tokenizer", "vocab.json", NULL, NULL);
    assert_ok(model_load(&small, "tests/golden/tiny-half",
                         &(struct load_config){.dtype = DTYPE_F16}, NULL));
    eval_config_init(&c);
    assert_ok(engine_init(&e, m, 1));
    assert_ok(engine_init(&o, other, 1));
    assert_int_equal(eval_run(eval_find("kl"), &e, &o, &c, text, &r, NULL), ERR_MISMATCH);
    assert_string_equal(err_text(), "cannot compare: token 0 is \"!\" here and \"\"\" in the other "
                                    "model; both need the same vocabulary");
    engine_release(&o);
    assert_ok(engine_init(&o, small, 1));
    assert_int_equal(eval_run(eval_find("kl"), &e, &o, &c, text, &r, NULL), ERR_MISMATCH);
    assert_string_equal(
        err_text(),
        "cannot compare: this model has 507 tokens, the other 65; both need the same vocabulary");
    engine_release(&o);
    engine_release(&e);
    model_free(small);
    model_free(other);
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_models_differ_as_pytorch_says),
        cmocka_unit_test(a_model_is_not_far_from_itself),
        cmocka_unit_test(other_vocabularies_are_refused),
    };
    return cmocka_run_group_tests(tests, open_goldens, close_goldens);
}
