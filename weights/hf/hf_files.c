#include "weights/hf/hf_files.h"

#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "weights/hf/tensor_open.h"
#include "weights/tensors/names.h"
#include "weights/tensors/sniff.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 120, MAX_INDEX = 100 << 20, MAX_SHARDS = 512 };

void hf_files_release(struct hf_files *f)
{
    for (int i = 0; i < f->n; i++) {
        if (f->files != NULL)
            tensor_file_close(&f->files[i]);
        mem_free(f->paths[i]);
    }
    file_close(&f->given);
    mem_free(f->files);
    mem_free(f->paths);
    mem_free(f->entries);
    mem_free(f->folder);
}

const char *hf_last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static int add_path(struct hf_files *f, char *path)
{
    if (path == NULL)
        return ERR_NOMEM;
    char **grown =
        mem_grow(f->paths, (size_t)f->n * sizeof *grown, (size_t)(f->n + 1) * sizeof *grown);
    if (grown == NULL) {
        mem_free(path);
        return ERR_NOMEM;
    }
    f->paths = grown;
    f->paths[f->n++] = path;
    return 0;
}

/* A shard must be a plain file name: it is in the index's own folder. */
static int add_shard(struct hf_files *f, const char *tensor, const json_t *value)
{
    const char *name = json_string_value(value);
    char shown[SHOWN], of[SHOWN];
    file_show(of, sizeof of, tensor);
    if (name == NULL)
        return err_set(ERR_FORMAT, "the shard of tensor %s is %s, must be a file name", of,
                       json_shown(shown, sizeof shown, value));
    file_show(shown, sizeof shown, name);
    if (name[0] == '\0' || strchr(name, '/') != NULL || strcmp(name, "..") == 0 ||
        strcmp(name, ".") == 0)
        return err_set(ERR_FORMAT,
                       "the shard of tensor %s is \"%s\", must be a file in the "
                       "index's folder",
                       of, shown);
    for (int i = 0; i < f->n; i++)
        if (strcmp(hf_last_part(f->paths[i]), name) == 0)
            return 0;
    if (f->n == MAX_SHARDS)
        return err_set(ERR_FORMAT, "the index names more than %d shards", MAX_SHARDS);
    return add_path(f, file_join(f->folder, name));
}

static int read_index(struct hf_files *f, const struct file *file)
{
    json_t *index = NULL;
    struct buf text = {0};
    int rc = file_read_whole(&text, file, MAX_INDEX);
    if (rc == 0 && ((rc = sniff_refuse_text(buf_text(&text), text.n)) != 0 ||
                    (rc = json_read_text(&index, text.data, text.n)) != 0))
        rc = file_wrap(file->path);
    buf_release(&text);
    if (rc != 0)
        return rc;
    const json_t *map = json_object_get(index, "weight_map");
    if (!json_is_object(map) || json_object_size(map) == 0)
        rc = err_set(ERR_FORMAT, "weight_map is missing: it says which file has which tensor");
    const char *tensor;
    json_t *shard;
    if (rc == 0)
        json_object_foreach((json_t *)map, tensor, shard)
        {
            if ((rc = add_shard(f, tensor, shard)) != 0)
                break;
        }
    json_decref(index);
    return rc == 0 ? 0 : file_wrap(file->path);
}

static const char *const names[] = {"model.safetensors", "model.safetensors.index.json",
                                    "pytorch_model.bin", "pytorch_model.bin.index.json"};
enum { N_NAMES = sizeof names / sizeof *names };

bool hf_files_are_in(const char *folder)
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (file_exists_in(folder, names[i]))
            return true;
    return false;
}

/* Whether some of these are among the files that are open already: then no other is looked for. */
static bool has_open(const struct hf_files *f)
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (file_set_find(f->open, names[i]) != NULL)
            return true;
    return false;
}

