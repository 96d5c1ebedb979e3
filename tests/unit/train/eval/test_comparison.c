/* Questions with several endings, and two models on a text, against PyTorch
 * (tests/golden/comparison_reference.py). */
#include "tests/lib/test.h"

#include "model/base/json.h"
#include "model/base/par.h"
#include "tests/lib/scratch.h"
#include "train/eval/eval.h"
#include "train/eval/question.h"
#include "weights/load.h"

#include <math.h>

static struct scratch scratch;
static json_t *reference;

/* tests/golden/FROM/FILE as NAME of the scratch folder, with `to` for `what`. */
static void copy(const char *from, const char *file, const char *what, const char *to)
{
    struct buf text = {0};
    char *path = mem_sprintf("tests/golden/%s/%s", from, file);
    assert_ok(file_read_all(&text, path, 1 << 20));
    char *at = what == NULL ? NULL : strstr(buf_text(&text), what);
    if (what != NULL) {
        assert_non_null(at);
        char *changed =
            mem_sprintf("%.*s%s%s", (int)(at - text.data), text.data, to, at + strlen(what));
        scratch_write(&scratch, file, changed, strlen(changed));
        mem_free(changed);
    } else {
        scratch_write(&scratch, file, text.data, text.n);
    }
    buf_release(&text);
    mem_free(path);
}

/* The golden model, its config.json with `to` in the place of `what`. */
static struct model *load(enum dtype kind, const char *what, const char *to)
{
    struct model *m = NULL;
    copy("comparison", "config.json", what, to);
    assert_ok(model_load(&m, scratch.folder, &(struct load_config){.dtype = kind}, NULL));
    return m;
}

static int begin(void **state)
{
    (void)state;
    scratch_open(&scratch);
    copy("comparison", "model.safetensors", NULL, NULL);
    copy("tokenizer", "vocab.json", NULL, NULL);
    copy("tokenizer", "merges.txt", NULL, NULL);
    return json_read_file(&reference, "tests/golden/comparison/reference.json", 1 << 20);
}

static int end(void **state)
{
    (void)state;
    json_decref(reference);
    scratch_close(&scratch);
    return 0;
}

static double expected(const char *group, const char *name)
{
    const json_t *value = json_object_get(json_object_get(reference, group), name);
    if (!json_is_number(value))
        fail_msg("the reference has no %s of %s", name, group);
    return json_number_value(value);
}

static void measure(struct eval_result *r, const char *name, struct model *m, struct model *other,
                    int max_seqs, const struct eval_config *c, const char *path)
{
    struct engine e, o = {0};
    assert_ok(engine_init(&e, m, max_seqs));
    if (other != NULL)
        assert_ok(engine_init(&o, other, max_seqs));
    assert_ok(eval_run(eval_find(name), &e, other == NULL ? NULL : &o, c, path, r, NULL));
    engine_release(&e);
    if (other != NULL)
        engine_release(&o);
}

static double value_of(const struct eval_result *r, const char *name)
{
    const struct eval_figure *f = eval_figure_find(r, name);
    if (f == NULL)
        fail_msg("%s has no %s", r->name, name);
    return f->value;
}

/* ---- questions ---- */

static void questions_are_ranked_as_lm_eval_does(void **state)
{
    (void)state;
    static const struct {
        const char *group;
        bool detokenize;
        int max_seqs, threads;
    } cases[] = {{"choice", true, 1, 1},
                 {"choice", true, 5, 3},
                 {"choice_as_written", false, 2, 2},
                 {"choice_as_written", false, 16, 1}};
    struct model *m = load(DTYPE_F32, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *group = cases[i].group;
        struct eval_config c;
        struct eval_result r;
        eval_config_init(&c);
        c.detokenize = cases[i].detokenize;
        assert_ok(par_open(cases[i].threads, false));
        measure(&r, "choice", m, NULL, cases[i].max_seqs, &c,
                "tests/golden/comparison/questions.jsonl");
        double n = (double)r.done;
        assert_true(n == expected(group, "questions"));
        assert_true((double)r.left_out == expected(group, "left_out"));
        assert_true(round(value_of(&r, "acc") * n / 100) == expected(group, "sum"));
        assert_true(round(value_of(&r, "acc_norm") * n / 100) == expected(group, "character"));
        assert_true(round(value_of(&r, "acc_token") * n / 100) == expected(group, "token"));
        double p = value_of(&r, "acc") / 100;
        assert_true(fabs(eval_figure_find(&r, "acc")->error - 100 * sqrt(p * (1 - p) / (n - 1))) <
                    1e-9);
        assert_false(r.partial);
        eval_result_release(&r);
    }
    model_free(m);
}

