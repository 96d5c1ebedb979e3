#include "weights/load.h"

#include "model/adapter_switch.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/adapter_base.h"
#include "weights/hf/adapter_file.h"
#include "weights/hf/source_adapter.h"
#include "weights/model_source.h"
#include "weights/open.h"

#include <inttypes.h>
#include <string.h>

static int fill(struct model *m, struct source *s, const struct progress *p)
{
    struct params *to = &m->params;
    uint64_t *bad = mem_array((size_t)to->n_tensors, sizeof *bad), n_bad = 0;
    if (bad == NULL)
        return ERR_NOMEM;
    int rc = params_fill(to->tensors, s->readers, to->n_tensors, bad, p);
    const struct param_tensor *first_bad = NULL;
    for (int i = to->n_tensors - 1; i >= 0 && rc == 0; i--)
        if (bad[i] > 0) {
            first_bad = &to->tensors[i];
            n_bad += bad[i];
        }
    mem_free(bad);
    if (rc != 0)
        return rc;
    if (first_bad != NULL)
        progress_note(p,
                      "%" PRIu64 " weight%s NaN or infinite%s, the first in %s: what the model "
                      "says may be nonsense",
                      n_bad, n_bad == 1 ? " is" : "s are",
                      m->params.dtype == DTYPE_F16 && s->dtype != DTYPE_F16
                          ? " (or beyond fp16's 65504; --dtype fp32 keeps those)"
                          : "",
                      first_bad->name);
    uint64_t total = config_params(&m->params.config);
    return progress_step(p, "loading", total, total);
}

static int build(struct model *m, struct source *s, const char *path, const struct load_config *c,
                 const struct progress *p)
{
    /* A random model's name has its seed: the source is named so that it comes again. */
    const char *again = strncmp(path, "random:", 7) == 0 ? s->name : path;
    if ((m->source = mem_strdup(again)) == NULL)
        return ERR_NOMEM;
    int rc = params_init(&m->params, &s->config, c->dtype);
    if (rc == 0)
        rc = fill(m, s, p);
    if (rc != 0)
        return rc;
    m->config = m->params.config;
    m->file_dtype = s->dtype;
    m->source_stamp = s->stamp;
    m->version = 1;
    m->name = s->name;
    m->tokenizer = s->tokenizer;
    m->defaults = s->defaults;
    m->defaults_file = s->defaults_file;
    s->name = s->defaults = NULL;
    s->tokenizer = NULL;
    return 0;
}

static int load_plain(struct model **out, const char *path, const struct load_config *c,
                      const struct progress *p)
{
    struct source s;
    int rc = source_open(&s, path, c->seed, true, p);
    if (rc != 0)
        return rc;
    struct model *m = mem_alloc(sizeof *m);
    rc = m == NULL ? ERR_NOMEM : build(m, &s, path, c, p);
    source_close(&s);
    if (rc == 0)
        *out = m;
    else
        model_free(m);
    return rc;
}

/* ---- an adapter beside it ---- */

static void note_bad(const struct adapter *a, enum dtype dtype, const uint64_t *bad,
                     const struct progress *p)
{
    char name[64];
    for (int i = 0; i < a->n_terms; i++)
        if (bad[i] > 0) {
            progress_note(p,
                          "with the adapter %" PRIu64 " weights of %s are NaN or infinite%s: "
                          "what the model says may be nonsense",
                          bad[i], adapter_term_name(name, &a->terms[i]),
                          dtype == DTYPE_F16 ? " (or beyond fp16's 65504; --dtype fp32 keeps those)"
                                             : "");
            return;
        }
}

/* Fill the other form of each matrix from the source, the adapter merged in. */
static int fill_others(struct adapter *a, const struct model *m, const struct source *s,
                       const struct progress *p)
{
    const size_t n = (size_t)a->n_terms;
    struct param_tensor *to = mem_array(n, sizeof *to);
    struct linear *linears = mem_array(n, sizeof *linears);
    struct tensor_reader *readers = mem_array(n, sizeof *readers);
    uint64_t *bad = mem_array(n, sizeof *bad);
    int rc = to == NULL || linears == NULL || readers == NULL || bad == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < a->n_terms && rc == 0; i++) {
        int at = source_find_matrix(s, &a->terms[i]);
        if (at < 0) {
            rc = at;
            break;
        }
        linears[i] = adapter_other(a, m, i);
        to[i] = s->table.tensors[at];
        to[i].linear = &linears[i];
        readers[i] = s->readers[at];
    }
    if (rc == 0 && (rc = params_fill(to, readers, a->n_terms, bad, p)) == 0)
        note_bad(a, m->params.dtype, bad, p);
    mem_free(to);
    mem_free(linears);
    mem_free(readers);
    mem_free(bad);
    return rc;
}

int adapter_load(struct adapter *a, struct model *m, const struct progress *p)
{
    struct source s;
    const bool was_on = m->adapter != NULL && m->adapter->on;
    int rc = adapter_make_room(a, m);
    if (rc != 0)
        return rc;
    /* Memory serves as a base only while nothing is merged into it. */
    adapter_switch(m, false);
    if ((rc = source_of_model(&s, m, p)) == 0) {
        if ((rc = source_adapt(&s, a, false)) == 0)
            rc = fill_others(a, m, &s, p);
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

/* The base it names, and the adapter beside it. */
static int load_adapted(struct model **out, const char *path, const struct load_config *c,
                        const struct progress *p)
{
    struct model *m = NULL;
    struct adapter *a = NULL;
    char *base = NULL;
    int rc = adapter_base(&base, path);
    if (rc == 0 && (rc = load_plain(&m, base, c, p)) == 0 &&
        (rc = adapter_read(&a, path, &m->config)) == 0)
        rc = adapter_load(a, m, p);
    mem_free(base);
    if (rc == 0) {
        *out = m;
        return 0;
    }
    adapter_free(a);
    model_free(m);
    return rc;
}

int model_load(struct model **out, const char *path, const struct load_config *c,
               const struct progress *p)
{
    char *expanded = file_expand(path);
    if (expanded == NULL)
        return ERR_NOMEM;
    int rc = adapter_is_folder(expanded) ? load_adapted(out, expanded, c, p)
                                         : load_plain(out, path, c, p);
    mem_free(expanded);
    return rc;
}
