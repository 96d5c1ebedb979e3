/* Hugging Face files as a source: config.json and, beside it, safetensors or torch
 * files, whole or in shards under an index. */
#include "weights/source.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/mem.h"
#include "weights/hf/generation_config.h"
#include "weights/hf/hf_config.h"
#include "weights/tensors/names.h"
#include "weights/tensors/tensor_file.h"
#include "weights/hf/vocab.h"
#include "weights/tensors/sniff.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 120, MAX_INDEX = 100 << 20, MAX_SHARDS = 512, MAX_DEFAULTS = 16 << 20 };

/* A tensor of one of the files. */
struct found {
    const char *name; /* without "transformer." */
    const struct tensor_entry *entry;
    const struct tensor_file *in;
    bool used; /* a parameter of the table */
};

/* What a reader of the table reads from. */
struct place {
    const struct file *file;
    uint64_t at;
    int element_bytes;
};

struct state {
    char *folder;
    char **paths; /* [n_files], of the files with tensors */
    struct tensor_file *files;
    int n_files;
    struct found *found; /* [n_found], by name */
    size_t n_found;
    struct place *places; /* [table.n_tensors] */
};

static void close_state(void *format)
{
    struct state *st = format;
    for (int i = 0; i < st->n_files; i++) {
        if (st->files != NULL)
            tensor_file_close(&st->files[i]);
        mem_free(st->paths[i]);
    }
    mem_free(st->files);
    mem_free(st->paths);
    mem_free(st->found);
    mem_free(st->places);
    mem_free(st->folder);
    mem_free(st);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* ---- which files ---- */

static int add_path(struct state *st, char *path)
{
    if (path == NULL)
        return ERR_NOMEM;
    char **grown = mem_grow(st->paths, (size_t)st->n_files * sizeof *grown,
                            (size_t)(st->n_files + 1) * sizeof *grown);
    if (grown == NULL) {
        mem_free(path);
        return ERR_NOMEM;
    }
    st->paths = grown;
    st->paths[st->n_files++] = path;
    return 0;
}

/* A shard is a plain name in the index's own folder. */
static int add_shard(struct state *st, const char *tensor, const json_t *value)
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
    for (int i = 0; i < st->n_files; i++)
        if (strcmp(last_part(st->paths[i]), name) == 0)
            return 0;
    if (st->n_files == MAX_SHARDS)
        return err_set(ERR_FORMAT, "the index names more than %d shards", MAX_SHARDS);
    return add_path(st, file_join(st->folder, name));
}

static int read_index(struct state *st, const char *path)
{
    json_t *index = NULL;
    struct buf text = {0};
    int rc = file_read_all(&text, path, MAX_INDEX);
    if (rc == 0 && ((rc = lookalike_refuse_text(buf_text(&text), text.n)) != 0 ||
                    (rc = json_read_text(&index, text.data, text.n)) != 0))
        rc = file_wrap(path);
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
            if ((rc = add_shard(st, tensor, shard)) != 0)
                break;
        }
    json_decref(index);
    return rc == 0 ? 0 : file_wrap(path);
}

/* The weights of a folder, the first of these that is there. */
static int choose_files(struct state *st, bool need_weights)
{
    static const char *const names[] = {"model.safetensors", "model.safetensors.index.json",
                                        "pytorch_model.bin", "pytorch_model.bin.index.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = file_join(st->folder, names[i]);
        if (path == NULL)
            return ERR_NOMEM;
        if (!file_exists(path)) {
            mem_free(path);
            continue;
        }
        if (!text_ends_in(path, ".json"))
            return add_path(st, path);
        int rc = read_index(st, path);
        mem_free(path);
        return rc;
    }
    if (!need_weights)
        return 0;
    char shown[256];
    return err_set(ERR_MISSING,
                   "%s has no weights: no model.safetensors or pytorch_model.bin, nor either's "
                   "index",
                   file_show(shown, sizeof shown, st->folder));
}

