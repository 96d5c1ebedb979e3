/* Text made safe for a terminal. */
#include "tests/lib/test.h"

#include "repl/terminal/term.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void text_is_made_visible(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"plain\n\ttext", "plain\n\ttext"},
        {"\033]0;x\a", "\\x1b]0;x\\x07"},
        {"a\rb\bc\x7f", "a\\x0db\\x08c\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\xc2\\x9b31m"},
        {"\xff\xc3", "\\xff\\xc3"},
        {"h\xc3\xa9 \xf0\x9f\x98\x80", "h\xc3\xa9 \xf0\x9f\x98\x80"},
        {"\xe2\x80\xae"
         "abc",
         "\\xe2\\x80\\xae"
         "abc"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf out = {0};
        assert_ok(term_visible(&out, cases[i][0], strlen(cases[i][0])));
        assert_string_equal(buf_text(&out), cases[i][1]);
        buf_release(&out);
    }
}

static void note_signal(int number)
{
    (void)number;
}

/* A reader for whom another waits, and is interrupted every millisecond. */
static void what_a_signal_cuts_short_goes_on(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20, PART = 1 << 16 };
    char *text = malloc(BYTES), part[PART];
    int ends[2];
    for (int i = 0; i < BYTES; i++)
        text[i] = (char)('a' + i % 23);
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        sigaction(SIGALRM, &(struct sigaction){.sa_handler = note_signal}, NULL);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        setitimer(ITIMER_REAL,
                  &(struct itimerval){.it_interval.tv_usec = 1000, .it_value.tv_usec = 1000}, NULL);
        printf("head ");
        term_write(text, BYTES);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], part, 5), 5);
    assert_memory_equal(part, "head ", 5);
    size_t at = 0;
    for (ssize_t n; (n = read(ends[0], part, PART)) > 0; at += (size_t)n) {
        assert_memory_equal(part, text + at, (size_t)n);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    assert_int_equal(at, BYTES);
    waitpid(pid, NULL, 0);
    close(ends[0]);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_made_visible),
        cmocka_unit_test(what_a_signal_cuts_short_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