/* The weights of a folder: the first of these files that exists. */
static int choose_files(struct hf_files *f, bool need_weights)
{
    const bool open = has_open(f);
    for (size_t i = 0; i < N_NAMES; i++) {
        char *path = file_join(f->folder, names[i]);
        if (path == NULL)
            return ERR_NOMEM;
        if (file_set_find(f->open, names[i]) == NULL && (open || !file_exists(path))) {
            mem_free(path);
            continue;
        }
        if (!text_ends_in(path, ".json"))
            return add_path(f, path);
        mem_free(path);
        struct file file;
        int rc = file_set_open(&file, f->open, f->folder, names[i]);
        if (rc == 0) {
            rc = read_index(f, &file);
            file_close(&file);
        }
        return rc;
    }
    if (!need_weights)
        return 0;
    char shown[256];
    return err_set(ERR_MISSING,
                   "%s has no weights: no model.safetensors or pytorch_model.bin, nor either's "
                   "index",
                   file_show(shown, sizeof shown, f->folder));
}

int hf_files_find(struct hf_files *f, const char *path, struct file file,
                  const struct file_set *open, bool need_weights)
{
    const char *last = hf_last_part(path);
    int n = (int)(last - path);
    f->given = file;
    f->open = open;
    f->folder = file.path == NULL ? mem_strdup(path)
                : n == 0          ? mem_strdup(".")
                                  : mem_sprintf("%.*s", n == 1 ? 1 : n - 1, path);
    if (f->folder == NULL)
        return ERR_NOMEM;
    if (file.path == NULL)
        return choose_files(f, need_weights);
    if (!text_ends_in(path, ".json"))
        return add_path(f, mem_strdup(path));
    int rc = read_index(f, &f->given);
    file_close(&f->given);
    return rc;
}

int hf_files_open(struct hf_files *f, uint64_t *stamp)
{
    f->files = mem_array((size_t)f->n, sizeof *f->files);
    if (f->files == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < f->n; i++)
        f->files[i].file.fd = -1;
    for (int i = 0; i < f->n; i++) {
        struct file given = f->given;
        f->given = (struct file){.fd = -1};
        int rc = given.path != NULL
                     ? 0
                     : file_set_open(&given, f->open, f->folder, hf_last_part(f->paths[i]));
        if (rc == 0)
            rc = tensor_file_open_file(&f->files[i], given);
        if (rc != 0)
            return rc;
        *stamp = *stamp * 31 + f->files[i].file.stamp;
    }
    return 0;
}

static int compare_entry_names(const void *a, const void *b)
{
    return strcmp(((const struct hf_entry *)a)->name, ((const struct hf_entry *)b)->name);
}

struct hf_entry *hf_files_entry(const struct hf_files *f, const char *name)
{
    struct hf_entry key = {.name = name};
    if (f->n_entries == 0)
        return NULL;
    return bsearch(&key, f->entries, f->n_entries, sizeof key, compare_entry_names);
}

int hf_files_list(struct hf_files *f)
{
    size_t n = 0;
    for (int i = 0; i < f->n; i++)
        n += (size_t)f->files[i].n;
    if ((f->entries = mem_array(n, sizeof *f->entries)) == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < f->files[i].n; k++) {
            const struct tensor_entry *e = &f->files[i].entries[k];
            f->entries[f->n_entries++] =
                (struct hf_entry){.name = names_plain(e->name), .entry = e, .in = &f->files[i]};
        }
    qsort(f->entries, n, sizeof *f->entries, compare_entry_names);
    for (size_t i = 1; i < n; i++)
        if (compare_entry_names(&f->entries[i - 1], &f->entries[i]) == 0) {
            char shown[SHOWN];
            return err_set(ERR_FORMAT, "tensor %s is there twice, %s",
                           file_show(shown, sizeof shown, f->entries[i].name),
                           f->entries[i - 1].in == f->entries[i].in
                               ? "with and without \"transformer.\""
                               : "in two shards");
        }
    return 0;
}
