#include "train/run/wandb.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PROGRAM[] = "wandb";

static bool is_program(const char *folder, size_t n)
{
    char *path = mem_sprintf("%.*s/%s", (int)n, n == 0 ? "" : folder, PROGRAM);
    const bool found = path != NULL && access(n == 0 ? PROGRAM : path, X_OK) == 0 &&
                       !file_is_folder(n == 0 ? PROGRAM : path);
    mem_free(path);
    return found;
}

int wandb_check(void)
{
    const char *list = getenv("PATH");
    for (const char *p = list; p != NULL;) {
        const size_t n = strcspn(p, ":");
        if (is_program(p, n))
            return 0;
        p = p[n] == '\0' ? NULL : p + n + 1;
    }
    return err_set(
        ERR_MISSING,
        "wandb is on, but there is no program wandb on PATH: install it, or set wandb=off");
}

/* In a session of its own, out of reach of Ctrl-C; nobody waits for it. */
static int spawn_wandb(char *const *argv, const char *log)
{
    pid_t pid;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    const int failed = posix_spawnp(&pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed == 0 ? 0 : err_set(ERR_IO, "wandb could not be started: %s", strerror(failed));
}

int wandb_sync(const char *folder)
{
    /* A path that begins with a dash is no option. */
    char *path = *folder == '-' ? mem_sprintf("./%s", folder) : mem_strdup(folder);
    char *log = file_join(folder, "wandb.log");
    char *argv[] = {(char[]){"wandb"}, (char[]){"sync"}, path, NULL};
    const int rc = path == NULL || log == NULL ? ERR_NOMEM : spawn_wandb(argv, log);
    mem_free(log);
    mem_free(path);
    return rc;
}
