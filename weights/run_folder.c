#include "weights/run_folder.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "weights/tensors/folder_place.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SHOWN = 256, MAX_MANIFEST = 1 << 20 };

char *run_folder_checkpoint(const char *path, int64_t step)
{
    char name[32];
    snprintf(name, sizeof name, "step-%06" PRId64, step);
    return file_join(path, name);
}

int64_t run_folder_step_of(const char *name)
{
    if (strncmp(name, "step-", 5) != 0)
        return -1;
    size_t n = strspn(name + 5, "0123456789");
    return n >= 6 && n <= 18 && name[5 + n] == '\0' ? strtoll(name + 5, NULL, 10) : -1;
}

static int compare_steps(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

int run_folder_steps(const char *path, int64_t **steps, int *n)
{
    *steps = NULL;
    *n = 0;
    DIR *dir = opendir(path);
    if (dir == NULL)
        return errno == ENOENT ? 0 : file_fails("open", path);
    int rc = 0;
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;) {
        int64_t step = run_folder_step_of(name);
        if (step < 0)
            continue;
        int64_t *grown =
            mem_grow(*steps, (size_t)*n * sizeof *grown, (size_t)(*n + 1) * sizeof *grown);
        if (grown == NULL) {
            rc = ERR_NOMEM;
            break;
        }
        *steps = grown;
        grown[(*n)++] = step;
    }
    folder_entry_close(dir);
    if (rc != 0) {
        mem_free(*steps);
        *steps = NULL;
        *n = 0;
    } else if (*n > 0) {
        qsort(*steps, (size_t)*n, sizeof **steps, compare_steps);
    }
    return rc;
}

/* The first n bytes of a file in the folder, n 0 where it is none. Whoever asks may have an error
 * to say. */
static size_t read_head(char *head, size_t most, uint64_t *bytes, const char *path,
                        const char *name)
{
    char *at = file_join(path, name);
    struct file f;
    size_t n = 0;
    int rc = at == NULL ? ERR_NOMEM : 0;
    *bytes = 0;
    if (rc == 0 && file_exists(at) && (rc = file_open(&f, at)) == 0) {
        n = f.bytes < most ? (size_t)f.bytes : most;
        *bytes = f.bytes;
        rc = file_read_at(&f, head, 0, n);
        file_close(&f);
    }
    mem_free(at);
    if (rc != 0)
        err_clear();
    return rc == 0 ? n : 0;
}

/* The lock of a run, which has the number of its process. */
static bool has_trainer_lock(const char *path)
{
    char who[32];
    uint64_t bytes;
    const size_t n = read_head(who, sizeof who - 1, &bytes, path, "lock");
    return n > 1 && n == bytes && who[n - 1] == '\n' && strspn(who, "0123456789") == n - 1;
}

/* A disk that was full, or a crash, may have left but half of the first line. */
static bool is_half_line(const char *head, size_t n)
{
    static const char begins[] = "{\"label\":\"";
    const size_t most = sizeof begins - 1;
    return memchr(head, '\n', n) == NULL && memcmp(head, begins, n < most ? n : most) == 0;
}

bool run_folder_has_metrics(const char *path)
{
    char head[1024];
    uint64_t bytes;
    if (!file_exists_in(path, "metrics.jsonl"))
        return false;
    const size_t n = read_head(head, sizeof head - 1, &bytes, path, "metrics.jsonl");
    if (n == bytes && is_half_line(head, n))
        return true;
    head[n] = '\0';
    head[strcspn(head, "\n")] = '\0';
    return *head == '{' && strstr(head, "\"step\":") != NULL && strstr(head, "\"tokens\":") != NULL;
}

bool run_folder_is(const char *path)
{
    static const char *const of_models[] = {"config.json", "adapter_config.json"};
    int64_t *steps;
    int n;
    if (!file_is_folder(path))
        return false;
    for (size_t i = 0; i < sizeof of_models / sizeof *of_models; i++)
        if (file_exists_in(path, of_models[i]))
            return false;
    if (run_folder_has_metrics(path) || has_trainer_lock(path))
        return true;
    const int rc = run_folder_steps(path, &steps, &n);
    mem_free(steps);
    return rc == 0 && n > 0;
}

int run_folder_spare(const char *path)
{
    return run_folder_is_checkpoint(path) && !file_exists(path)
               ? file_refuse(
                     ERR_EXISTS, path,
                     "would be taken for a checkpoint of the run beside it; choose another name")
           : run_folder_is_checkpoint(path)
               ? file_refuse(ERR_EXISTS, path,
                             "is a checkpoint, from which its run goes on; choose another name")
           : run_folder_is(path)
               ? file_refuse(ERR_EXISTS, path, "is the folder of a run; choose another name")
               : 0;
}

/* ---- the newest whole checkpoint ---- */

/* Check a file of the manifest without opening it: loading does that. */
static int check_listed_file(const char *folder, const char *name, const json_t *said)
{
    char shown[SHOWN];
    int64_t bytes = -1;
    struct stat st;
    file_show(shown, sizeof shown, name);
    if (strchr(name, '/') != NULL || !json_is_object(said) ||
        json_take_int(said, "bytes", 0, INT64_MAX, &bytes) != 0 || bytes < 0)
        return err_set(ERR_FORMAT, "manifest.json has no valid entry for %s", shown);
    char *path = file_join(folder, name);
    if (path == NULL)
        return ERR_NOMEM;
    int rc = 0;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        rc = err_set(ERR_FORMAT, "%s is missing", shown);
    else if (st.st_size != bytes)
        rc = err_set(ERR_FORMAT, "%s has %" PRId64 " bytes, %" PRId64 " were written", shown,
                     (int64_t)st.st_size, bytes);
    mem_free(path);
    return rc;
}

