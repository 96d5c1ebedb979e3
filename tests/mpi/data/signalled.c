/* Before a program, by LD_PRELOAD: a limit on the size of files ends it in the middle of a write.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>

int sigaction(int sig, const struct sigaction *a, struct sigaction *before)
{
    static int (*next)(int, const struct sigaction *, struct sigaction *);
    if (next == NULL)
        *(void **)&next = dlsym(RTLD_NEXT, "sigaction");
    return next(sig, sig == SIGXFSZ ? NULL : a, before);
}
