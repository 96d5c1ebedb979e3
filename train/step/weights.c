/*
 * The block has all tensors in schema order: [outside][layer 0]...[layer L-1][outside]. A window
 * has the same order with one layer instead of L: offsets before the layers are the same, those
 * after them shift by L - 1 layers, and those in any layer map to layer 0. In float32 the window is
 * the block itself. In float16 the view's layers all point to the window's one layer, which holds
 * the layer that weights_load_window loaded last.
 */
#include "train/step/weights.h"

#include "model/adapter_switch.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/kernels/row_kernels.h"
#include "model/schema.h"
#include "train/step/weights_disk.h"

#include <string.h>

/* ---- the block and the window ---- */

/* The span of layer i; i == L: an imaginary layer after the last. */
static struct span layer_span(const struct weights *w, int i)
{
    const int begin = schema_first_of_layers(&w->view.config),
              each = schema_tensors_per_layer(&w->view.config);
    size_t first = w->offset[begin], n = w->offset[begin + each] - first;
    return (struct span){first + (size_t)i * n, n};
}

/* The offset in the window of element `at` of the block. */
static size_t in_window(const struct weights *w, size_t at)
{
    struct span l = layer_span(w, 0), end = layer_span(w, w->view.config.n_layer);
    if (w->dtype == DTYPE_F32 || at < l.first)
        return at;
    return at < end.first ? l.first + (at - l.first) % l.n : at - (end.first - l.first) + l.n;
}

/* Point tensor i of the table to the block, and its field in the view to the window. */
static void place_tensor(struct weights *w, int i)
{
    struct param_tensor *t = &w->view.tensors[i];
    const struct schema_tensor row = schema_tensor(&w->view.config, i);
    const size_t at = w->offset[i];
    float *seen = w->window + in_window(w, at);
    t->data = w->data == NULL ? NULL : w->data + at;
    t->half = w->half == NULL ? NULL : w->half + at;
    if (!schema_is_linear(row.row)) {
        schema_set_data(row, &w->view, seen);
        return;
    }
    const bool turned = t->kind == PARAM_EMBEDDING;
    *schema_linear(row, &w->view) = (struct linear){.layout = turned ? LINEAR_COLUMNS : LINEAR_ROWS,
                                                    .K = turned ? t->cols : t->rows,
                                                    .N = turned ? t->rows : t->cols,
                                                    .data = seen};
}

static void place_weights(struct weights *w)
{
    for (int i = 0; i < w->view.n_tensors; i++)
        place_tensor(w, i);
    if (w->view.config.tie_word_embeddings)
        w->view.lm_head = w->view.wte;
}

static int map_block(struct weights *w, const struct weights_place *place)
{
    struct params *p = &w->view;
    const size_t bytes = w->n * dtype_bytes(w->dtype);
    int rc = 0;
    void *block = NULL;
    if (place != NULL) {
        if ((w->disk = mem_alloc(sizeof *w->disk)) == NULL)
            return ERR_NOMEM;
        *w->disk = (struct weights_disk){
            .config = p->config, .n_tensors = p->n_tensors, .offset = w->offset, .dtype = w->dtype};
        if ((rc = weights_disk_open(w->disk, place)) == 0)
            block = disk_array_data(w->disk->block);
    } else if ((block = p->block = mem_map("training weights", bytes)) == NULL) {
        rc = ERR_NOMEM;
    }
    p->block_bytes = p->block == NULL ? 0 : bytes;
    if (w->dtype == DTYPE_F32)
        w->data = w->window = block;
    else
        w->half = block;
    return rc;
}

int weights_allocate(struct weights *w, const struct config *c, const struct weights_place *place)
{
    struct params *p = &w->view;
    int rc = params_describe(p, c);
    if (rc != 0)
        return rc;
    p->layout = LINEAR_ROWS;
    p->layers = mem_array((size_t)c->n_layer, sizeof *p->layers);
    w->offset = mem_array((size_t)p->n_tensors + 1, sizeof *w->offset);
    if (p->layers == NULL || w->offset == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < p->n_tensors; i++)
        w->offset[i + 1] = w->offset[i] + (size_t)p->tensors[i].rows * (size_t)p->tensors[i].cols;
    w->n = w->offset[p->n_tensors];
    w->n_window = weights_window(c, w->dtype);
    if ((rc = map_block(w, place)) != 0)
        return rc;
    if (w->window == NULL &&
        (w->window = mem_map("gradient window", w->n_window * sizeof *w->window)) == NULL)
        return ERR_NOMEM;
    place_weights(w);
    return 0;
}

/* As many floats as a model of one layer has parameters. */
size_t weights_window(const struct config *c, enum dtype dtype)
{
    struct config one = *c;
    if (dtype == DTYPE_F16)
        one.n_layer = 1;
    return (size_t)config_params(&one);
}

