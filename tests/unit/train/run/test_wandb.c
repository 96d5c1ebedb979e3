/* wandb's program is started, told the folder and left alone: no child of this one stays. */
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include "model/base/file.h"
#include "train/run/wandb.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The words that the program was given, once they are there. */
static void await_words(const char *path, const char *want)
{
    struct buf said = {0};
    for (const time_t end = time(NULL) + 20; time(NULL) < end && said.n < strlen(want);) {
        usleep(1000);
        said.n = 0;
        if (file_read_all(&said, path, 1000) != 0)
            said.n = 0;
    }
    assert_string_equal(buf_text(&said), want);
    buf_release(&said);
}

static void it_is_left_alone(void **state)
{
    (void)state;
    static const char SCRIPT[] = "#!/bin/sh\necho \"$# $1 ${2##*/}\"\n";
    const struct scratch *s = scratch_of_process();
    char path[PATH_MAX + 32], folder[PATH_MAX + 32], *before = mem_strdup(getenv("PATH"));
    scratch_write(s, "wandb", SCRIPT, sizeof SCRIPT - 1);
    assert_int_equal(chmod(scratch_path(s, "wandb"), 0777), 0);
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", s->folder);
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_ok(wandb_check());
    snprintf(folder, sizeof folder, "%s/a \"$run\"", s->folder);
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_ok(wandb_sync(folder));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    char *log = file_join(folder, "wandb.log");
    await_words(log, "2 sync a \"$run\"\n");
    mem_free(log);
    setenv("PATH", before, 1);
    mem_free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_left_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
