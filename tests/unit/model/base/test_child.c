/* Programs that are started: how they end, and what is said of it. */
#include "tests/lib/test.h"

#include "model/base/child.h"

#include <signal.h>

static int run_shell(struct buf *out, const char *script, enum child_errors errors)
{
    char *argv[] = {"shell", "-c", (char *)(uintptr_t)script, NULL};
    out->n = 0;
    return child_run(out, "it", "/bin/sh", argv, NULL, errors);
}

static void ends_are_told(void **state)
{
    (void)state;
    struct buf out = {0};
    assert_ok(run_shell(&out, "echo a; echo b >&2", CHILD_MERGES));
    assert_string_equal(buf_text(&out), "a\nb\n");
    assert_ok(run_shell(&out, "echo $0", CHILD_KEEPS));
    assert_string_equal(buf_text(&out), "shell\n");
    assert_says(run_shell(&out, "echo prattle: no room; exit 1", CHILD_MERGES),
                "it failed: no room");
    assert_ok(run_shell(&out, "echo a; echo b >&2", CHILD_KEEPS));
    assert_string_equal(buf_text(&out), "a\n");
    assert_says(run_shell(&out, "echo x; echo why >&2; exit 1", CHILD_KEEPS), "it failed: why");
    assert_says(run_shell(&out, "yes | head -n 9000 >&2; echo why >&2; exit 1", CHILD_KEEPS),
                "it failed: why");
    assert_true(run_shell(&out, "echo x; exit 1", CHILD_KEEPS) == ERR_IO);
    assert_string_equal(err_text(), "it failed");
    assert_says(run_shell(&out, "echo step 1; kill -9 $$", CHILD_MERGES),
                "it was ended by signal 9, as the system does where memory runs out");
    assert_says(run_shell(&out, "kill -6 $$", CHILD_MERGES), "it was ended by signal 6");
    char *none[] = {"none", NULL};
    assert_int_equal(child_run(&out, "it", "/nowhere/none", none, NULL, CHILD_KEEPS), ERR_MISSING);
    assert_says(ERR_MISSING, "it cannot be run: No such file");
    buf_release(&out);
}

/* What this program ignores would make another go on for ever, writing to nobody. */
static void signals_are_a_shell_s(void **state)
{
    (void)state;
    struct buf out = {0};
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    assert_says(run_shell(&out, "kill -PIPE $$; echo lives", CHILD_KEEPS), "ended by signal 13");
    assert_says(run_shell(&out, "kill -XFSZ $$; echo lives", CHILD_KEEPS), "ended by signal 25");
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ends_are_told),
                                       cmocka_unit_test(signals_are_a_shell_s)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
