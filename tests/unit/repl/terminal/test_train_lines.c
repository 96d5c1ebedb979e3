#include "tests/lib/test.h"

#include "repl/terminal/train_lines.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct metrics full = {
    .step = 40,
    .n_steps = 1800,
    .epoch = 0.014,
    .loss = 1.46513,
    .accuracy = 0.62614,
    .learning_rate = 7.6e-4,
    .grad_norm = 1.7333,
    .tokens_per_s = 3566.2,
    .samples_per_s = 6.96,
    .share = 0.758,
    .step_s = 2022.0 / 1760,
    .skipped = 2,
    .validation_loss = 2.3811,
    .validation_step = 40,
    .best_step = 40,
};
static const char at_length[] =
    "step   40/1800  epoch 0.01  loss 1.4651  accuracy 0.626  lr 7.60e-4  norm 1.733"
    "  3566 tokens/s  7.0 samples/s  76 % of sgemm  2 skipped  33 min 42 s left"
    "  validation loss 2.3811 (best)";
static const char in_brief[] =
    "step   40/1800  epoch 0.01  loss 1.465  acc 0.626  lr 7.6e-4  norm 1.73  3566 tok/s"
    "  7.0 samples/s  76 % sgemm  2 skipped  33 min 42 s left  validation loss 2.3811 (best)";

static void a_line_fits_and_loses_nothing(void **state)
{
    (void)state;
    for (int width = 0; width <= 220; width += width == 0 ? 32 : 1) {
        struct buf line = {0};
        char joined[512], *to = joined;
        assert_ok(train_lines_format(&full, width, &line));
        for (const char *row = buf_text(&line), *end; *row != '\0';
             row = *end == '\0' ? end : end + 1) {
            end = strchrnul(row, '\n');
            if (width > 0)
                assert_in_range(end - row, 1, width);
            if (*end == '\n') { /* what begins the next row did not fit */
                const char *next = end + 3, *over = strstr(next, "  ");
                size_t n = over == NULL ? strlen(next) : (size_t)(over - next);
                n = memchr(next, '\n', n) == NULL ? n : strcspn(next, "\n");
                assert_true(end - row + 2 + (ptrdiff_t)n > width);
            }
            to += sprintf(to, "%s%.*s", to == joined ? "" : "  ",
                          (int)(end - row) - (to == joined ? 0 : 2), row + (to == joined ? 0 : 2));
        }
        bool brief = width >= (int)strlen(in_brief) && width < (int)strlen(at_length);
        assert_string_equal(joined, brief ? in_brief : at_length);
        buf_release(&line);
    }
}

/* In a row below others: no figure without its label at any width, the greatest part of them in one
 * row, and each in its columns. */
static void rows_below_each_other_are_aligned(void **state)
{
    (void)state;
    static const struct {
        int width;
        const char *row[2];
    } cases[] = {
        {119,
         {"step   40/1800  epoch 0.01  loss 1.4651  accuracy 0.626  lr 7.60e-4  norm  1.733"
          "   3566 tokens/s   76 % of sgemm\n  2 skipped  validation loss 2.3811 (best)",
          "step 1200/1800  epoch 0.42  loss 1.0000  accuracy 0.626  lr       0  norm 12.500"
          "   123K tokens/s  0.4 % of sgemm\n  2 skipped"}},
        {79,
         {"step   40/1800  epoch 0.01  loss 1.465  lr 7.6e-4   3566 tok/s   76 % sgemm\n"
          "  2 skipped  validation loss 2.3811 (best)",
          "step 1200/1800  epoch 0.42  loss 1.000  lr      0   123K tok/s  0.4 % sgemm\n"
          "  2 skipped"}},
        {39,
         {"step   40/1800  epoch 0.01  loss 1.465\n  lr 7.6e-4   3566 tok/s   76 % sgemm\n"
          "  2 skipped\n  validation loss 2.3811 (best)",
          "step 1200/1800  epoch 0.42  loss 1.000\n  lr      0   123K tok/s  0.4 % sgemm\n"
          "  2 skipped"}},
    };
    struct metrics later = full;
    later.step = 1200;
    later.epoch = 0.42;
    later.loss = 1;
    later.learning_rate = 0;
    later.grad_norm = 12.5;
    later.tokens_per_s = 123456;
    later.share = 0.004;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf line = {0};
        assert_ok(train_lines_format_row(&full, cases[i].width, false, &line));
        assert_string_equal(buf_text(&line), cases[i].row[0]);
        line.n = 0;
        assert_ok(train_lines_format_row(&later, cases[i].width, false, &line));
        assert_string_equal(buf_text(&line), cases[i].row[1]);
        buf_release(&line);
    }
    /* Before the share is known, and of a loss above 10: the names and columns are the same. */
    struct buf line = {0};
    later.share = 0;
    later.loss = 10.81674;
    assert_ok(train_lines_format_row(&later, 79, false, &line));
    assert_non_null(strstr(buf_text(&line), "loss 10.82  lr      0   123K tok/s  "));
    line.n = 0;
    /* Where nothing else says what is left, this does. */
    assert_ok(train_lines_format_row(&full, 79, true, &line));
    assert_non_null(strstr(buf_text(&line), "33 min 42 s left"));
    buf_release(&line);
}

