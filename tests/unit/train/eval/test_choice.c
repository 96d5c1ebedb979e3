/* Questions with several endings, ranked as PyTorch ranks them
 * (tests/golden/comparison_reference.py). */
#include "tests/lib/eval_golden.h"

#include "model/base/par.h"
#include "train/eval/question.h"

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
    struct model *m = eval_golden_model(DTYPE_F32, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *group = cases[i].group;
        struct eval_config c;
        struct eval_result r;
        eval_config_init(&c);
        c.detokenize = cases[i].detokenize;
        assert_ok(par_open(cases[i].threads, false));
        assert_ok(eval_golden_run(&r, "choice", &c, "tests/golden/comparison/questions.jsonl", m,
                                  NULL, cases[i].max_seqs));
        double n = (double)r.done;
        assert_true(n == eval_golden_number(group, "questions"));
        assert_true((double)r.left_out == eval_golden_number(group, "left_out"));
        assert_true(round(eval_figure_value(&r, "acc") * n / 100) ==
                    eval_golden_number(group, "sum"));
        assert_true(round(eval_figure_value(&r, "acc_norm") * n / 100) ==
                    eval_golden_number(group, "character"));
        assert_true(round(eval_figure_value(&r, "acc_token") * n / 100) ==
                    eval_golden_number(group, "token"));
        double p = eval_figure_value(&r, "acc") / 100;
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
    struct model *m = eval_golden_model(DTYPE_F32, NULL, NULL);
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
        assert_true(isfinite(eval_figure_value(&r, "acc")));
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
        {"{", "not JSON: string or '}' expected near end of file at column 1"},
        {"[1]", "expected a JSON object"},
        {"{\"endings\": [\"a\", \"b\"], \"label\": 0}",
         "there is no context, expected ctx, ctx_a with ctx_b, context or prompt"},
        {"{\"ctx\": 5, \"endings\": [\"a\", \"b\"], \"label\": 0}", "ctx is 5, must be a text"},
        {"{\"ctx\": \"x\", \"label\": 0}", "there are no endings, expected endings or choices"},
        {"{\"ctx\": \"x\", \"endings\": \"ab\", \"label\": 0}",
         "the endings must be a list of 2 to 1000 texts"},
        {"{\"ctx\": \"x\", \"endings\": [\"a\"], \"label\": 0}",
         "the endings must be a list of 2 to 1000 texts"},
        {"{\"ctx\": \"x\", \"endings\": [\"a\", 1], \"label\": 0}", "ending 1 is not a string"},
        {"{\"ctx\": \"x\", \"endings\": [\"a\", \"b\"]}",
         "it does not say which ending is right, expected label, answer or gold"},
        {"{\"ctx\": \"x\", \"endings\": [\"a\", \"b\"], \"label\": \"\"}",
         "it does not say which ending is right, expected label, answer or gold"},
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
         "not JSON: \\u0000 is not allowed without JSON_ALLOW_NUL near '\"x\\u0000\"' at column "
         "9"},
    };
    struct question q;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_not_equal(question_read(&q, cases[i].line, strlen(cases[i].line), true), 0);
        assert_string_equal(err_text(), cases[i].sentence);
        assert_null(q.endings);
    }
}

/* What is in brackets goes from HellaSwag's texts, where they are closed within a line. */
static void brackets_within_a_line_go(void **state)
{
    (void)state;
    const char *line = "{\"activity_label\": \"x\", \"ctx_a\": \"a [b [c] d\", \"label\": 0, "
                       "\"endings\": [\"a [b\\nc] [d] [e\", \"[a] b [title] c [ [ [\"]}";
    struct question q;
    assert_ok(question_read(&q, line, strlen(line), true));
    assert_string_equal(buf_text(&q.context), "x: a d");
    assert_string_equal(buf_text(&q.endings[0]), "a [b\nc] [e");
    assert_string_equal(buf_text(&q.endings[1]), " b. c [ [ [");
    question_release(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_are_ranked_as_lm_eval_does),
        cmocka_unit_test(stopped_it_ranks_whole_questions),
        cmocka_unit_test(a_line_says_what_it_lacks),
        cmocka_unit_test(brackets_within_a_line_go),
    };
    return cmocka_run_group_tests(tests, open_goldens, close_goldens);
}
