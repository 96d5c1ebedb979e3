#ifndef PRATTLE_TEST_SCRATCH_H
#define PRATTLE_TEST_SCRATCH_H
/* A folder for one test's files, under TMPDIR, gone afterwards. */
#include "model/base/file.h"
#include "model/base/mem.h"
#include "tests/unit/test.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct scratch {
    char folder[PATH_MAX];
};

static inline void scratch_open(struct scratch *s)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(s->folder, sizeof s->folder, "%s/prattle-test-XXXXXX", tmp == NULL ? "/tmp" : tmp);
    assert_non_null(mkdtemp(s->folder));
}

static inline int scratch_remove(const char *path, const struct stat *st, int kind, struct FTW *f)
{
    (void)st;
    (void)kind;
    (void)f;
    return remove(path);
}

static inline void scratch_close(struct scratch *s)
{
    assert_int_equal(nftw(s->folder, scratch_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* folder/name, valid until the next call but three. */
static inline const char *scratch_path(const struct scratch *s, const char *name)
{
    static char paths[4][2 * PATH_MAX];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", s->folder, name);
    return path;
}

static inline void scratch_write(const struct scratch *s, const char *name, const void *bytes,
                                 size_t n)
{
    FILE *f = fopen(scratch_path(s, name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* The sentence with the folder's path as "DIR". */
static inline const char *scratch_sentence(const struct scratch *s, const char *sentence)
{
    static char out[2048];
    size_t at = 0, n = strlen(s->folder);
    while (*sentence != '\0' && at + 4 < sizeof out)
        if (strncmp(sentence, s->folder, n) == 0) {
            memcpy(out + at, "DIR", 3);
            at += 3;
            sentence += n;
        } else {
            out[at++] = *sentence++;
        }
    out[at] = '\0';
    return out;
}

#endif
