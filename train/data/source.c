#include "train/data/source.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/words.h"
#include "train/data/megatron.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_BYTES = 200, LOOK_BYTES = 4096, DEPTH_MAX = 32 };

static int add(struct data_sources *s, const char *path, enum data_kind kind)
{
    if (s->n == s->cap) {
        size_t cap = s->cap == 0 ? 8 : 2 * s->cap;
        struct data_source *more = mem_grow(s->list, s->cap * sizeof *more, cap * sizeof *more);
        if (more == NULL)
            return ERR_NOMEM;
        s->list = more;
        s->cap = cap;
    }
    char *copy = mem_strdup(path);
    if (copy == NULL)
        return ERR_NOMEM;
    s->list[s->n++] = (struct data_source){copy, kind};
    return 0;
}

static bool ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path), k = strlen(ending);
    return n >= k && strcmp(path + n - k, ending) == 0;
}

/* What other programs write that is neither text nor tokens; NULL: nothing known. */
static const char *foreign(const char *head, size_t n)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *is;
    } known[] = {
        {"\x1f\x8b", 2, "is compressed (gzip): unpack it first"},
        {"BZh", 3, "is compressed (bzip2): unpack it first"},
        {"\xfd"
         "7zXZ",
         5, "is compressed (xz): unpack it first"},
        {"\x28\xb5\x2f\xfd", 4, "is compressed (zstd): unpack it first"},
        {"PK\x03\x04", 4, "is a zip archive (or PyTorch weights), not text or tokens"},
        {"GGUF", 4, "is a model (GGUF), not text or tokens"},
        {"version https://git-lfs", 23, "is a git-lfs pointer, not the data: git lfs pull"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (n >= known[i].n && memcmp(head, known[i].bytes, known[i].n) == 0)
            return known[i].is;
    return NULL;
}

static int judge(enum data_kind *kind, const char *path, const char *head, size_t n)
{
    char shown[NAME_BYTES];
    const char *is = foreign(head, n), *nul = memchr(head, '\0', n);
    int32_t magic = 0;
    file_show(shown, sizeof shown, path);
    if (is != NULL)
        return err_set(ERR_FORMAT, "%s %s", shown, is);
    if (n >= sizeof magic)
        memcpy(&magic, head, sizeof magic);
    if (magic == 20240520 || magic == 20240801)
        *kind = DATA_LLMC;
    else if (ends_in(path, ".bin"))
        *kind = DATA_NANOGPT;
    else if (nul != NULL)
        return err_set(ERR_FORMAT, "%s is not text: byte %zu is NUL; tokens are read from .bin",
                       shown, (size_t)(nul - head));
    else
        *kind = ends_in(path, ".jsonl") || ends_in(path, ".ndjson") || ends_in(path, ".json")
                    ? DATA_JSON_LINES
                    : DATA_TEXT;
    return 0;
}

/* Whether a Megatron set is meant: *skip when it is by an index in a folder, whose .bin
 * comes too. */
static int find_megatron(bool *is, bool *skip, const char *path, bool inside)
{
    char *bin = megatron_path(path, ".bin"), *idx = megatron_path(path, ".idx");
    int rc = bin == NULL || idx == NULL ? ERR_NOMEM : 0;
    if (rc == 0) {
        *is = ends_in(path, ".idx")   ? file_exists(bin)
              : ends_in(path, ".bin") ? file_exists(idx)
                                      : !file_exists(path) && file_exists(idx);
        *skip = *is && inside && ends_in(path, ".idx");
    }
    mem_free(bin);
    mem_free(idx);
    return rc;
}

/* Look into a file; an empty one `inside` a folder is skipped. */
static int find_kind(enum data_kind *kind, bool *skip, const char *path, bool inside)
{
    struct file f;
    char head[LOOK_BYTES], shown[NAME_BYTES];
    int rc = file_open(&f, path);
    if (rc != 0)
        return rc;
    size_t n = f.bytes < sizeof head ? (size_t)f.bytes : sizeof head;
    *skip = n == 0 && inside;
    if (n == 0 && !inside)
        rc = err_set(ERR_FORMAT, "%s is empty", file_show(shown, sizeof shown, path));
    else if (n > 0 && (rc = file_read_at(&f, head, 0, n)) == 0)
        rc = judge(kind, path, head, n);
    file_close(&f);
    return rc;
}

/* One file, `inside` a folder or named itself. */
static int add_file(struct data_sources *s, const char *path, bool inside)
{
    enum data_kind kind = DATA_MEGATRON;
    bool megatron = false, skip = false;
    int rc = find_megatron(&megatron, &skip, path, inside);
    if (rc == 0 && !megatron)
        rc = find_kind(&kind, &skip, path, inside);
    return rc != 0 || skip ? rc : add(s, path, kind);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder but hidden ones, sorted by bytes, into *names [*n], owned. */
static int list_folder(char ***names, size_t *n, const char *path)
{
    char shown[NAME_BYTES];
    DIR *dir = opendir(path);
    size_t cap = 0;
    int rc = 0;
    if (dir == NULL)
        return err_errno("cannot read the folder %s", file_show(shown, sizeof shown, path));
    for (struct dirent *e; rc == 0 && (e = readdir(dir)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        if (*n == cap) {
            size_t more = cap == 0 ? 64 : 2 * cap;
            char **grown = mem_grow(*names, cap * sizeof *grown, more * sizeof *grown);
            if (grown == NULL) {
                rc = ERR_NOMEM;
                break;
            }
            *names = grown;
            cap = more;
        }
        rc = ((*names)[*n] = mem_strdup(e->d_name)) == NULL ? ERR_NOMEM : 0;
        *n += rc == 0;
    }
    closedir(dir);
    if (*n > 0)
        qsort(*names, *n, sizeof **names, by_name);
    return rc;
}

static int add_folder(struct data_sources *s, const char *path, int depth)
{
    char **names = NULL, shown[NAME_BYTES];
    size_t n = 0;
    int rc = depth == DEPTH_MAX ? err_set(ERR_RANGE, "%s: folders are nested more than %d deep",
                                          file_show(shown, sizeof shown, path), DEPTH_MAX)
                                : list_folder(&names, &n, path);
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct stat st;
        char *inner = file_join(path, names[i]);
        if (inner == NULL)
            rc = ERR_NOMEM;
        else if (!file_is_folder(inner))
            rc = add_file(s, inner, true);
        else if (lstat(inner, &st) == 0 && !S_ISLNK(st.st_mode)) /* a link may lead in a circle */
            rc = add_folder(s, inner, depth + 1);
        mem_free(inner);
    }
    for (size_t i = 0; i < n; i++)
        mem_free(names[i]);
    mem_free(names);
    return rc;
}

static int add_path(struct data_sources *s, const char *word)
{
    char *path = file_expand(word), shown[NAME_BYTES];
    size_t before = s->n;
    int rc = path == NULL           ? ERR_NOMEM
             : file_is_folder(path) ? add_folder(s, path, 0)
                                    : add_file(s, path, false);
    if (rc == 0 && s->n == before)
        rc = err_set(ERR_MISSING, "the folder %s has no files to train on",
                     file_show(shown, sizeof shown, path));
    mem_free(path);
    return rc;
}

int data_sources_find(struct data_sources *out, const char *paths)
{
    *out = (struct data_sources){0};
    struct words words;
    int rc = words_parse(&words, paths);
    if (rc != 0)
        return err_wrap("data");
    if (words.n == 0)
        rc = err_set(ERR_RANGE, "there is no data: name a text file, a folder or tokens with "
                                "data=PATH, or data=generated");
    for (size_t i = 0; i < words.n && rc == 0; i++)
        rc = add_path(out, words.list[i].bytes);
    words_release(&words);
    if (rc != 0)
        data_sources_release(out);
    return rc;
}

void data_sources_release(struct data_sources *s)
{
    for (size_t i = 0; i < s->n; i++)
        mem_free(s->list[i].path);
    mem_free(s->list);
    *s = (struct data_sources){0};
}
