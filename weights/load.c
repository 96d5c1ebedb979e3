#include "weights/load.h"

#include "model/adapter_switch.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/adapter_base.h"
#include "weights/bundled/bundled.h"
#include "weights/find.h"
#include "weights/gguf/gguf_table.h"
#include "weights/hf/adapter_file.h"
#include "weights/hf/source_adapter.h"
#include "weights/hf/source_hf.h"
#include "weights/model_source.h"
#include "weights/not_finite.h"
#include "weights/open.h"
#include "weights/tensors/weights_sample.h"

#include <string.h>

enum dtype load_dtype(const struct source *s, enum dtype asked)
{
    return asked != LOAD_DTYPE_AUTO ? asked : source_is_q8(s) ? DTYPE_Q8 : DTYPE_F16;
}

/* *clean: no weight is NaN or infinite. */
static int fill_params(bool *clean, struct model *m, struct source *s, const struct progress *p)
{
    struct params *to = &m->params;
    uint64_t *bad = mem_array((size_t)to->n_tensors, sizeof *bad);
    if (bad == NULL)
        return ERR_NOMEM;
    int rc = params_fill(to->tensors, s->readers, to->n_tensors, bad, p);
    struct not_finite found = {0};
    if (rc == 0)
        not_finite_add(&found, to->tensors, bad, to->n_tensors);
    mem_free(bad);
    not_finite_note(&found, to->dtype, s, p);
    *clean = rc == 0 && found.n == 0;
    return rc;
}

/* The matrices that Q8_0 cannot hold. */
static void note_uneven(const struct params *params, const struct progress *p)
{
    const struct param_tensor *first = NULL;
    int n = 0, of = 0;
    for (int i = params->n_tensors - 1; i >= 0; i--) {
        const struct param_tensor *t = &params->tensors[i];
        of += t->linear != NULL;
        if (t->linear == NULL || t->linear->dtype == DTYPE_Q8)
            continue;
        first = t;
        n++;
    }
    if (n > 0)
        progress_note(
            p,
            "%d of %d matrices stay fp16, the first %s: its %d inputs are not a multiple of "
            "q8's %d",
            n, of, first->name, first->linear->K, Q8_BLOCK);
}

/* From the panel cache if they are there. Weights that get a note are never kept: each load has it.
 */
static int load_params(struct model *m, struct source *s, const struct panel_cache *cache,
                       const struct progress *p)
{
    char key[SHA256_HEX];
    bool found, clean = false;
    int rc = panel_cache_find(&found, key, &m->params, s, cache, p);
    if (rc == 0 && !found && (rc = fill_params(&clean, m, s, p)) == 0 && clean)
        panel_cache_keep(key, &m->params, s, cache);
    uint64_t total = config_params(&m->params.config);
    return rc == 0 ? progress_step(p, "loading", total, total) : rc;
}

/* In memory where it fits. */
static int place_params(struct model *m, struct model_files *f, enum dtype dtype,
                        const struct progress *p)
{
    struct layer_stream_plan plan = {0};
    int rc = f->memory.phased == PHASED_OFF ? params_init(&m->params, &f->source.config, dtype)
                                            : params_reserve(&m->params, &f->source.config, dtype);
    if (rc == 0 && f->memory.phased != PHASED_OFF)
        rc = panel_stream_plan(&plan, &m->params, &f->memory);
    if (rc == 0)
        rc = plan.streams ? panel_stream_load(&m->params, &plan, &f->source, &f->cache, p)
                          : load_params(m, &f->source, &f->cache, p);
    return rc;
}

