#include "tests/lib/opens.h"

#include "tests/lib/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

int opens_watch(const char *folder)
{
    const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(watch >= 0);
    /* Reading and closing too, so that two events of opening are never the same twice in a row:
     * those would be reported as one. */
    assert_true(inotify_add_watch(watch, folder, IN_OPEN | IN_ACCESS | IN_CLOSE) >= 0);
    return watch;
}

static int count_opens(int watch, const char *name, bool others_once)
{
    struct {
        char name[64];
        int n;
    } seen[16] = {0};
    _Alignas(struct inotify_event) char bytes[1 << 16];
    int opens = 0;
    for (ssize_t n; (n = read(watch, bytes, sizeof bytes)) > 0;)
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *e = (const void *)(bytes + at);
            at += (ssize_t)(sizeof *e + e->len);
            assert_false(e->mask & IN_Q_OVERFLOW);
            if (!(e->mask & IN_OPEN) || e->mask & IN_ISDIR || e->len == 0)
                continue;
            size_t i = 0;
            while (seen[i].n > 0 && strcmp(seen[i].name, e->name) != 0)
                assert_true(++i < sizeof seen / sizeof *seen);
            snprintf(seen[i].name, sizeof seen[i].name, "%s", e->name);
            if (++seen[i].n > 1 && others_once)
                fail_msg("%s was opened %d times", e->name, seen[i].n);
            opens += strcmp(e->name, name) == 0;
        }
    close(watch);
    return opens;
}

int opens_count(int watch, const char *name)
{
    return count_opens(watch, name, true);
}

int opens_count_of(int watch, const char *name)
{
    return count_opens(watch, name, false);
}