/* ---- their tensors ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct found *)a)->name, ((const struct found *)b)->name);
}

static struct found *find(const struct state *st, const char *name)
{
    struct found key = {.name = name};
    if (st->n_found == 0)
        return NULL;
    return bsearch(&key, st->found, st->n_found, sizeof key, by_name);
}

static int list_tensors(struct state *st)
{
    size_t n = 0;
    for (int i = 0; i < st->n_files; i++)
        n += (size_t)st->files[i].n;
    if ((st->found = mem_array(n, sizeof *st->found)) == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < st->n_files; i++)
        for (int k = 0; k < st->files[i].n; k++) {
            const struct tensor_entry *e = &st->files[i].entries[k];
            st->found[st->n_found++] =
                (struct found){.name = names_plain(e->name), .entry = e, .in = &st->files[i]};
        }
    qsort(st->found, n, sizeof *st->found, by_name);
    for (size_t i = 1; i < n; i++)
        if (by_name(&st->found[i - 1], &st->found[i]) == 0) {
            char shown[SHOWN];
            return err_set(ERR_FORMAT, "tensor %s is there twice, %s",
                           file_show(shown, sizeof shown, st->found[i].name),
                           st->found[i - 1].in == st->found[i].in
                               ? "with and without \"transformer.\""
                               : "in two shards");
        }
    return 0;
}

static int open_files(struct state *st, uint64_t *stamp)
{
    st->files = mem_array((size_t)st->n_files, sizeof *st->files);
    if (st->files == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < st->n_files; i++)
        st->files[i].file.fd = -1;
    for (int i = 0; i < st->n_files; i++) {
        int rc = tensor_file_open(&st->files[i], st->paths[i]);
        if (rc != 0)
            return rc;
        *stamp = *stamp * 31 + st->files[i].file.stamp;
    }
    return 0;
}

/* ---- against the configuration ---- */

static int check_shape(const struct tensor_entry *e, const struct param_tensor *t)
{
    uint64_t rows = (uint64_t)t->rows, cols = (uint64_t)t->cols;
    bool vector = t->kind == PARAM_VECTOR;
    if (vector ? e->rank == 1 && e->shape[0] == cols
               : e->rank == 2 && e->shape[0] == rows && e->shape[1] == cols)
        return 0;
    char have[SHOWN], want[64];
    tensor_shape_text(have, sizeof have, e);
    if (vector)
        snprintf(want, sizeof want, "[%d]", t->cols);
    else
        snprintf(want, sizeof want, "[%d,%d]", t->rows, t->cols);
    bool turned =
        t->kind == PARAM_CONV1D && e->rank == 2 && e->shape[0] == cols && e->shape[1] == rows;
    return err_set(ERR_FORMAT, "tensor %s: shape %s, expected %s%s", t->name, have, want,
                   turned ? ": it is transposed, GPT-2 keeps its matrices [in,out]" : "");
}

static int check_tensor(const struct found *f, const struct param_tensor *t)
{
    if (f == NULL)
        return err_set(ERR_MISSING, "tensor %s is missing%s", t->name,
                       strcmp(t->name, "lm_head.weight") == 0
                           ? ", and config.json says tie_word_embeddings false"
                           : "");
    int rc = check_shape(f->entry, t);
    if (rc == 0 && f->entry->dtype == TENSOR_OTHER)
        rc = err_set(ERR_UNSUPPORTED, "tensor %s is %s, must be F32, F16 or BF16", t->name,
                     f->entry->dtype_name);
    return rc;
}

static int read_place(void *user, void *dst, uint64_t first, size_t n)
{
    const struct place *p = user;
    size_t each = (size_t)p->element_bytes;
    return file_read_at(p->file, dst, p->at + first * each, n * each);
}