static int build_model(struct model *m, struct model_files *f, enum dtype dtype,
                       const struct progress *p)
{
    struct source *s = &f->source;
    /* A random model's name has its seed, so that the source gives the same weights again. */
    const char *source = strncmp(f->path, "random:", 7) == 0 ? s->name : f->path;
    if ((m->source = mem_strdup(source)) == NULL)
        return ERR_NOMEM;
    dtype = load_dtype(s, dtype);
    int rc = place_params(m, f, dtype, p);
    if (rc == 0 && dtype == DTYPE_Q8)
        note_uneven(&m->params, p);
    if (rc != 0)
        return rc;
    m->config = m->params.config;
    source_types(m->file_types, s, SOURCE_TYPES_ALL);
    m->source_stamp = s->stamp;
    m->version = 1;
    /* Another that goes by the name of the model that ships is a copy of it at best. */
    if (bundled_is_name(s->name) && !bundled_is_name(f->path)) {
        mem_free(s->name);
        if ((s->name = gguf_file_title(f->path)) == NULL)
            return ERR_NOMEM;
    }
    m->name = s->name;
    m->tokenizer = s->tokenizer;
    m->defaults = s->defaults;
    m->defaults_file = s->defaults_file;
    s->name = s->defaults = NULL;
    s->tokenizer = NULL;
    m->kept = s->kept;
    s->kept = (struct kept_files){0};
    return 0;
}

/*
 * ---- attaching an adapter ----
 *
 * Both forms of the adapted matrices are in memory (model/adapter_switch.h). The adapted form is
 * read anew through the source's readers with the adapter merged in, so that it is rounded once,
 * from the file's precision:
 *
 *     adapter_reserve    memory for the second form
 *     adapter_switch     off, so that the model in memory can be the base
 *     merge_source       source -> readers that add the branch -> the second form
 *     adapter_attach     the model owns the adapter; then it is switched on
 */

/* Fill the other form of each matrix from the source, the adapter merged in. */
static int fill_merged(struct adapter *a, const struct model *m, const struct source *s,
                       const struct progress *p)
{
    const size_t n = (size_t)a->n_branches;
    struct param_tensor *to = mem_array(n, sizeof *to);
    struct linear *linears = mem_array(n, sizeof *linears);
    struct tensor_reader *readers = mem_array(n, sizeof *readers);
    uint64_t *bad = mem_array(n, sizeof *bad);
    int rc = to == NULL || linears == NULL || readers == NULL || bad == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < a->n_branches && rc == 0; i++) {
        int at = source_find_matrix(s, &a->branches[i]);
        if (at < 0) {
            rc = at;
            break;
        }
        linears[i] = adapter_alternate(a, m, i);
        to[i] = s->table.tensors[at];
        to[i].linear = &linears[i];
        readers[i] = s->readers[at];
    }
    /* Weights that are bad without the adapter were noted when the model was loaded. */
    if (rc == 0)
        rc = params_fill(to, readers, a->n_branches, bad, p);
    mem_free(to);
    mem_free(linears);
    mem_free(readers);
    mem_free(bad);
    return rc;
}

/* The same, with the adapter merged into s only meanwhile. */
static int merge_source(struct adapter *a, const struct model *m, struct source *s,
                        const struct progress *p)
{
    int rc = weights_sample_check(a, s, m->name, p);
    if (rc != 0 || (rc = source_adapt_sums(s, a, m->params.dtype)) != 0)
        return rc;
    rc = fill_merged(a, m, s, p);
    source_unadapt(s);
    return rc;
}

/* open: m's source if it is open; else NULL. */
static int load_adapter(struct adapter *a, struct model *m, struct source *open,
                        const struct progress *p)
{
    struct source s;
    const bool was_on = m->adapter != NULL && m->adapter->on;
    int rc = adapter_reserve(a, m);
    if (rc != 0)
        return rc;
    /* Memory serves as a base only while nothing is merged into it. */
    adapter_switch(m, false);
    if (open != NULL) {
        rc = merge_source(a, m, open, p);
    } else if ((rc = source_of_model(&s, m, p)) == 0) {
        rc = merge_source(a, m, &s, p);
        source_close(&s);
    }
    if (rc == 0) {
        adapter_attach(a, m);
        adapter_switch(m, true);
    } else {
        adapter_switch(m, was_on);
    }
    return rc;
}

int adapter_load(struct adapter *a, struct model *m, const struct progress *p)
{
    return load_adapter(a, m, NULL, p);
}

