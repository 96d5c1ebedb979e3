#include "weights/hub/model_files.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/hf/hf_files.h"

#include <string.h>

const char *hub_weights_name(int i)
{
    static const char *const names[] = {"model.safetensors", "model.safetensors.index.json",
                                        "pytorch_model.bin", "pytorch_model.bin.index.json", NULL};
    return names[i];
}

void hub_file_list_release(struct hub_file_list *l)
{
    for (int i = 0; i < l->n; i++)
        mem_free(l->names[i]);
    mem_free(l->names);
    *l = (struct hub_file_list){0};
}

static int copy_names(struct hub_file_list *l, const struct hf_files *f)
{
    if ((l->names = mem_array((size_t)f->n, sizeof *l->names)) == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < f->n; i++) {
        const char *name = hf_last_part(f->paths[i]);
        if (!hub_is_file_name(name))
            return err_set(ERR_FORMAT, "the index names the file %s, which is none to download",
                           file_quote(name));
        if ((l->names[l->n] = mem_strdup(name)) == NULL)
            return ERR_NOMEM;
        l->n++;
    }
    return 0;
}

int hub_index_files(struct hub_file_list *l, const struct hub_repository *r, const char *commit,
                    const char *index)
{
    struct hf_files f = {.given = {.fd = -1}};
    struct file file;
    *l = (struct hub_file_list){0};
    char *folder = hub_repository_snapshot(r, commit);
    char *path = folder == NULL ? NULL : file_join(folder, index);
    int rc = path == NULL ? ERR_NOMEM : file_open(&file, path);
    if (rc == 0) {
        rc = hf_files_find(&f, path, file, NULL, true);
        if (rc == 0)
            rc = copy_names(l, &f);
        hf_files_release(&f);
    }
    mem_free(path);
    mem_free(folder);
    if (rc != 0)
        hub_file_list_release(l);
    return rc;
}

/* Weights, or all the shards of an index. */
static bool has_weights(const struct hub_repository *r, const char *commit, const char *name)
{
    struct hub_file_list shards;
    if (!hub_repository_has(r, commit, name))
        return false;
    if (!text_ends_in(name, ".json"))
        return true;
    bool all = hub_index_files(&shards, r, commit, name) == 0;
    for (int i = 0; i < shards.n && all; i++)
        all = hub_repository_has(r, commit, shards.names[i]);
    hub_file_list_release(&shards);
    return all;
}

static bool has_adapter(const struct hub_repository *r, const char *commit)
{
    return hub_repository_has(r, commit, "adapter_config.json") &&
           (hub_repository_has(r, commit, "adapter_model.safetensors") ||
            hub_repository_has(r, commit, "adapter_model.bin"));
}

static bool has_tokenizer(const struct hub_repository *r, const char *commit)
{
    return hub_repository_has(r, commit, "tokenizer.json") ||
           (hub_repository_has(r, commit, "vocab.json") &&
            hub_repository_has(r, commit, "merges.txt")) ||
           (hub_repository_lacks(r, commit, "tokenizer.json") &&
            hub_repository_lacks(r, commit, "vocab.json"));
}

/* Loading takes the first of these weights that is there (hf_files.h), whole or not. */
enum hub_state hub_model_state(const struct hub_repository *r, const char *commit)
{
    if (commit[0] == '\0')
        return HUB_ABSENT;
    if (!hub_repository_has(r, commit, "config.json"))
        return has_adapter(r, commit) ? HUB_WHOLE : HUB_ABSENT;
    const char *name;
    for (int i = 0; (name = hub_weights_name(i)) != NULL; i++)
        if (hub_repository_has(r, commit, name))
            return !has_weights(r, commit, name) ? HUB_ABSENT
                   : has_tokenizer(r, commit)    ? HUB_WHOLE
                                                 : HUB_WEIGHTS;
    return HUB_ABSENT;
}
