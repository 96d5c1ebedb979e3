/* A rank that has not met the others gives word that it is there, and ends in time. */
#include "train/parallel/start.h"

#include "tests/lib/test.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(int fd, enum start_word word, int rank)
{
    dprintf(fd, "%d%c ", rank, "hma"[word]);
}

/* By a process of its own, which meets the others after so many seconds; what it said, and its
 * status. */
static int start(char *text, size_t size, int limit_s, unsigned meets_s)
{
    int to[2], status;
    assert_int_equal(pipe(to), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        start_begin(&(struct start_config){.rank = 3, .said_to = to[1], .limit_s = limit_s});
        sleep(meets_s);
        start_end();
        _exit(0);
    }
    close(to[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(to[0], text + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = '\0';
    close(to[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void it_is_plain_unless_told_how(void **state)
{
    char text[200];
    (void)state;
    assert_int_equal(start(text, sizeof text, 30, 0), 0);
    assert_string_equal(text, "");
    assert_int_equal(start(text, sizeof text, 1, 30), 1);
    assert_string_equal(text, "prattle: rank 3 has not met the others in 1 s, and ends\n");
}

static void words_are_given_until_it_meets(void **state)
{
    char text[200];
    (void)state;
    start_say_by(say);
    assert_int_equal(start(text, sizeof text, 30, 2), 0);
    assert_memory_equal(text, "3h 3h ", 6); /* one at once, and each second another */
    assert_non_null(strstr(text, "h 3m "));
    assert_int_equal(start(text, sizeof text, 2, 30), 1);
    assert_string_equal(text, "3h 3h 3a ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_plain_unless_told_how),
                                       cmocka_unit_test(words_are_given_until_it_meets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
