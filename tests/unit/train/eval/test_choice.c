/* Questions with several endings, ranked as PyTorch ranks them
 * (tests/golden/comparison_reference.py). */
#include "tests/lib/eval_golden.h"

#include "kvcache/sequence.h"
#include "model/base/par.h"
#include "model/base/rng.h"
#include "model/kernels/log_sum_exp.h"
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

/* The accuracy of a file of questions, which all three rankings must agree on. */
static void expect_accuracy(struct model *m, const struct buf *lines, double accuracy)
{
    static const char *const names[] = {"acc", "acc_norm", "acc_token"};
    struct eval_config c;
    struct eval_result r;
    eval_config_init(&c);
    scratch_write(&eval_scratch, "mine.jsonl", lines->data, lines->n);
    assert_ok(
        eval_golden_run(&r, "choice", &c, scratch_path(&eval_scratch, "mine.jsonl"), m, NULL, 3));
    for (int i = 0; i < 3; i++)
        if (eval_figure_value(&r, names[i]) != accuracy)
            fail_msg("%s is %g, expected %g", names[i], eval_figure_value(&r, names[i]), accuracy);
    eval_result_release(&r);
}

/* lm-eval's argmax. */
static void of_equal_endings_the_first_is_chosen(void **state)
{
    (void)state;
    struct model *m = eval_golden_model(DTYPE_F32, NULL, NULL);
    for (int label = 0; label < 3; label++) {
        struct buf lines = {0};
        assert_ok(buf_printf(&lines,
                             "{\"ctx\": \"the sea\", \"endings\": [\"was calm\", \"was calm\", "
                             "\"was calm\"], \"label\": %d}\n",
                             label));
        expect_accuracy(m, &lines, label == 0 ? 100 : 0);
        buf_release(&lines);
    }
    model_free(m);
}

enum { LONG_ENDINGS = 25, LONG_QUESTIONS = 6 };

/* Words that the tokenizer has no tokens for as a whole. */
static void add_words(struct buf *text, int n, uint64_t seed, uint64_t stream)
{
    for (int i = 0; i < n; i++) {
        char word[] = " abc";
        for (int k = 1; k < 4; k++)
            word[k] = (char)('a' + 26 * rng_uniform(seed, stream, (uint64_t)(3 * i + k)));
        assert_ok(buf_add(text, word + (i == 0), strlen(word + (i == 0))));
    }
}

/* The log-probability of what is behind the context, given so much of it as the model holds. */
static double ending_logprob(struct sequence *s, const struct buf *context, const char *ending)
{
    const struct model *m = s->engine->model;
    const size_t n_ctx = (size_t)m->config.n_ctx, V = (size_t)m->config.n_vocab;
    struct buf text = {0};
    struct ids head = {0}, whole = {0};
    double sum = 0;
    assert_ok(buf_printf(&text, "%s %s", context->data, ending));
    assert_ok(tokenizer_encode(m->tokenizer, &head, context->data, context->n, 0));
    assert_ok(tokenizer_encode(m->tokenizer, &whole, text.data, text.n, 0));
    assert_true(whole.n > n_ctx + 10 && whole.n > head.n);
    const token_id *last = whole.data + whole.n - n_ctx - 1; /* the newest n_ctx predict */
    for (size_t i = head.n - (whole.n - n_ctx - 1); i <= n_ctx; i++) {
        assert_ok(sequence_set(s, last, i, NULL));
        sum += (double)s->logits[last[i]] - log_sum_exp(s->logits, V);
    }
    ids_release(&head);
    ids_release(&whole);
    buf_release(&text);
    return sum;
}

/* A question without an answer's number; returns what is the likeliest of its endings, which all
 * have as many characters and as many tokens. */
static int write_long_question(struct buf *line, struct sequence *s, uint64_t seed)
{
    struct buf context = {0};
    double best = -INFINITY;
    int likeliest = 0;
    add_words(&context, 40, seed, 0);
    assert_ok(buf_printf(line, "{\"ctx\": \"%s\", \"endings\": [", context.data));
    for (int i = 0; i < LONG_ENDINGS; i++) {
        char ending[] = "4 4 4";
        for (int k = 0; k < 5; k += 2)
            ending[k] = (char)('4' + 6 * rng_uniform(seed, 1, (uint64_t)(5 * i + k)));
        const double sum = ending_logprob(s, &context, ending);
        if (sum > best) {
            best = sum;
            likeliest = i;
        }
        assert_ok(buf_printf(line, "%s\"%s\"", i > 0 ? ", " : "", ending));
    }
    buf_release(&context);
    return likeliest;
}

/* Of a context too long, the newest tokens: as many as predict with the ending in the window. */
static void a_long_context_loses_its_front_alone(void **state)
{
    (void)state;
    struct model *m = eval_golden_model(DTYPE_F32, NULL, NULL);
    struct engine e;
    struct sequence s;
    struct buf lines = {0};
    assert_ok(engine_init(&e, m, 1));
    assert_ok(sequence_init(&s, &e));
    for (uint64_t i = 0; i < LONG_QUESTIONS; i++) {
        const int likeliest = write_long_question(&lines, &s, i);
        assert_ok(buf_printf(&lines, "], \"label\": %d}\n", likeliest));
    }
    expect_accuracy(m, &lines, 100);
    buf_release(&lines);
    sequence_release(&s);
    engine_release(&e);
    model_free(m);
}

/* An ending that the window cannot predict as a whole leaves its question out. */
static void an_ending_may_fill_the_window(void **state)
{
    (void)state;
    struct model *m = eval_golden_model(DTYPE_F32, NULL, NULL);
    for (int more = 0; more < 2; more++) {
        const int n = m->config.n_ctx + more;
        struct buf line = {0};
        struct eval_config c;
        struct eval_result r;
        eval_config_init(&c);
        assert_ok(buf_printf(&line, "{\"ctx\": \"0 0\", \"endings\": [\"0"));
        for (int i = 1; i < n; i++)
            assert_ok(buf_printf(&line, " 0")); /* a token */
        assert_ok(buf_printf(&line,
                             "\", \"1\"], \"label\": 1}\n"
                             "{\"ctx\": \"0\", \"endings\": [\"0\", \"1\"], \"label\": 1}\n"));
        scratch_write(&eval_scratch, "mine.jsonl", line.data, line.n);
        assert_ok(eval_golden_run(&r, "choice", &c, scratch_path(&eval_scratch, "mine.jsonl"), m,
                                  NULL, 2));
        assert_int_equal(r.left_out, more);
        assert_int_equal(r.done, 2 - more);
        eval_result_release(&r);
        buf_release(&line);
    }
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
        cmocka_unit_test(of_equal_endings_the_first_is_chosen),
        cmocka_unit_test(a_long_context_loses_its_front_alone),
        cmocka_unit_test(an_ending_may_fill_the_window),
        cmocka_unit_test(a_line_says_what_it_lacks),
        cmocka_unit_test(brackets_within_a_line_go),
    };
    return cmocka_run_group_tests(tests, open_goldens, close_goldens);
}
