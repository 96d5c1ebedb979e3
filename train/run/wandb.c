#include "train/run/wandb.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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
    return err_set(ERR_MISSING, "wandb is on, and there is no program wandb on PATH: install it, or "
                                "leave wandb=off");
}

/* In the child of a child: nobody's to wait for, out of reach of Ctrl-C. */
static void become_wandb(char *const *argv, int log)
{
    setsid();
    const pid_t pid = fork();
    if (pid != 0)
        _exit(pid < 0);
    const int none = open("/dev/null", O_RDONLY);
    if (none < 0 || dup2(none, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
        _exit(127);
    execvp(argv[0], argv);
    _exit(127);
}

int wandb_sync(const char *folder)
{
    /* A path that begins with a dash is no option. */
    char *path = *folder == '-' ? mem_sprintf("./%s", folder) : mem_strdup(folder);
    char *name = file_join(folder, "wandb.log");
    char *argv[] = {(char[]){"wandb"}, (char[]){"sync"}, path, NULL};
    int rc = path == NULL || name == NULL ? ERR_NOMEM : 0, status = 0;
    int log = rc == 0 ? open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666) : -1;
    if (rc == 0 && log < 0)
        rc = file_fails("write", name);
    const pid_t child = rc == 0 ? fork() : -1;
    if (child == 0)
        become_wandb(argv, log);
    if (rc == 0 && child > 0)
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
    if (rc == 0 && (child < 0 || status != 0))
        rc = err_set(ERR_IO, "wandb could not be started");
    if (log >= 0)
        close(log);
    mem_free(name);
    mem_free(path);
    return rc;
}
