#include "weights/llmc/llmc_folder.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/folder_entry.h"
#include "model/base/little_endian.h"
#include "model/base/mem.h"
#include "weights/llmc/llmc.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 200 };
/* Of a step, in eight digits. */
static const char SAVED[] = "model_[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9].bin";

/* What cannot be read is none. */
static bool is_model(const char *path)
{
    struct file f;
    char magic[4];
    int rc = file_open(&f, path);
    if (rc == 0 && (rc = file_read_at(&f, magic, 0, sizeof magic)) == 0)
        rc = le32_at(magic) == LLMC_MAGIC ? 0 : ERR_FORMAT;
    file_close(&f);
    err_clear();
    return rc == 0;
}

struct found {
    char *first, *last; /* by name; owned */
    int n;
    bool saved; /* all are a run's */
};

static int add_name(struct found *f, const char *name)
{
    char **to = f->first == NULL || strcmp(name, f->first) < 0 ? &f->first : NULL;
    f->saved = (f->n++ == 0 || f->saved) && fnmatch(SAVED, name, 0) == 0;
    for (int i = 0; i < 2; i++) {
        if (to != NULL) {
            mem_free(*to);
            if ((*to = mem_strdup(name)) == NULL)
                return ERR_NOMEM;
        }
        to = i == 0 && (f->last == NULL || strcmp(name, f->last) > 0) ? &f->last : NULL;
    }
    return 0;
}

static int add_entry(struct found *f, const char *folder, const char *name)
{
    char *path = text_ends_in(name, ".bin") ? file_join(folder, name) : NULL;
    int rc = path == NULL && text_ends_in(name, ".bin") ? ERR_NOMEM : 0;
    if (path != NULL && !file_is_folder(path) && is_model(path))
        rc = add_name(f, name);
    mem_free(path);
    return rc;
}

int llmc_find(char **out, const char *folder)
{
    struct found f = {0};
    char shown[NAME_BYTES], first[NAME_BYTES], last[NAME_BYTES];
    DIR *dir = opendir(folder);
    int rc = 0;
    *out = NULL;
    for (const char *name; rc == 0 && (name = folder_entry_next(dir)) != NULL;)
        rc = add_entry(&f, folder, name);
    folder_entry_close(dir);
    if (rc == 0 && f.n > 1 && !f.saved)
        rc = err_set(ERR_UNSUPPORTED, "%s has %d models of llm.c, from %s to %s: name the file",
                     file_show(shown, sizeof shown, folder), f.n,
                     file_show(first, sizeof first, f.first), file_show(last, sizeof last, f.last));
    if (rc == 0 && f.n > 0 && (*out = file_join(folder, f.last)) == NULL)
        rc = ERR_NOMEM;
    mem_free(f.first);
    mem_free(f.last);
    return rc;
}