static int make_readers(struct source *s, struct state *st)
{
    static const enum dtype dtypes[] = {
        [TENSOR_F32] = DTYPE_F32, [TENSOR_F16] = DTYPE_F16, [TENSOR_BF16] = DTYPE_BF16};
    size_t n = (size_t)s->table.n_tensors;
    if ((st->places = mem_array(n, sizeof *st->places)) == NULL ||
        (s->readers = mem_array(n, sizeof *s->readers)) == NULL)
        return ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        struct found *f = find(st, s->table.tensors[i].name);
        int rc = check_tensor(f, &s->table.tensors[i]);
        if (rc != 0)
            return rc;
        f->used = true;
        st->places[i] = (struct place){
            .file = &f->in->file, .at = f->entry->offset, .element_bytes = f->entry->element_bytes};
        s->readers[i] = (struct tensor_reader){
            .read = read_place, .user = &st->places[i], .dtype = dtypes[f->entry->dtype]};
    }
    s->dtype = s->readers[0].dtype; /* wte.weight comes first */
    return 0;
}

/* *same when both say the same, bit for bit. */
static int compare(bool *same, const struct found *a, const struct found *b)
{
    enum { PART = 1 << 18 };
    *same = a->entry->dtype == b->entry->dtype && a->entry->bytes == b->entry->bytes;
    if (!*same || (a->in == b->in && a->entry->offset == b->entry->offset))
        return 0;
    char *x = mem_alloc(PART), *y = mem_alloc(PART);
    int rc = x == NULL || y == NULL ? ERR_NOMEM : 0;
    for (uint64_t at = 0; at < a->entry->bytes && *same && rc == 0; at += PART) {
        size_t n = a->entry->bytes - at < PART ? (size_t)(a->entry->bytes - at) : PART;
        if ((rc = file_read_at(&a->in->file, x, a->entry->offset + at, n)) == 0 &&
            (rc = file_read_at(&b->in->file, y, b->entry->offset + at, n)) == 0)
            *same = memcmp(x, y, n) == 0;
    }
    mem_free(x);
    mem_free(y);
    return rc;
}

/* Tensors that are none of the model's: notes where that may surprise. */
static int note_extras(const struct source *s, const struct state *st, const struct progress *p)
{
    const struct found *head = find(st, "lm_head.weight");
    if (head != NULL && s->config.tie_word_embeddings) {
        bool same;
        int rc = compare(&same, head, find(st, "wte.weight"));
        if (rc != 0)
            return rc;
        if (!same)
            progress_note(p, "lm_head.weight differs from wte.weight though config.json ties them: "
                             "wte.weight is used for both");
    }
    size_t n = 0;
    const char *first = NULL;
    for (size_t i = 0; i < st->n_found; i++) {
        const char *name = st->found[i].name;
        if (st->found[i].used || names_mask_buffer(name) || strcmp(name, "lm_head.weight") == 0)
            continue;
        first = n++ == 0 ? name : first;
    }
    char shown[SHOWN];
    if (n > 0)
        progress_note(p, "%zu tensor%s no part of a GPT-2 with %d layers and left out: %s%s", n,
                      n == 1 ? " is" : "s are", s->config.n_layer,
                      file_show(shown, sizeof shown, first), n == 1 ? "" : ", ...");
    return 0;
}

static int read_weights(struct source *s, struct state *st, const struct progress *p)
{
    int rc = open_files(st, &s->stamp);
    if (rc != 0)
        return rc;
    rc = list_tensors(st);
    /* A layer count beyond the tensors there are must not size the table. */
    if (rc == 0 && (uint64_t)s->config.n_layer > st->n_found)
        rc = err_set(ERR_MISMATCH, "config.json says n_layer %d, the weights are %zu tensors",
                     s->config.n_layer, st->n_found);
    if (rc == 0)
        rc = params_describe(&s->table, &s->config);
    if (rc == 0)
        rc = make_readers(s, st);
    if (rc == 0)
        rc = note_extras(s, st, p);
    return rc == 0 ? 0 : file_wrap(st->n_files == 1 ? st->paths[0] : st->folder);
}

/* ---- all of it ---- */

/* For people: the folder's own name, or the file's where it is not one of the usual. */
static int make_name(struct source *s, const char *path, const char *folder)
{
    static const char *const usual[] = {"model.safetensors", "pytorch_model.bin"};
    const char *of = path, *file = last_part(path);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strncmp(file, usual[i], strlen(usual[i])) == 0)
            of = folder;
    char real[PATH_MAX];
    s->name = mem_strdup(last_part(realpath(of, real) == NULL ? of : real));
    return s->name == NULL ? ERR_NOMEM : 0;
}

