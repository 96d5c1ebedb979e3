/* The status line of standard error, on a terminal of its own: notes do not run into it, it is one
 * row, drawn no more often than it can be read, and a terminal that cannot draw over it has none.
 */
#include "repl/terminal/status_line.h"

#include "model/base/buf.h"
#include "repl/terminal/progress.h"
#include "repl/terminal/train_lines.h"
#include "tests/lib/still_clock.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct metrics some = {.n_steps = 10, .loss = 3};

/* What a terminal of 40 columns, by this TERM, is sent while `work` is done. */
static void show_work(struct buf *out, const char *term, void (*work)(void))
{
    struct winsize size = {.ws_col = 40, .ws_row = 5};
    int ours, theirs, before = dup(STDERR_FILENO);
    char part[256];
    assert_true(before >= 0 && openpty(&ours, &theirs, NULL, NULL, &size) == 0);
    setenv("TERM", term, 1);
    unsetenv("NO_COLOR");
    dup2(theirs, STDERR_FILENO);
    still_clock_pass(1);
    work();
    progress_wipe();
    dup2(before, STDERR_FILENO);
    fcntl(ours, F_SETFL, O_NONBLOCK);
    for (ssize_t n; (n = read(ours, part, sizeof part)) > 0;)
        assert_ok(buf_add(out, part, (size_t)n));
    close(before);
    close(ours);
    close(theirs);
}

static void draw_bar(void)
{
    train_lines_draw_bar(&some, 3, 0.5);
}

static void warn_below_bar(void)
{
    draw_bar();
    progress_warn("a checkpoint has another's file and stays, as it is no one's here");
}

static void notes_begin_a_line(void **state)
{
    (void)state;
    struct buf sent = {0};
    show_work(&sent, "xterm", warn_below_bar);
    assert_string_equal(buf_text(&sent), "\r\033[2m[====>         ] step  4/10, 50 % of it\033[0m"
                                         "\033[K\r\033[Kprattle: a checkpoint has another's\r\n"
                                         "file and stays, as it is no one's here\r\n");
    buf_release(&sent);
}

static void draw_twice(void)
{
    status_line_draw("one that is longer than the terminal is wide");
    status_line_draw("two");
    status_line_wipe();
    status_line_wipe();
}

static void one_line_is_drawn_over(void **state)
{
    (void)state;
    struct buf sent = {0};
    show_work(&sent, "xterm", draw_twice);
    assert_string_equal(buf_text(&sent),
                        "\r\033[2mone that is longer than the terminal is\033[0m\033[K"
                        "\r\033[2mtwo\033[0m\033[K\r\033[K");
    buf_release(&sent);
}

static void work_slowly(void)
{
    const struct progress *p = progress_show();
    for (int i = 0; i < 8; i++) {
        assert_ok(progress_step(p, "reading", (uint64_t)i, 100));
        still_clock_pass(0.125);
    }
    train_lines_draw_bar(&some, 4, 0);
    progress_note(p, "a note");
}

static void work_on_many(void)
{
    const struct progress *p = progress_show();
    for (uint64_t i = 0; i < 2; i++) {
        assert_ok(progress_step(p, "looking for duplicates", 4000000 * i, 9000000));
        still_clock_pass(10);
    }
}

/* 40 columns have no room for the amounts. */
static void the_share_and_the_time_stay(void **state)
{
    (void)state;
    struct buf sent = {0};
    show_work(&sent, "xterm", work_on_many);
    assert_string_equal(buf_text(&sent),
                        "\r\033[2mlooking for duplicates: 44 %, 13 s left\033[0m\033[K\r\033[K");
    buf_release(&sent);
}

static void count_documents(void)
{
    const struct winsize wide = {.ws_col = 80, .ws_row = 5};
    assert_int_equal(ioctl(STDERR_FILENO, TIOCSWINSZ, &wide), 0);
    const struct progress *p = progress_show();
    static const char *const names[] = {"writing documents", "preparing"};
    for (int k = 0; k < 2; k++)
        for (uint64_t i = 0; i < 2; i++) {
            assert_ok(progress_step(p, names[k], 5000000 * i, 20000000));
            still_clock_pass(10);
        }
}

