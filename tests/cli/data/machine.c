/* For LD_PRELOAD: the system's and the control groups' files below $MACHINE, and no others. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FILE *fopen(const char *path, const char *mode)
{
    static const char *const instead[] = {"/proc/meminfo", "/proc/self/cgroup", "/sys/fs/cgroup/"};
    FILE *(*real)(const char *, const char *) =
        (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
    const char *machine = getenv("MACHINE");
    char other[PATH_MAX];
    for (size_t i = 0; machine != NULL && i < sizeof instead / sizeof *instead; i++)
        if (strncmp(path, instead[i], strlen(instead[i])) == 0 &&
            snprintf(other, sizeof other, "%s%s", machine, path) < (int)sizeof other)
            return real(other, mode);
    return real(path, mode);
}
