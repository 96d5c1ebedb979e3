#include "tests/lib/scratch.h"

#include <ftw.h>

static void need(bool right, const char *path)
{
    if (right)
        return;
    perror(path);
    abort();
}

void scratch_open(struct scratch *s)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(s->folder, sizeof s->folder, "%s/prattle-test-XXXXXX", tmp == NULL ? "/tmp" : tmp);
    need(mkdtemp(s->folder) != NULL, s->folder);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *f)
{
    (void)st;
    (void)kind;
    (void)f;
    return remove(path);
}

void scratch_close(struct scratch *s)
{
    need(nftw(s->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0, s->folder);
}

const char *scratch_path(const struct scratch *s, const char *name)
{
    static char paths[4][2 * PATH_MAX];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", s->folder, name);
    return path;
}

void scratch_write(const struct scratch *s, const char *name, const void *bytes, size_t n)
{
    const char *path = scratch_path(s, name);
    FILE *f = fopen(path, "wb");
    need(f != NULL, path);
    need(n == 0 || fwrite(bytes, 1, n, f) == n, path);
    need(fclose(f) == 0, path);
}

const char *scratch_sentence(const struct scratch *s, const char *sentence)
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

static struct scratch of_process;

static void close_of_process(void)
{
    scratch_close(&of_process);
}

const struct scratch *scratch_of_process(void)
{
    if (of_process.folder[0] == '\0') {
        scratch_open(&of_process);
        atexit(close_of_process);
    }
    return &of_process;
}

const char *scratch_file(const char *name, const void *bytes, size_t n)
{
    const struct scratch *s = scratch_of_process();
    scratch_write(s, name, bytes, n);
    return scratch_path(s, name);
}
