#include "weights/load.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <inttypes.h>
#include <string.h>

/* Every tensor in turn, each by all threads. */
static int fill(struct model *m, struct source *s, const struct progress *p)
{
    const struct param_tensor *first_bad = NULL;
    uint64_t n_bad = 0, done = 0, total = config_params(&s->config);
    for (int i = 0; i < m->params.n_tensors; i++) {
        struct param_tensor *t = &m->params.tensors[i];
        uint64_t bad;
        int rc = progress_step(p, "loading", done, total);
        if (rc == 0 && (rc = params_fill(&m->params, t, &s->readers[i], &bad)) != 0)
            rc = err_wrap("cannot load tensor %s", t->name);
        if (rc != 0)
            return rc;
        if (bad > 0 && first_bad == NULL)
            first_bad = t;
        n_bad += bad;
        done += (uint64_t)t->rows * (uint64_t)t->cols;
    }
    if (first_bad != NULL)
        progress_note(p,
                      "%" PRIu64 " weight%s NaN or infinite%s, the first in %s: what the model "
                      "says may be nonsense",
                      n_bad, n_bad == 1 ? " is" : "s are",
                      m->params.kind == LINEAR_F16 && s->dtype != DTYPE_F16
                          ? " (or beyond fp16's 65504; --dtype fp32 keeps those)"
                          : "",
                      first_bad->name);
    return progress_step(p, "loading", total, total);
}

static int build(struct model *m, struct source *s, const char *path, const struct load_config *c,
                 const struct progress *p)
{
    /* A random model's name has its seed: the source is named so that it comes again. */
    const char *again = strncmp(path, "random:", 7) == 0 ? s->name : path;
    if ((m->source = mem_strdup(again)) == NULL)
        return ERR_NOMEM;
    int rc = params_init(&m->params, &s->config, c->kind);
    if (rc == 0)
        rc = fill(m, s, p);
    if (rc != 0)
        return rc;
    m->config = m->params.config;
    m->file_dtype = s->dtype;
    m->version = 1;
    m->name = s->name;
    m->tokenizer = s->tokenizer;
    m->defaults = s->defaults;
    s->name = s->defaults = NULL;
    s->tokenizer = NULL;
    return 0;
}

int model_load(struct model **out, const char *path, const struct load_config *c,
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