/* Documents are no bytes. */
static void what_is_counted_has_no_megabytes(void **state)
{
    (void)state;
    struct buf sent = {0};
    show_work(&sent, "xterm", count_documents);
    assert_string_equal(buf_text(&sent),
                        "\r\033[2mwriting documents: 5.0 million of 20.0 million, 25 %, 30 s left"
                        "\033[0m\033[K\r\033[2mpreparing: 5 MB of 20 MB, 25 %, 30 s left"
                        "\033[0m\033[K\r\033[K");
    buf_release(&sent);
}

static void work_fast(void)
{
    const struct progress *p = progress_show();
    for (int i = 0; i < 1000; i++) {
        assert_ok(progress_step(p, "reading", (uint64_t)i, 1001));
        still_clock_pass(0.001);
    }
}

static void download(void)
{
    const struct progress *p = progress_show();
    static const uint64_t parts[][2] = {{0, 548000000}, {100000000, 548000000}};
    for (int i = 0; i < 2; i++) {
        assert_ok(progress_step(p, PROGRESS_DOWNLOADING, parts[i][0], parts[i][1]));
        still_clock_pass(10);
    }
    progress_forget();
    assert_ok(progress_step(p, PROGRESS_DOWNLOADING, 1500000, 0));
    still_clock_pass(1);
    assert_ok(progress_step(p, PROGRESS_DOWNLOADING, 3500000, 0));
}

/* 40 columns have no room for the word. */
static void a_download_has_its_rate(void **state)
{
    (void)state;
    struct buf sent = {0};
    show_work(&sent, "xterm", download);
    assert_string_equal(buf_text(&sent),
                        "\r\033[2m100 of 548 MB, 10.0 MB/s, 45 s left\033[0m\033[K"
                        "\r\033[2mdownloading 3.5 MB, 2.0 MB/s\033[0m\033[K\r\033[K");
    buf_release(&sent);
}

static int count_draws(const struct buf *sent)
{
    int n = 0;
    for (const char *at = buf_text(sent); (at = strstr(at, "reading")) != NULL; at++)
        n++;
    return n;
}

/* A second of work has its first line after 0.4 s, and then one every 0.1 s. */
static void it_is_drawn_ten_times_a_second(void **state)
{
    (void)state;
    struct buf sent = {0};
    show_work(&sent, "xterm", work_fast);
    assert_in_range(count_draws(&sent), 5, 6);
    buf_release(&sent);
}

/* It could only be drawn below itself, again and again. */
static void a_dumb_terminal_has_none(void **state)
{
    (void)state;
    struct buf sent = {0};
    show_work(&sent, "dumb", work_slowly);
    assert_string_equal(buf_text(&sent), "prattle: a note\r\n");
    sent.n = 0;
    show_work(&sent, "xterm", work_slowly);
    assert_string_equal(buf_text(&sent),
                        "\r\033[2mreading: 4 of 100, 4 %, 12 s left\033[0m\033[K"
                        "\r\033[2mreading: 5 of 100, 5 %, 12 s left\033[0m\033[K"
                        "\r\033[2mreading: 6 of 100, 6 %, 12 s left\033[0m\033[K"
                        "\r\033[2mreading: 7 of 100, 7 %, 12 s left\033[0m\033[K"
                        "\r\033[2m[=========>              ] step  5/10\033[0m\033[K"
                        "\r\033[Kprattle: a note\r\n");
    buf_release(&sent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_begin_a_line),
        cmocka_unit_test(one_line_is_drawn_over),
        cmocka_unit_test(it_is_drawn_ten_times_a_second),
        cmocka_unit_test(a_download_has_its_rate),
        cmocka_unit_test(the_share_and_the_time_stay),
        cmocka_unit_test(what_is_counted_has_no_megabytes),
        cmocka_unit_test(a_dumb_terminal_has_none),
    };
    return cmocka_run_group_tests_name("status_line", tests, NULL, NULL);
}
