#include "weights/hf/source_hf.h"

#include "model/base/err.h"
#include "model/base/file_show.h"
#include "model/base/mem.h"
#include "model/schema.h"
#include "weights/hf/hf_config.h"
#include "weights/hf/hf_defaults.h"
#include "weights/hf/hf_files.h"
#include "weights/hf/stored.h"
#include "weights/hf/vocab.h"
#include "weights/tensors/sniff.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 120 };

struct state {
    struct hf_files files;
    struct stored_tensor *stored; /* [table.n_tensors] */
};

static void close_state(void *format)
{
    struct state *st = format;
    hf_files_release(&st->files);
    mem_free(st->stored);
    mem_free(st);
}

/* ---- the weights, checked against the configuration ---- */

/* *same: whether two tensors are equal bit for bit. */
static int compare_tensors(bool *same, const struct hf_entry *a, const struct hf_entry *b)
{
    *same = a->entry->dtype == b->entry->dtype && a->entry->bytes == b->entry->bytes;
    if (!*same || (a->in == b->in && a->entry->offset == b->entry->offset))
        return 0;
    return file_compare(same, &a->in->file, a->entry->offset, &b->in->file, b->entry->offset,
                        a->entry->bytes);
}

/* Note tensors that are not the model's, unless old files commonly have them. */
static int note_extra_tensors(const struct source *s, const struct state *st,
                              const struct progress *p)
{
    const struct hf_entry *head = hf_files_entry(&st->files, SCHEMA_HEAD);
    if (head != NULL && s->config.tie_word_embeddings) {
        bool same;
        int rc = compare_tensors(&same, head, hf_files_entry(&st->files, SCHEMA_EMBEDDING));
        if (rc != 0)
            return rc;
        if (!same)
            progress_note(p, "%s differs from %s though config.json ties them: %s is used for both",
                          SCHEMA_HEAD, SCHEMA_EMBEDDING, SCHEMA_EMBEDDING);
    }
    size_t n = 0;
    const char *first = NULL;
    for (size_t i = 0; i < st->files.n_entries; i++) {
        const char *name = st->files.entries[i].name;
        if (st->files.entries[i].used || names_is_mask(name) || names_is_head(name))
            continue;
        first = n++ == 0 ? name : first;
    }
    char shown[SHOWN];
    if (n > 0)
        progress_note(p, "%zu tensor%s no part of a %s with %d layer%s and left out: %s%s", n,
                      n == 1 ? " is" : "s are", naming_hf(s->config.type)->title, s->config.n_layer,
                      s->config.n_layer == 1 ? "" : "s", file_show(shown, sizeof shown, first),
                      n == 1 ? "" : ", ...");
    return 0;
}

/* Checkpoints that a run goes on from, open already, are read once. */
static int list_files(struct source *s, const struct hf_files *f)
{
    if (f->open != NULL)
        return 0;
    s->files = mem_array((size_t)f->n, sizeof *s->files);
    if (s->files == NULL)
        return ERR_NOMEM;
    for (s->n_files = 0; s->n_files < f->n; s->n_files++)
        s->files[s->n_files] = &f->files[s->n_files].file;
    return 0;
}

static int read_weights(struct source *s, struct state *st, const struct progress *p)
{
    const struct hf_files *f = &st->files;
    int rc = hf_files_open(&st->files, &s->stamp);
    if (rc != 0)
        return rc;
    rc = hf_files_list(&st->files);
    /* The table must not be sized by a layer count that the files cannot have. */
    if (rc == 0 && (uint64_t)s->config.n_layer > f->n_entries)
        rc = err_set(ERR_MISMATCH, "config.json says n_layer %d, the weights are %zu tensors",
                     s->config.n_layer, f->n_entries);
    if (rc == 0)
        rc = params_describe(&s->table, &s->config);
    if (rc == 0)
        rc = stored_open(&st->stored, s, &st->files, naming_hf(s->config.type));
    if (rc == 0)
        rc = note_extra_tensors(s, st, p);
    if (rc == 0)
        rc = list_files(s, f);
    return rc == 0 ? 0 : file_wrap(f->n == 1 ? f->paths[0] : f->folder);
}

/* ---- the source ---- */

/* s->name, for display: the folder's name, or the file's if it is an unusual one. */
static int name_source(struct source *s, const char *path, const char *folder)
{
    static const char *const usual[] = {"model.safetensors", "pytorch_model.bin"};
    const char *of = path, *file = hf_last_part(path);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strncmp(file, usual[i], strlen(usual[i])) == 0)
            of = folder;
    char real[PATH_MAX];
    s->name = mem_strdup(hf_last_part(realpath(of, real) == NULL ? of : real));
    return s->name == NULL ? ERR_NOMEM : 0;
}

/* *text: the contents of config.json, empty if there is none. */
static int read_config(struct source *s, struct buf *text, const struct hf_files *f)
{
    struct file file;
    int rc = file_set_open(&file, f->open, f->folder, "config.json");
    if (rc == ERR_MISSING && f->n == 0) {
        config_init(&s->config);
        return 0;
    }
    if (rc == ERR_MISSING && f->given.path != NULL && sniff_refuse(&f->given) != 0)
        return file_wrap(f->given.path); /* no configuration would make a model of it */
    if (rc != 0)
        return rc != ERR_MISSING ? rc
                                 : err_set(rc, "%s; it says the shape of the model", err_text());
    rc = hf_config_read_file(&s->config, text, &file);
    file_close(&file);
    return rc;
}

static int read_settings(struct source *s, const struct hf_files *f, const struct progress *p)
{
    struct buf config = {0};
    int rc = read_config(s, &config, f);
    if (rc == 0)
        rc = hf_defaults_read(s, f->folder, f->open, &config, p);
    buf_release(&config);
    return rc;
}

static int read_source(struct source *s, const char *path, struct file file,
                       const struct file_set *open, bool need_weights, const struct progress *p)
{
    struct state *st = s->format;
    struct hf_files *f = &st->files;
    int rc = hf_files_find(f, path, file, open, need_weights);
    if (rc == 0)
        rc = name_source(s, path, f->folder);
    if (rc == 0)
        rc = read_settings(s, f, p);
    if (rc == 0 && f->n > 0)
        rc = read_weights(s, st, p);
    if (rc != 0)
        return rc;
    const struct config *c = f->n > 0 ? &s->config : NULL;
    if ((rc = vocab_open_files(&s->tokenizer, f->folder, open, c, p)) != 0 || c != NULL)
        return rc;
    if (s->tokenizer == NULL) {
        char shown[256];
        return err_set(ERR_MISSING, "%s has neither weights nor a tokenizer",
                       file_show(shown, sizeof shown, f->folder));
    }
    return 0;
}

static int open_source(struct source *s, const char *path, struct file file,
                       const struct file_set *open, bool need_weights, const struct progress *p)
{
    struct state *st = mem_alloc(sizeof *st);
    if (st == NULL) {
        file_close(&file);
        return ERR_NOMEM;
    }
    *s = (struct source){.format = st, .close = close_state};
    int rc = read_source(s, path, file, open, need_weights, p);
    st->files.open = NULL;
    if (rc != 0)
        source_close(s);
    return rc;
}

int source_open_hf(struct source *s, const char *path, struct file file, bool need_weights,
                   const struct progress *p)
{
    return open_source(s, path, file, NULL, need_weights, p);
}

int source_open_hf_files(struct source *s, const char *folder, const struct file_set *open,
                         const struct progress *p)
{
    return open_source(s, folder, (struct file){.fd = -1}, open, true, p);
}