/* Raises the interrupt when so many steps are left. */
static void count_down(void *user, const char *what, uint64_t done, uint64_t total)
{
    int *left = user;
    (void)what;
    (void)done;
    (void)total;
    if (--*left == 0)
        interrupt_raise();
}

static void stopped_it_ranks_whole_questions(void **state)
{
    (void)state;
    struct model *m = load(DTYPE_F32, NULL, NULL);
    const char *path = "tests/golden/comparison/questions.jsonl";
    struct engine e;
    struct eval_config c;
    struct eval_result r, some;
    int partial = 0, empty = 0, rc = 0;
    eval_config_init(&c);
    assert_ok(engine_init(&e, m, 2));
    for (int at = 1, left = 0; left <= 0; at++) {
        struct progress p = {.step = count_down, .user = &left};
        left = at;
        rc = eval_run(eval_find("choice"), &e, NULL, &c, path, &r, &p);
        interrupt_clear();
        empty += rc != 0;
        if (rc != 0) {
            assert_int_equal(rc, ERR_INTERRUPTED);
            continue;
        }
        if (r.partial) {
            assert_true(r.done > 0 && r.done + r.left_out < r.total);
            partial++;
        }
        assert_true(isfinite(value_of(&r, "acc")));
        assert_string_equal(r.unit, "questions");
        eval_result_release(&r);
    }
    assert_true(partial > 2 && empty > 2);
    /* A limit does not change how many there are. */
    assert_ok(eval_run(eval_find("choice"), &e, NULL, &c, path, &r, NULL));
    c.limit = 1;
    assert_ok(eval_run(eval_find("choice"), &e, NULL, &c, path, &some, NULL));
    assert_int_equal(some.total, r.total);
    assert_int_equal(some.done + some.left_out, 1);
    assert_false(some.partial);
    eval_result_release(&some);
    eval_result_release(&r);
    engine_release(&e);
    model_free(m);
}

static void a_line_says_what_it_lacks(void **state)
{
    (void)state;
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        {"{", "not JSON: line 1: string or '}' expected near end of file"},
        {"[1]", "it is no JSON object"},
        {"{\"endings\": [\"a\", \"b\"], \"label\": 0}",
         "there is no context: ctx, ctx_a with ctx_b, context or prompt"},
        {"{\"ctx\": 5, \"endings\": [\"a\", \"b\"], \"label\": 0}", "ctx is 5, must be a text"},
        {"{\"ctx\": \"x\", \"label\": 0}", "there are no endings: endings or choices"},
        {"{\"ctx\": \"x\", \"endings\": \"ab\", \"label\": 0}",
         "the endings must be a list of 2 to 1000 texts"},
        {"{\"ctx\": \"x\", \"endings\": [\"a\"], \"label\": 0}",
         "the endings must be a list of 2 to 1000 texts"},
        {"{\"ctx\": \"x\", \"endings\": [\"a\", 1], \"label\": 0}", "ending 1 is no text"},
        {"{\"ctx\": \"x\", \"endings\": [\"a\", \"b\"]}",
         "it does not say which ending is right: label, answer or gold"},
        {"{\"ctx\": \"x\", \"endings\": [\"a\", \"b\"], \"label\": \"\"}",
         "it does not say which ending is right: label, answer or gold"},
        {"{\"ctx\": \"x\", \"endings\": [\"a\", \"b\"], \"label\": 2}",
         "the right ending is 2, must be 0 to 1"},
        {"{\"ctx\": \"x\", \"endings\": [\"a\", \"b\"], \"label\": -1}",
         "the right ending is -1, must be 0 to 1"},
        {"{\"ctx\": \"x\", \"endings\": [\"a\", \"b\"], \"label\": \"99999999999999999999\"}",
         "the right ending is \"99999999999999999999\", must be 0 to 1"},
        {"{\"ctx\": \"x\", \"endings\": [\"a\", \"b\"], \"label\": 0.5}",
         "the right ending is 0.5, must be 0 to 1"},
        {"{\"ctx\": \"x\", \"choices\": [\"a\", \"b\"], \"answer\": \"c\"}",
         "the right ending is \"c\", must be 0 to 1"},
        {"{\"ctx\": \"x\\u0000\", \"endings\": [\"a\", \"b\"], \"label\": 0}",
         "not JSON: line 1: \\u0000 is not allowed without JSON_ALLOW_NUL near '\"x\\u0000\"'"},
    };
    struct question q;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_not_equal(question_read(&q, cases[i].line, strlen(cases[i].line), true), 0);
        assert_string_equal(err_text(), cases[i].sentence);
        assert_null(q.endings);
    }
}

