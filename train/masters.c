#include "train/masters.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"

#include <inttypes.h>
#include <string.h>

/* ---- where everything lies ---- */

/* The next tensor of the table. */
static float *vector(struct masters *w, int *i)
{
    struct param_tensor *t = &w->view.tensors[*i];
    return t->data = w->data + w->offset[(*i)++];
}

static struct linear matrix(struct masters *w, int *i)
{
    const struct param_tensor *t = &w->view.tensors[*i];
    struct linear l = {.panels = vector(w, i)};
    bool turned = t->kind == PARAM_EMBEDDING;
    l.kind = turned ? LINEAR_MASTER_T : LINEAR_MASTER;
    l.K = turned ? t->cols : t->rows;
    l.N = turned ? t->rows : t->cols;
    return l;
}

static struct linear conv1d(struct masters *w, int *i)
{
    struct linear l = matrix(w, i);
    l.bias = vector(w, i);
    return l;
}

/* Everything in the order of the table (model/params.c). */
static void place(struct masters *w)
{
    struct params *p = &w->view;
    int i = 0;
    p->wte = matrix(w, &i);
    p->wpe = vector(w, &i);
    for (int n = 0; n < p->config.n_layer; n++) {
        struct layer *l = &p->layers[n];
        l->ln_1_weight = vector(w, &i);
        l->ln_1_bias = vector(w, &i);
        l->c_attn = conv1d(w, &i);
        l->attn_proj = conv1d(w, &i);
        l->ln_2_weight = vector(w, &i);
        l->ln_2_bias = vector(w, &i);
        l->c_fc = conv1d(w, &i);
        l->mlp_proj = conv1d(w, &i);
    }
    p->ln_f_weight = vector(w, &i);
    p->ln_f_bias = vector(w, &i);
    p->lm_head = p->config.tie_word_embeddings ? p->wte : matrix(w, &i);
}

static int allocate(struct masters *w, const struct config *c)
{
    struct params *p = &w->view;
    int rc = params_describe(p, c);
    if (rc != 0)
        return rc;
    p->kind = LINEAR_MASTER;
    p->layers = mem_array((size_t)c->n_layer, sizeof *p->layers);
    w->offset = mem_array((size_t)p->n_tensors + 1, sizeof *w->offset);
    if (p->layers == NULL || w->offset == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < p->n_tensors; i++)
        w->offset[i + 1] = w->offset[i] + (size_t)p->tensors[i].rows * (size_t)p->tensors[i].cols;
    w->n = w->offset[p->n_tensors];
    p->block_bytes = w->n * sizeof *w->data;
    p->block = w->data = mem_map(p->block_bytes);
    if (w->data == NULL)
        return ERR_NOMEM;
    place(w);
    return 0;
}

/* ---- from the model ---- */

/* The source as it is now against the model that was loaded from it. */
static int check_same(const struct source *s, const struct masters *w)
{
    const struct params *a = &w->view, *b = &s->table;
    bool same = a->n_tensors == b->n_tensors;
    for (int i = 0; same && i < a->n_tensors; i++)
        same = a->tensors[i].rows == b->tensors[i].rows && a->tensors[i].cols == b->tensors[i].cols;
    return same ? 0
                : err_set(ERR_MISMATCH, "it has other shapes than the model in memory: it was "
                                        "replaced since, :load it again");
}

static int fill(struct masters *w, const struct source *s, const struct progress *p)
{
    struct params *to = &w->view;
    uint64_t *bad = mem_array((size_t)to->n_tensors, sizeof *bad);
    if (bad == NULL)
        return ERR_NOMEM;
    int rc = params_fill(to->tensors, s->readers, to->n_tensors, bad, p);
    for (int i = 0; i < to->n_tensors && rc == 0; i++)
        if (bad[i] > 0)
            rc = err_set(ERR_RANGE, "tensor %s: %" PRIu64 " of %zu weights are NaN or infinite",
                         to->tensors[i].name, bad[i], masters_size(w, i));
    mem_free(bad);
    return rc;
}

/* Memory serves where it has all the file has: panels of fp32. */
static int read_weights(struct masters *w, const struct model *m, const struct progress *p)
{
    bool memory = m->changed || m->source == NULL || m->params.kind == LINEAR_F32;
    if (memory && m->params.kind == LINEAR_F16)
        progress_note(p, "the weights in memory are fp16 and no file has them: training starts "
                         "from those");
    struct source s;
    int rc = memory ? source_open_model(&s, m) : source_open(&s, m->source, 0, true, NULL);
    if (rc == 0) {
        rc = check_same(&s, w);
        if (rc == 0)
            rc = fill(w, &s, p);
        source_close(&s);
    }
    if (rc != 0 && rc != ERR_INTERRUPTED)
        rc = err_wrap("cannot read the weights to train%s%s", memory ? "" : " from ",
                      memory ? "" : m->source);
    return rc;
}

int masters_init(struct masters *w, const struct model *m, const struct progress *p)
{
    *w = (struct masters){0};
    int rc = allocate(w, &m->config);
    if (rc == 0)
        rc = read_weights(w, m, p);
    if (rc != 0)
        masters_release(w);
    return rc;
}

void masters_release(struct masters *w)
{
    if (w == NULL)
        return;
    params_release(&w->view);
    mem_free(w->offset);
    *w = (struct masters){0};
}

/* ---- to the model ---- */

struct publish {
    const struct masters *from;
    struct params *to;
};

/* Rows first..last-1 of tensor i; a Conv1D some rows at a time, whose panels then stay
 * in the cache until they are full. */
static void put(const struct publish *j, int i, int first, int last)
{
    enum { ROWS = 16 };
    const struct param_tensor *t = &j->to->tensors[i];
    const size_t cols = (size_t)t->cols;
    const float *src = j->from->data + j->from->offset[i];
    if (t->linear == NULL)
        memcpy(t->data + (size_t)first * cols, src + (size_t)first * cols,
               (size_t)(last - first) * cols * sizeof *src);
    else if (t->kind == PARAM_EMBEDDING)
        linear_fill_out_major(t->linear, src + (size_t)first * cols, LINEAR_F32, first,
                              last - first);
    else
        for (int row = first; row < last; row += ROWS)
            linear_fill_in_major(t->linear, src + (size_t)row * cols, LINEAR_F32, row,
                                 last - row < ROWS ? last - row : ROWS);
}

static void publish_share(void *arg, int thread, int n_threads)
{
    const struct publish *j = arg;
    for (int i = 0; i < j->to->n_tensors; i++) {
        /* Whole panels of the embedding: its rows are columns of panels. */
        int first, last, rows = j->to->tensors[i].rows;
        par_split((rows + PANEL - 1) / PANEL, thread, n_threads, &first, &last);
        first *= PANEL;
        last = last * PANEL < rows ? last * PANEL : rows;
        if (first < last)
            put(j, i, first, last);
    }
}

void masters_publish(const struct masters *w, struct model *m)
{
    struct publish j = {.from = w, .to = &m->params};
    par_run(publish_share, &j);
    m->version++;
    m->changed = true;
}

int masters_source(struct source *s, const struct masters *w, const struct model *m)
{
    return source_open_params(s, &w->view, m);
}
