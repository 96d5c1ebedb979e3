/*
 * For LD_PRELOAD: once the program is over, "STARTED LEFT" goes to the file $THREADS: how many
 * threads it has started, and how many there are then, when its libraries are about to be torn
 * down. A thread that was joined may stand in /proc a moment longer: so those are waited for, and
 * no others end.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_int started;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *),
                   void *arg)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    started++;
    return create(thread, attributes, fn, arg);
}

static int count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    int n = 0;
    for (struct dirent *e; tasks != NULL && (e = readdir(tasks)) != NULL;)
        n += e->d_name[0] != '.';
    if (tasks != NULL)
        closedir(tasks);
    return n;
}

__attribute__((destructor)) static void report_threads(void)
{
    FILE *out = strcmp(program_invocation_short_name, "prattle") == 0
                    ? fopen(getenv("THREADS"), "w")
                    : NULL;
    if (out == NULL)
        return;
    for (int i = 0; i < 300 && count_threads() != 1; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    fprintf(out, "%d %d\n", started, count_threads());
    fclose(out);
}