/* The text of a small file of the folder; *found false where there is none. */
static int read_small(struct buf *out, bool *found, const char *folder, const char *name)
{
    char *path = file_join(folder, name);
    *found = path != NULL && file_exists(path);
    int rc = path == NULL ? ERR_NOMEM : !*found ? 0 : file_read_all(out, path, MAX_DEFAULTS);
    mem_free(path);
    return rc;
}

/* Our own file says all, or else Hugging Face's, which is no reason to refuse a model. */
static int read_defaults(struct source *s, const char *folder, const struct progress *p)
{
    struct buf text = {0}, ours = {0};
    bool found;
    s->defaults_file = "prattle.yaml";
    int rc = read_small(&ours, &found, folder, s->defaults_file);
    if (rc == 0 && !found) {
        s->defaults_file = "generation_config.json";
        rc = read_small(&text, &found, folder, s->defaults_file);
        if (rc == 0 && found)
            rc = generation_config_parse(&ours, buf_text(&text), text.n, &s->config, p);
        if (rc != 0 && rc != ERR_NOMEM && rc != ERR_INTERRUPTED) {
            progress_note(p, "generation_config.json is left out: %s", err_text());
            rc = 0;
        }
    }
    if (rc == 0 && !found) {
        s->defaults_file = "config.json";
        rc = read_small(&text, &found, folder, s->defaults_file);
        if (rc == 0 && found)
            rc = generation_config_stop_tokens(&ours, buf_text(&text), text.n, &s->config, p);
    }
    if (rc == 0 && ours.n > 0 && (s->defaults = mem_strdup(buf_text(&ours))) == NULL)
        rc = ERR_NOMEM;
    buf_release(&text);
    buf_release(&ours);
    return rc;
}

static int read_config(struct source *s, const struct state *st)
{
    char *path = file_join(st->folder, "config.json");
    if (path == NULL)
        return ERR_NOMEM;
    int rc;
    if (st->n_files == 0 && !file_exists(path)) {
        config_init(&s->config);
        rc = 0;
    } else if ((rc = hf_config_read(&s->config, path)) == ERR_MISSING) {
        rc = err_set(rc, "%s; it says the shape of the model", err_text());
    }
    mem_free(path);
    return rc;
}

static int read_all(struct source *s, const char *path, bool need_weights, const struct progress *p)
{
    struct state *st = s->format;
    bool is_folder = file_is_folder(path);
    const char *last = last_part(path);
    int n = (int)(last - path);
    st->folder = is_folder ? mem_strdup(path)
                 : n == 0  ? mem_strdup(".")
                           : mem_sprintf("%.*s", n == 1 ? 1 : n - 1, path);
    if (st->folder == NULL)
        return ERR_NOMEM;
    int rc = is_folder                     ? choose_files(st, need_weights)
             : text_ends_in(path, ".json") ? read_index(st, path)
                                           : add_path(st, mem_strdup(path));
    if (rc == 0)
        rc = make_name(s, path, st->folder);
    if (rc == 0)
        rc = read_config(s, st);
    if (rc == 0)
        rc = read_defaults(s, st->folder, p);
    if (rc == 0 && st->n_files > 0)
        rc = read_weights(s, st, p);
    if (rc != 0)
        return rc;
    const struct config *c = st->n_files > 0 ? &s->config : NULL;
    if ((rc = vocab_open_folder(&s->tokenizer, st->folder, c, p)) != 0 || c != NULL)
        return rc;
    if (s->tokenizer == NULL) {
        char shown[256];
        return err_set(ERR_MISSING, "%s has neither weights nor a tokenizer",
                       file_show(shown, sizeof shown, st->folder));
    }
    return 0;
}

int source_open_hf(struct source *s, const char *path, bool need_weights, const struct progress *p)
{
    struct state *st = mem_alloc(sizeof *st);
    if (st == NULL)
        return ERR_NOMEM;
    *s = (struct source){.format = st, .close = close_state};
    int rc = read_all(s, path, need_weights, p);
    if (rc != 0)
        source_close(s);
    return rc;
}