/* In a row of its own it would double the lines of a long run. */
static void the_share_is_left_out_first(void **state)
{
    (void)state;
    struct metrics m = full;
    struct buf line = {0};
    m.n_steps = 100000;
    m.skipped = 0;
    m.validation_step = -1;
    assert_ok(train_lines_format_row(&m, 79, false, &line));
    assert_string_equal(buf_text(&line),
                        "step     40/100000  epoch  0.01  loss 1.465  lr 7.6e-4   3566 tok/s");
    line.n = 0;
    assert_ok(train_lines_format_row(&m, 80, false, &line));
    assert_non_null(strstr(buf_text(&line), "76 % sgemm"));
    assert_null(strchr(buf_text(&line), '\n'));
    buf_release(&line);
}

static void what_is_not_known_is_not_said(void **state)
{
    (void)state;
    const struct metrics first = {
        .n_steps = 10, .loss = 3.25, .validation_step = -1, .best_step = -1};
    struct buf line = {0};
    assert_ok(train_lines_format(&first, 80, &line));
    assert_string_equal(buf_text(&line), "step  0/10  epoch 0.00  loss 3.2500  accuracy 0.000");
    buf_release(&line);
}

static void a_small_share_is_no_nothing(void **state)
{
    (void)state;
    static const struct {
        double share;
        const char *said;
    } shares[] = {{0.0004, "  0.1 % of sgemm"},
                  {0.0532, "  5.3 % of sgemm"},
                  {0.0949, "  9.5 % of sgemm"},
                  {0.0951, "  10 % of sgemm"},
                  {0.91, "  91 % of sgemm"}};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        struct metrics m = full;
        struct buf line = {0};
        m.share = shares[i].share;
        assert_ok(train_lines_format(&m, 0, &line));
        assert_non_null(strstr(buf_text(&line), shares[i].said));
        buf_release(&line);
    }
}

static void what_is_out_of_the_ordinary_is_said(void **state)
{
    (void)state;
    struct metrics m = {.step = 7,
                        .n_steps = 0,
                        .loss = NAN,
                        .grad_norm = NAN,
                        .loss_scale = 1024,
                        .validation_loss = 2.5,
                        .validation_step = 7,
                        .best_step = 6};
    struct eval_figure figure = {.text = "accuracy", .value = 0.25};
    struct eval_result evaluation = {.name = "lambada", .n_figures = 1};
    evaluation.figures[0] = figure;
    m.evaluation = &evaluation;
    struct buf line = {0};
    assert_ok(train_lines_format(&m, 0, &line));
    assert_string_equal(
        buf_text(&line),
        "step 7  epoch 0.00  scale 1024  validation loss 2.5000  lambada accuracy 0.25");
    line.n = 0;
    m.step = 8;
    m.evaluation = NULL;
    assert_ok(train_lines_format(&m, 0, &line));
    assert_string_equal(buf_text(&line), "step 8  epoch 0.00  scale 1024");
    buf_release(&line);
}

/* A row a layer, of each place its mean, deviation, greatest magnitude and share of zeros. */
static void activations_are_a_table(void **state)
{
    (void)state;
    struct activation_sums total[2 * N_ACTIVATION_SITES];
    for (int i = 0; i < 2 * N_ACTIVATION_SITES; i++)
        total[i] = (struct activation_sums){
            .sum = i == 4 ? -4.92e-5 : 2 * i, .squares = 9 + i * i, .max = 3, .n = 4, .zeros = 1};
    const struct activation_stats w = {.n_layer = 2, .total = total};
    char text[1024] = "";
    FILE *f = tmpfile();
    int before = dup(STDOUT_FILENO);
    assert_true(f != NULL && before >= 0);
    fflush(stdout);
    dup2(fileno(f), STDOUT_FILENO);
    train_lines_show_activations(&full, &w);
    dup2(before, STDOUT_FILENO);
    close(before);
    rewind(f);
    assert_in_range(fread(text, 1, sizeof text - 1, f), 1, sizeof text - 1);
    fclose(f);
    assert_string_equal(text,
                        "activations at step 40\n"
                        "                               attention                    inside the mlp"
                        "                          residual\n"
                        "layer       mean      std      max  zero      mean      std      max  zero"
                        "      mean      std      max  zero\n"
                        "0              0      1.5        3   25%       0.5      1.5        3   25%"
                        "         1      1.5        3   25%\n"
                        "1            1.5      1.5        3   25% -1.23e-05      2.5        3   25%"
                        "       2.5      1.5        3   25%\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_fits_and_loses_nothing),
        cmocka_unit_test(rows_below_each_other_are_aligned),
        cmocka_unit_test(the_share_is_left_out_first),
        cmocka_unit_test(what_is_not_known_is_not_said),
        cmocka_unit_test(a_small_share_is_no_nothing),
        cmocka_unit_test(what_is_out_of_the_ordinary_is_said),
        cmocka_unit_test(activations_are_a_table),
    };
    return cmocka_run_group_tests_name("train_view", tests, NULL, NULL);
}