/* ---- a stage ---- */

/* Behind those there are, or joined to the last. */
static void add_span(struct spans *s, size_t first, size_t last)
{
    struct span *before = s->n > 0 ? &s->at[s->n - 1] : NULL;
    if (before != NULL && before->first + before->n == first)
        before->n = last - before->first;
    else
        s->at[s->n++] = (struct span){first, last - first};
}

struct spans weights_spans(const struct weights *w, const struct model_stage *stage)
{
    const size_t behind = layer_span(w, w->view.config.n_layer).first;
    struct spans out = {0};
    for (int i = 0; i < stage->n_chunks; i++) {
        const bool begins = stage->ends && i == 0;
        const size_t first = begins ? 0 : layer_span(w, stage->chunks[i].first).first;
        add_span(&out, first, layer_span(w, stage->chunks[i].last).first);
    }
    if (stage->ends)
        add_span(&out, behind, w->n);
    return out;
}

/* Part `own` of n. */
static struct span divide_span(const struct optimizer_layout *l, struct span s, int n, int own)
{
    const size_t last = s.first + s.n, begin = optimizer_layout_bound(l, s.first, last, n, own);
    return (struct span){begin, optimizer_layout_bound(l, s.first, last, n, own + 1) - begin};
}

struct spans weights_slices(const struct weights *w, const struct model_stage *stage,
                            const struct weights_slice *s)
{
    const struct optimizer_layout l = weights_layout(w);
    struct spans out = weights_spans(w, stage);
    for (int i = 0; i < out.n; i++) {
        const struct span part = divide_span(&l, out.at[i], s->replicas, s->replica);
        out.at[i] = divide_span(&l, part, s->n, s->own);
    }
    return out;
}

void weights_drop_others(struct weights *w)
{
    stage_drop_others(&w->own, w->view.block, w->n, dtype_bytes(w->dtype));
}

void weights_release(struct weights *w)
{
    if (w == NULL)
        return;
    if (w->window != w->data)
        mem_unmap(w->window, w->n_window * sizeof *w->window);
    weights_disk_close(w->disk);
    params_release(&w->view);
    mem_free(w->offset);
    *w = (struct weights){0};
}

/* ---- to the window and back ---- */

/* This thread's share of a span. */
static struct span share_of(struct span s, int thread, int n_threads)
{
    size_t first, count;
    par_split_units(s.n, 4096, thread, n_threads, &first, &count);
    return (struct span){s.first + first, count};
}

/* The span of a layer, or with layer -1 those before and after all layers. Returns how many. */
static int spans_of(const struct weights *w, struct span spans[2], int layer)
{
    if (layer >= 0) {
        spans[0] = layer_span(w, layer);
        return 1;
    }
    size_t end = layer_span(w, w->view.config.n_layer).first;
    spans[0] = (struct span){0, layer_span(w, 0).first};
    spans[1] = (struct span){end, w->n - end};
    return 2;
}

void weights_load_window(const struct weights *w, float *window, const void *block, int layer,
                         int thread, int n_threads)
{
    struct span spans[2];
    for (int i = 0, n = spans_of(w, spans, layer); i < n; i++) {
        struct span s = share_of(spans[i], thread, n_threads);
        row_kernels()->half_to_f32(window + in_window(w, s.first),
                                   (const uint16_t *)block + s.first, s.n);
    }
}

void weights_store_window(const struct weights *w, void *block, const float *window, int layer,
                          int thread, int n_threads)
{
    struct span spans[2];
    for (int i = 0, n = spans_of(w, spans, layer); i < n; i++) {
        struct span s = share_of(spans[i], thread, n_threads);
        row_kernels()->half_from_f32((uint16_t *)block + s.first, window + in_window(w, s.first),
                                     s.n);
    }
}

void weights_freeze(struct weights *w, const struct adapter *a)
{
    w->adapter = a;
    adapter_set_branches(a, &w->view);
}

struct weights weights_trainable(const struct weights *w)
{
    const struct adapter *a = w->adapter;
    if (a == NULL)
        return *w;
    return (struct weights){.view = {.tensors = a->tensors, .n_tensors = a->n_tensors},
                            .data = a->data,
                            .n = a->n,
                            .offset = a->offset};
}

/* ---- to the model ---- */

struct publish {
    const struct weights *from;
    struct params *to;
    int first, last; /* tensors first to last - 1 */
};

/* Rows first .. last - 1 of tensor i; of a Conv1D a few rows at a time, so that the panels written
 * stay in the cache until their lines are complete. */