/* The base at f->path, and the adapter. */
static int open_both(struct model_files *f, const struct adapter_folder *folder, uint64_t seed,
                     const struct progress *p)
{
    int rc = source_open(&f->source, f->path, seed, true, p);
    if (rc == 0)
        rc = adapter_settings(&f->source, folder);
    return rc == 0 ? adapter_read_open(&f->adapter, folder, &f->source.config) : rc;
}

/* Open an adapter's folder: the base that it names, and the adapter. */
static int open_adapted(struct model_files *f, const char *path, uint64_t seed,
                        const struct progress *p)
{
    struct adapter_folder folder;
    int rc = adapter_open(&folder, path, NULL);
    if (rc == 0 && (rc = adapter_base(&f->path, &folder, p)) == 0)
        rc = open_both(f, &folder, seed, p);
    adapter_close(&folder);
    return rc;
}

static int open_resumed(struct model_files *f, const char *path, const struct file_set *open,
                        const char *base, const struct progress *p)
{
    struct adapter_folder folder;
    int rc = adapter_open(&folder, path, open);
    if (rc == 0 && (rc = adapter_base_resumed(&f->path, &folder, base, p)) == 0)
        rc = open_both(f, &folder, 0, p);
    adapter_close(&folder);
    return rc;
}

/* Names that source_open gives a meaning of their own are left as they are. */
static int find_files(char **out, char **title, const char *path, const struct progress *p)
{
    *title = NULL;
    if (strncmp(path, "random:", 7) != 0 && !bundled_is_name(path))
        return weights_find(out, title, path, p);
    return (*out = mem_strdup(path)) == NULL ? ERR_NOMEM : 0;
}

int model_files_open(struct model_files *f, const char *path, uint64_t seed,
                     const struct progress *p)
{
    char *found;
    *f = (struct model_files){0};
    int rc = find_files(&found, &f->checkpoint, path, p);
    if (rc == 0 && adapter_is_folder(found)) {
        rc = open_adapted(f, found, seed, p);
        mem_free(found);
    } else if (rc == 0) {
        f->path = found;
        rc = source_open(&f->source, found, seed, true, p);
    }
    if (rc != 0)
        model_files_close(f);
    return rc;
}

int model_files_open_folder(struct model_files *f, const char *path, const struct file_set *open,
                            const char *base, const struct progress *p)
{
    int rc;
    *f = (struct model_files){0};
    if (file_set_find(open, "adapter_config.json") != NULL)
        rc = open_resumed(f, path, open, base, p);
    else if ((f->path = mem_strdup(path)) == NULL)
        rc = ERR_NOMEM;
    else
        rc = source_open_hf_files(&f->source, path, open, p);
    if (rc != 0)
        model_files_close(f);
    return rc;
}

void model_files_close(struct model_files *f)
{
    source_close(&f->source);
    adapter_free(f->adapter);
    mem_free(f->path);
    mem_free(f->checkpoint);
    *f = (struct model_files){0};
}

int model_read(struct model **out, struct model_files *f, enum dtype dtype,
               const struct progress *p)
{
    struct model *m = mem_alloc(sizeof *m);
    int rc = m == NULL ? ERR_NOMEM : build_model(m, f, dtype, p);
    if (rc == 0 && f->adapter != NULL && (rc = load_adapter(f->adapter, m, &f->source, p)) == 0)
        f->adapter = NULL; /* the model's */
    if (rc == 0 && f->checkpoint != NULL) {
        mem_free(m->name);
        m->name = f->checkpoint;
        f->checkpoint = NULL;
    }
    if (rc == 0)
        *out = m;
    else
        model_free(m);
    return rc;
}

int model_load(struct model **out, const char *path, const struct load_config *c,
               const struct progress *p)
{
    struct model_files f;
    int rc = model_files_open(&f, path, c->seed, p);
    if (rc == 0 && c->says_checkpoint && f.checkpoint != NULL)
        progress_note(p, "%s", f.checkpoint);
    f.cache = c->cache;
    f.memory = c->memory;
    if (rc == 0)
        rc = model_read(out, &f, c->dtype, p);
    model_files_close(&f);
    return rc;
}