static int check_checkpoint(const char *checkpoint)
{
    char shown[SHOWN];
    json_t *manifest = NULL, *said;
    const char *name;
    char *path = file_join(checkpoint, "manifest.json");
    int rc = path == NULL ? ERR_NOMEM : json_read_file(&manifest, path, MAX_MANIFEST);
    mem_free(path);
    if (rc == ERR_MISSING)
        rc = err_set(ERR_FORMAT, "manifest.json is missing");
    json_t *files = json_object_get(manifest, "files");
    if (rc == 0 && json_object_size(files) == 0)
        rc = err_set(ERR_FORMAT, "manifest.json names no files");
    if (rc == 0)
        json_object_foreach(files, name, said)
        {
            if ((rc = check_listed_file(checkpoint, name, said)) != 0)
                break;
        }
    json_decref(manifest);
    return rc == 0 || rc == ERR_NOMEM
               ? rc
               : err_wrap("checkpoint %s", file_show(shown, sizeof shown, checkpoint));
}

static int refuse_run(const char *path, int n)
{
    char shown[SHOWN];
    file_show(shown, sizeof shown, path);
    if (n == 0)
        return err_set(ERR_MISSING,
                       "%s is the folder of a run that has saved no checkpoint yet; train it until "
                       "it has saved one",
                       shown);
    if (n == 1)
        return err_set(
            ERR_MISSING,
            "the only checkpoint in %s is not whole; train it once more, or name another "
            "model",
            shown);
    return err_set(ERR_MISSING,
                   "none of the %d checkpoints in %s is whole; train it once more, or name another "
                   "model",
                   n, shown);
}

/* The newest whole checkpoint, and its *step. */
static int find_whole_checkpoint(char **out, int64_t *step, const char *path,
                                 const struct progress *p)
{
    int64_t *steps;
    int n, rc = run_folder_steps(path, &steps, &n);
    *out = NULL;
    for (int i = 0; i < n && rc == 0 && *out == NULL; i++) {
        char *one = run_folder_checkpoint(path, steps[i]);
        rc = one == NULL ? ERR_NOMEM : check_checkpoint(one);
        if (rc == 0) {
            *out = one;
            *step = steps[i];
            continue;
        }
        mem_free(one);
        if (rc != ERR_NOMEM) {
            progress_note(p, "%s; passed over", err_text());
            rc = 0;
        }
    }
    mem_free(steps);
    return rc == 0 && *out == NULL ? refuse_run(path, n) : rc;
}

/* Before anything looks at the folder: without its configuration a model may look like a run. */
static void mend_save(const char *path, const struct progress *p)
{
    char shown[SHOWN];
    const enum folder_mended done = folder_place_mend(path);
    if (done != FOLDER_WHOLE)
        progress_note(p, "a program that was saving a model in %s was killed; the %s model is back",
                      file_show(shown, sizeof shown, path), done == FOLDER_NEW ? "new" : "old");
}

int run_folder_resolve(char **out, char **title, const char *path, const struct progress *p)
{
    char shown[SHOWN];
    int64_t step = 0;
    char *expanded = file_expand(path);
    *title = *out = NULL;
    if (expanded == NULL)
        return ERR_NOMEM;
    mend_save(expanded, p);
    for (size_t n = strlen(expanded); n > 1 && expanded[n - 1] == '/' && run_folder_is(expanded);
         n--)
        expanded[n - 1] = '\0';
    if (!run_folder_is(expanded)) {
        *out = expanded;
        return 0;
    }
    int rc = find_whole_checkpoint(out, &step, expanded, p);
    if (rc == 0 && (*title = mem_sprintf("%s, checkpoint of step %" PRId64,
                                         file_show(shown, sizeof shown, expanded), step)) == NULL)
        rc = ERR_NOMEM;
    if (rc != 0) {
        mem_free(*out);
        *out = NULL;
    }
    mem_free(expanded);
    return rc;
}

int64_t run_folder_newest(const char *path, const struct progress *p)
{
    char *newest = NULL, *title = NULL;
    int64_t step = -1;
    if (run_folder_is(path) && run_folder_resolve(&newest, &title, path, p) == 0) {
        const char *name = strrchr(newest, '/');
        step = run_folder_step_of(name != NULL ? name + 1 : newest);
    }
    mem_free(newest);
    mem_free(title);
    err_clear();
    return step;
}

/* The folder that the path lies in, of what need not be there yet; *name: its last part. NULL:
 * none. */
static char *find_parent(char real[PATH_MAX], const char **name, const char *path)
{
    char *slash = realpath(path, real) == NULL ? NULL : strrchr(real, '/');
    if (slash == NULL) {
        const int n = snprintf(real, PATH_MAX, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
        slash = n > 0 && n < PATH_MAX ? strrchr(real, '/') : NULL;
    }
    if (slash == NULL || slash == real)
        return NULL;
    *slash = '\0';
    *name = slash + 1;
    return real;
}

bool run_folder_is_checkpoint(const char *path)
{
    char real[PATH_MAX];
    const char *name;
    const char *parent = find_parent(real, &name, path);
    return parent != NULL && run_folder_step_of(name) >= 0 && run_folder_is(parent);
}