static void publish_rows(const struct publish *j, int i, int first, int last)
{
    enum { ROWS = Q8_BLOCK };
    const struct param_tensor *t = &j->to->tensors[i];
    const size_t row_bytes = (size_t)t->cols * dtype_bytes(j->from->dtype);
    const char *src =
        (const char *)weights_block(j->from) + j->from->offset[i] * dtype_bytes(j->from->dtype);
    const enum dtype dtype = j->from->dtype;
    if (t->linear == NULL)
        params_read(&j->from->view.tensors[i], t->data + (size_t)first * (size_t)t->cols,
                    (uint64_t)first * (uint64_t)t->cols, (size_t)(last - first) * (size_t)t->cols);
    else if (t->kind == PARAM_EMBEDDING)
        linear_fill_out_major(t->linear, src + (size_t)first * row_bytes, dtype, first,
                              last - first);
    else
        for (int row = first; row < last; row += ROWS)
            linear_fill_in_major(t->linear, src + (size_t)row * row_bytes, dtype, row,
                                 last - row < ROWS ? last - row : ROWS);
}

static void publish_share(void *arg, int thread, int n_threads)
{
    const struct publish *j = arg;
    for (int i = j->first; i < j->last; i++) {
        /* Whole panels for each thread, since rows of an embedding are columns of panels. */
        int first, last, rows = j->to->tensors[i].rows;
        par_split((rows + PANEL - 1) / PANEL, thread, n_threads, &first, &last);
        first *= PANEL;
        last = last * PANEL < rows ? last * PANEL : rows;
        if (first < last)
            publish_rows(j, i, first, last);
    }
}

static int publish_tensors(void *user, int first, int last)
{
    struct publish *j = user;
    j->first = first;
    j->last = last;
    par_run(publish_share, j);
    return 0;
}

int weights_publish(const struct weights *w, struct model *m)
{
    struct publish j = {.from = w, .to = &m->params};
    int rc = w->disk == NULL ? publish_tensors(&j, 0, w->view.n_tensors)
                             : weights_disk_each(w->disk, false, publish_tensors, &j);
    m->version++;
    m->changed = true;
    return rc;
}

void weights_publish_each(const struct weights *w, struct model *m,
                          void (*bring)(void *user, int tensor), void *user)
{
    struct publish j = {.from = w, .to = &m->params};
    for (int i = 0; i < w->view.n_tensors; i++) {
        bring(user, i);
        publish_tensors(&j, i, i + 1);
    }
    m->version++;
    m->changed = true;
}

void weights_merge(const struct param_tensor *base, const struct low_rank *t, float *x,
                   uint64_t first, size_t n)
{
    params_read(base, x, first, n);
    adapter_add(t, x, false, first, n);
}

struct merge {
    const struct weights *from;
    const struct adapter *shown;
    const struct model *model;
};

/* Rows k .. k + 31 of an adapted matrix, or up to its last, in the panel that begins at col. */
static void merge_part(const struct param_tensor *base, const struct low_rank *t, struct linear *to,
                       int k, int col)
{
    float part[Q8_BLOCK][PANEL];
    const int n = t->N - col < PANEL ? t->N - col : PANEL;
    const int rows = t->K - k < Q8_BLOCK ? t->K - k : Q8_BLOCK;
    for (int i = 0; i < rows; i++)
        weights_merge(base, t, part[i], (uint64_t)(k + i) * (uint64_t)t->N + (uint64_t)col,
                      (size_t)n);
    linear_fill_part(to, (const float(*)[PANEL])part, k, rows, col, n);
}

/* Rows of each adapted matrix, as many as a block of Q8_0 has, PANEL columns at a time. */
static void merge_share(void *arg, int thread, int n_threads)
{
    const struct merge *j = arg;
    for (int i = 0; i < j->shown->n_branches; i++) {
        const struct low_rank *t = &j->shown->branches[i];
        const struct param_tensor *base = adapter_tensor(t, &j->from->view);
        struct linear to = adapter_alternate(j->shown, j->model, i);
        int first, last;
        par_split((t->K + Q8_BLOCK - 1) / Q8_BLOCK, thread, n_threads, &first, &last);
        for (int k = first * Q8_BLOCK; k < last * Q8_BLOCK && k < t->K; k += Q8_BLOCK)
            for (int col = 0; col < t->N; col += PANEL)
                merge_part(base, t, &to, k, col);
    }
}

void weights_publish_adapter(const struct weights *w, struct adapter *shown, struct model *m)
{
    memcpy(shown->data, w->adapter->data, shown->n * sizeof *shown->data);
    shown->changed = true;
    weights_show_adapter(w, shown, m);
}

void weights_show_adapter(const struct weights *w, struct adapter *shown, struct model *m)
{
    struct merge j = {.from = w, .shown = shown, .model = m};
    if (m->adapter != shown)
        adapter_attach(shown, m);
    adapter_switch(m, false);
    par_run(merge_share, &j);
    adapter_switch(m, true);
}
