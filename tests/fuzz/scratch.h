#ifndef PRATTLE_TESTS_SCRATCH_H
#define PRATTLE_TESTS_SCRATCH_H
/* Files for readers that want names: a folder of this process, gone with it. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char scratch[PATH_MAX / 2];
static const char *scratch_names[8];

static void scratch_remove(void)
{
    char path[PATH_MAX];
    for (int i = 0; i < 8 && scratch_names[i] != NULL; i++) {
        snprintf(path, sizeof path, "%s/%s", scratch, scratch_names[i]);
        unlink(path);
    }
    rmdir(scratch);
}

/* Its folder/name, a constant and one of eight, with these bytes; valid until the next call. */
static const char *scratch_file(const char *name, const uint8_t *data, size_t size)
{
    static char path[PATH_MAX];
    int known = 0;
    if (scratch[0] == '\0') {
        const char *tmp = getenv("TMPDIR");
        snprintf(scratch, sizeof scratch, "%s/prattle-fuzz-XXXXXX", tmp == NULL ? "/tmp" : tmp);
        if (mkdtemp(scratch) == NULL)
            abort();
        atexit(scratch_remove);
    }
    while (known < 8 && scratch_names[known] != NULL && scratch_names[known] != name)
        known++;
    if (known == 8)
        abort();
    scratch_names[known] = name;
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    FILE *f = fopen(path, "wb");
    if (f == NULL || (size > 0 && fwrite(data, 1, size, f) != size) || fclose(f) != 0)
        abort();
    return path;
}

#endif
