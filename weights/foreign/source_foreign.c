#include "weights/foreign/source_foreign.h"

#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "weights/foreign/kinds.h"
#include "weights/hf/stored.h"
#include "weights/torch/pickle.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BESIDE = 16 << 20, SHOWN = 120 };

struct state {
    struct checkpoint k;
    struct stored_tensor *stored;
};

static void close_state(void *format)
{
    struct state *st = format;
    hf_files_release(&st->k.files);
    json_decref(st->k.beside);
    mem_free(st->stored);
    mem_free(st);
}

bool foreign_is_name(const char *path)
{
    return text_ends_in(path, ".pt") || text_ends_in(path, ".pth") || text_ends_in(path, ".ckpt");
}

int foreign_find(char **out, const char *folder)
{
    static const char *const names[] = {"ckpt.pt", "model.pt", "checkpoints/model.pt",
                                        "checkpoint_best.pt", "checkpoint_last.pt"};
    *out = NULL;
    if (hf_files_are_in(folder) || file_exists_in(folder, "adapter_config.json"))
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (file_exists_in(folder, names[i]))
            return (*out = file_join(folder, names[i])) == NULL ? ERR_NOMEM : 0;
    return 0;
}

/* ---- the configuration ---- */

static int read_pickle(json_t **out, const char *path)
{
    struct buf text = {0};
    int rc = file_read_all(&text, path, MAX_BESIDE);
    if (rc == 0 && (rc = pickle_read_plain(out, buf_text(&text), text.n)) != 0)
        rc = file_wrap(path);
    buf_release(&text);
    return rc;
}

/* config.json of the checkpoint's folder, or config.pickle there or in the folder above. */
static int read_beside(struct checkpoint *k)
{
    static const char *const names[] = {"config.pickle", "../config.pickle", "config.json"};
    int rc = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && k->beside == NULL && rc == 0; i++) {
        if (!file_exists_in(k->files.folder, names[i]))
            continue;
        char *path = file_join(k->files.folder, names[i]);
        rc = path == NULL                  ? ERR_NOMEM
             : text_ends_in(path, ".json") ? json_read_file(&k->beside, path, MAX_BESIDE)
                                           : read_pickle(&k->beside, path);
        mem_free(path);
    }
    return rc;
}

static void note_extra_tensors(const struct state *st, const struct naming *n,
                               const struct progress *p)
{
    size_t extra = 0;
    const char *first = NULL;
    for (size_t i = 0; i < st->k.files.n_entries; i++) {
        const struct hf_entry *e = &st->k.files.entries[i];
        const bool buffer = names_is_mask(e->name) || text_ends_in(e->name, ".attn.mask") ||
                            strcmp(e->name, "decoder.version") == 0 ||
                            text_ends_in(e->name, "._float_tensor");
        if (e->used || buffer || names_is_head(e->name) ||
            strcmp(e->name, "decoder.output_projection.weight") == 0)
            continue;
        first = extra++ == 0 ? e->name : first;
    }
    char shown[SHOWN];
    if (extra > 0)
        progress_note(p, "%zu tensor%s no part of a %s model and left out: %s%s", extra,
                      extra == 1 ? " is" : "s are", n->title, file_show(shown, sizeof shown, first),
                      extra == 1 ? "" : ", ...");
}

static int read_weights(struct source *s, struct state *st, const struct foreign_kind *kind,
                        const struct progress *p)
{
    struct naming n = *kind->naming;
    config_init(&s->config);
    int rc = kind->read_config(&s->config, &n, &st->k);
    if (rc == 0)
        rc = config_check(&s->config);
    if (rc == 0 && (uint64_t)s->config.n_layer > st->k.files.n_entries)
        rc = err_set(ERR_MISMATCH, "the checkpoint says %d layers, its weights are %zu tensors",
                     s->config.n_layer, st->k.files.n_entries);
    if (rc == 0)
        rc = params_describe(&s->table, &s->config);
    if (rc == 0)
        rc = stored_open(&st->stored, s, &st->k.files, &n);
    if (rc != 0)
        return file_wrap(st->k.files.paths[0]);
    note_extra_tensors(st, &n, p);
    return 0;
}

/* ---- the source ---- */

/* The file's name, or where that is the trainer's own the folder's; of Languini's "checkpoints" the
 * folder above. */
static int name_source(struct source *s, const struct checkpoint *k)
{
    char real[PATH_MAX];
    static const char *const usual[] = {"ckpt.pt", "model.pt", "checkpoint_best.pt",
                                        "checkpoint_last.pt"};
    const char *of = hf_last_part(k->files.paths[0]);
    bool is_usual = false;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        is_usual = is_usual || strcmp(of, usual[i]) == 0;
    if (is_usual && realpath(k->files.folder, real) != NULL) {
        if (text_ends_in(real, "/checkpoints"))
            *strrchr(real, '/') = '\0';
        of = hf_last_part(real);
    }
    s->name = mem_strdup(of);
    return s->name == NULL ? ERR_NOMEM : 0;
}

static int open_checkpoint(struct source *s, struct state *st, struct file *file, const char *path,
                           const struct progress *p)
{
    struct hf_files *f = &st->k.files;
    const struct file given = *file;
    *file = (struct file){.fd = -1};
    int rc = hf_files_find(f, path, given, NULL, true);
    if (rc != 0 || (rc = hf_files_open(f, &s->stamp)) != 0 || (rc = hf_files_list(f)) != 0 ||
        (rc = read_beside(&st->k)) != 0)
        return rc;
    st->k.about = f->files[0].about;
    const struct foreign_kind *kind = foreign_kind_of(&st->k);
    if (kind == NULL) {
        *file = f->files[0].file;
        f->files[0].file = (struct file){.fd = -1};
        return err_set(ERR_MISSING, "no trainer's checkpoint");
    }
    if ((rc = read_weights(s, st, kind, p)) == 0 && (rc = name_source(s, &st->k)) == 0)
        rc = kind->open_tokenizer(&s->tokenizer, &st->k, &s->config, p);
    return rc;
}

int source_open_foreign(struct source *s, struct file *file, const char *path,
                        const struct progress *p)
{
    struct state *st = mem_alloc(sizeof *st);
    if (st == NULL) {
        file_close(file);
        return ERR_NOMEM;
    }
    *st = (struct state){.k.files.given.fd = -1};
    *s = (struct source){.format = st, .close = close_state};
    int rc = open_checkpoint(s, st, file, path, p);
    if (rc != 0)
        source_close(s);
    return rc;
}