/* ---- two models ---- */

static void near(double got, double wanted, double tolerance, const char *group, const char *name)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%s %s: %.9g, expected %.9g", group, name, got, wanted);
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
    struct model *m = load(DTYPE_F32, NULL, NULL);
    double first = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *group = cases[i].group;
        struct model *other = load(DTYPE_F32, cases[i].what, cases[i].to);
        struct eval_config c;
        struct eval_result r;
        eval_config_init(&c);
        c.seq_length = 48;
        c.overlap = 16;
        assert_ok(par_open(cases[i].threads, false));
        measure(&r, "kl", m, other, cases[i].max_seqs, &c, "tests/golden/comparison/text.txt");
        double n = (double)r.targets;
        assert_true(n == expected(group, "targets"));
        for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
            double wanted = expected(group, figures[k].name);
            near(value_of(&r, figures[k].figure), wanted, cases[i].part * fabs(wanted) + 1e-10,
                 group, figures[k].name);
        }
        near(round(value_of(&r, "same_top") * n / 100), expected(group, "same_top"), 0, group,
             "same_top");
        near(value_of(&r, "perplexity"), exp(expected(group, "loss")), 0.02, group, "perplexity");
        near(eval_figure_find(&r, "kl")->error, expected(group, "error"),
             cases[i].part * expected(group, "error"), group, "error");
        near(eval_figure_find(&r, "loss_change")->error, expected(group, "change_error"),
             cases[i].part * expected(group, "change_error"), group, "change_error");
        /* The same bits for another batch and team. */
        if (i == 2)
            assert_true(value_of(&r, "kl") == first);
        first = value_of(&r, "kl");
        eval_result_release(&r);
        model_free(other);
    }
    model_free(m);
}

static void a_model_is_not_far_from_itself(void **state)
{
    (void)state;
    struct model *m = load(DTYPE_F16, NULL, NULL);
    struct eval_config c;
    struct eval_result r;
    eval_config_init(&c);
    measure(&r, "kl", m, m, 2, &c, "tests/golden/comparison/text.txt");
    assert_true(value_of(&r, "kl") == 0 && value_of(&r, "kl_max") == 0);
    assert_true(value_of(&r, "same_top") == 100 && value_of(&r, "perplexity_ratio") == 1);
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
    struct model *m = load(DTYPE_F32, NULL, NULL), *small = NULL, *other;
    copy("tokenizer", "vocab.json", "\"!\": 0, \"\\\"\": 1", "\"!\": 1, \"\\\"\": 0");
    other = load(DTYPE_F32, NULL, NULL);
    copy("tokenizer", "vocab.json", NULL, NULL);
    assert_ok(model_load(&small, "tests/golden/tiny-half", &(struct load_config){.dtype = DTYPE_F16}, NULL));
    eval_config_init(&c);
    assert_ok(engine_init(&e, m, 1));
    assert_ok(engine_init(&o, other, 1));
    assert_int_equal(eval_run(eval_find("kl"), &e, &o, &c, text, &r, NULL), ERR_MISMATCH);
    assert_string_equal(err_text(), "cannot compare: token 0 is \"!\" here and \"\"\" in the other "
                                    "model; it takes two of one vocabulary");
    engine_release(&o);
    assert_ok(engine_init(&o, small, 1));
    assert_int_equal(eval_run(eval_find("kl"), &e, &o, &c, text, &r, NULL), ERR_MISMATCH);
    assert_string_equal(err_text(), "cannot compare: this model has 507 tokens, the other 65; it "
                                    "takes two of one vocabulary");
    engine_release(&o);
    engine_release(&e);
    model_free(small);
    model_free(other);
    model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_are_ranked_as_lm_eval_does),
        cmocka_unit_test(stopped_it_ranks_whole_questions),
        cmocka_unit_test(a_line_says_what_it_lacks),
        cmocka_unit_test(two_models_differ_as_pytorch_says),
        cmocka_unit_test(a_model_is_not_far_from_itself),
        cmocka_unit_test(other_vocabularies_are_refused),
    };
    return cmocka_run_group_tests_name("comparison", tests, begin, end);
}
