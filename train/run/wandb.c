#include "train/run/wandb.h"

#include "model/base/child.h"
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

int wandb_check(void)
{
    char *path = file_find_program(PROGRAM);
    const bool found = path != NULL;
    mem_free(path);
    return found ? 0
                 : err_set(ERR_MISSING, "wandb is on, but there is no program wandb on PATH: "
                                        "install it, or set wandb=off");
}

/* By a shell that leaves it alone and ends, so that nobody has to wait for it. */
static int spawn_wandb(char *path, const char *log)
{
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"wandb sync \"$1\" &"},
                    (char[]){"sh"}, path,           NULL};
    pid_t pid;
    const int said = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (said < 0)
        return err_errno("cannot write wandb's %s", log);
    const struct child_files files = {.in = -1, .out = said, .err = said, .apart = true};
    const int rc = child_start(&pid, PROGRAM, "/bin/sh", argv, &files);
    close(said);
    while (rc == 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return rc;
}

int wandb_sync(const char *folder)
{
    /* A path that begins with a dash is no option. */
    char *path = *folder == '-' ? mem_sprintf("./%s", folder) : mem_strdup(folder);
    char *log = file_join(folder, "wandb.log");
    const int rc = path == NULL || log == NULL ? ERR_NOMEM : spawn_wandb(path, log);
    mem_free(log);
    mem_free(path);
    return rc;
}
