#include "train/step/weights_init.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/sha256.h"
#include "model/schema.h"
#include "model/shard_cursor.h"
#include "train/step/weights_disk.h"
#include "weights/model_source.h"
#include "weights/open.h"

#include <inttypes.h>
#include <string.h>

/* Whether the source still is what m was loaded from. */
static int check_same(const struct source *s, const struct weights *w, const struct model *m)
{
    const struct params *a = &w->view, *b = &s->table;
    bool same = a->n_tensors == b->n_tensors;
    for (int i = 0; same && i < a->n_tensors; i++)
        same = a->tensors[i].rows == b->tensors[i].rows && a->tensors[i].cols == b->tensors[i].cols;
    if (!same)
        return err_set(ERR_MISMATCH, "it has other shapes than the model in memory: it was "
                                     "replaced since, :load it again");
    if (s->stamp != m->source_stamp)
        return err_set(ERR_MISMATCH, "it was written to since it was loaded: :load it again");
    return 0;
}

static int refuse_bad(const struct weights *w, const struct source *s, int i, uint64_t bad)
{
    return err_set(ERR_RANGE, "tensor %s: %" PRIu64 " of %zu weights are NaN or infinite%s",
                   w->view.tensors[i].name, bad, weights_size(w, i),
                   w->dtype == DTYPE_F16 && s->readers[i].dtype != DTYPE_F16
                       ? " (or beyond float16's 65504; precision=float32 keeps those)"
                       : "");
}

/* Filling it, part by part where not all of it stays in memory. */
struct filling {
    struct weights *w, *shard;         /* shard NULL: there is none */
    struct spans stage;                /* of w, what shards have parts of */
    const struct weights_slice *slice; /* of w, what this process keeps */
    struct shard_cursor cursor;
    const struct source *s;
    const struct progress *progress;
    uint64_t done; /* elements */
};

static void step_filling(void *user, const char *what, uint64_t done, uint64_t total)
{
    const struct filling *f = user;
    (void)total;
    if (f->progress != NULL && f->progress->step != NULL)
        f->progress->step(f->progress->user, what, f->done + done, f->w->n);
}

/* Tensors first to last - 1. */
static int fill_tensors(void *user, int first, int last)
{
    struct filling *f = user;
    const struct weights *w = f->w;
    const struct progress p = {.step = step_filling, .user = f};
    const int n = last - first;
    uint64_t *bad = mem_array((size_t)n, sizeof *bad);
    if (bad == NULL)
        return ERR_NOMEM;
    int rc = n > 0 ? params_fill(w->view.tensors + first, f->s->readers + first, n, bad, &p) : 0;
    for (int i = 0; i < n && rc == 0; i++)
        if (bad[i] > 0)
            rc = refuse_bad(w, f->s, first + i, bad[i]);
    f->done += w->offset[last] - w->offset[first];
    mem_free(bad);
    return rc;
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Of elements first to last - 1 of the block, those that are not of this process. */
static void drop_others(struct weights *w, size_t first, size_t last)
{
    const size_t each = dtype_bytes(w->dtype);
    for (int i = 0; i < w->own.n && first < last; i++) {
        const struct span s = w->own.at[i];
        if (s.first + s.n <= first)
            continue;
        if (s.first > first)
            stage_drop(w->view.block, first, min_size(s.first, last), each);
        first = s.first + s.n;
    }
    if (first < last)
        stage_drop(w->view.block, first, last, each);
}

/* Of elements before `last`, what the shard has of them. */
static void fill_shard(struct filling *f, size_t last)
{
    const size_t each = dtype_bytes(f->w->dtype);
    struct shard_run run;
    for (int i = 0; i < f->stage.n && f->shard != NULL; i++) {
        const struct span s = f->stage.at[i];
        const size_t end = min_size(s.first + s.n, last);
        while (s.first < end && shard_cursor_next(&f->cursor, &run, s.first, end, SIZE_MAX))
            memcpy((char *)f->shard->view.block + run.own * each,
                   (const char *)f->w->view.block + run.whole * each, run.n * each);
    }
}

/* Layer by layer, so that those of others are never here together. */
static int fill_stage(struct weights *w, struct filling *f)
{
    const size_t each = dtype_bytes(w->dtype);
    const int begin = schema_first_of_layers(&w->view.config),
              of_layer = schema_tensors_per_layer(&w->view.config),
              end = begin + of_layer * w->view.config.n_layer;
    char *block = w->view.block;
    struct sha256 h;
    int rc = sha256_init(&h);
    if (rc != 0)
        return rc;
    for (int i = 0, next; i < w->view.n_tensors && rc == 0; i = next) {
        next = i < begin ? begin : i < end ? i + of_layer : w->view.n_tensors;
        rc = fill_tensors(f, i, next);
        sha256_add(&h, block + w->offset[i] * each, (w->offset[next] - w->offset[i]) * each);
        if (rc == 0)
            fill_shard(f, w->offset[next]);
        drop_others(w, w->offset[i], w->offset[next]);
    }
    weights_drop_others(w);
    sha256_end(&h, w->digest);
    sha256_release(&h);
    return rc;
}

static int fill_block(struct weights *w, struct filling *filling, const struct source *s,
                      const struct progress *p)
{
    struct filling f = *filling;
    f.w = w;
    f.s = s;
    f.progress = p;
    return w->disk != NULL  ? weights_disk_each(w->disk, true, fill_tensors, &f)
           : w->stage.alone ? fill_tensors(&f, 0, w->view.n_tensors)
                            : fill_stage(w, &f);
}

static int read_weights(struct weights *w, struct filling *filling, const struct model *m,
                        const struct source *open, const struct progress *p)
{
    const bool adapted = m->adapter != NULL && m->adapter->on;
    const bool same = m->params.dtype == DTYPE_F16 && w->dtype == DTYPE_F16;
    bool enough = (same || m->params.dtype == DTYPE_F32) && !adapted;
    /* Of layers on disk, the files are read again. */
    enough = enough && m->params.stream == NULL;
    bool memory = m->changed || m->source == NULL || enough;
    if (memory && !enough)
        progress_note(p,
                      "the weights in memory are %s and no file has them: training starts "
                      "from those",
                      model_precision(m));
    struct source own = {0};
    int rc = 0;
    if (memory)
        rc = source_open_model(&own, m);
    else if (open == NULL)
        rc = source_open(&own, m->source, 0, true, NULL);
    const struct source *s = memory || open == NULL ? &own : open;
    if (rc == 0 && (rc = memory ? 0 : check_same(s, w, m)) == 0)
        rc = fill_block(w, filling, s, p);
    source_close(&own);
    if (rc != 0 && rc != ERR_INTERRUPTED)
        rc = err_wrap("cannot read the weights to train%s%s", memory ? "" : " from ",
                      memory ? "" : m->source);
    return rc;
}

int weights_init(struct weights *w, const struct model *m, const struct source *open,
                 enum dtype dtype, const struct progress *p)
{
    const struct model_stage all = stage_whole(m->config.n_layer);
    return weights_init_stage(w, m, open, dtype, &all, p);
}

static int init_weights(struct weights *w, struct filling *f, const struct model *m,
                        const struct source *open, const struct weights_place *place,
                        const struct progress *p)
{
    int rc = weights_allocate(w, &m->config, place);
    if (rc == 0) {
        f->stage = weights_spans(w, &w->stage);
        w->own = f->shard == NULL ? f->stage : weights_slices(w, &w->stage, f->slice);
        rc = read_weights(w, f, m, open, p);
    }
    if (rc != 0)
        weights_release(w);
    return rc;
}

int weights_init_stage(struct weights *w, const struct model *m, const struct source *open,
                       enum dtype dtype, const struct model_stage *stage, const struct progress *p)
{
    struct filling f = {.shard = NULL};
    *w = (struct weights){.dtype = dtype, .stage = *stage};
    return init_weights(w, &f, m, open, NULL, p);
}

int weights_init_shard(struct weights *w, struct weights *own, const struct model *m,
                       const struct source *open, enum dtype dtype, const struct model_stage *stage,
                       const struct shard *s, const struct weights_slice *slice,
                       const struct progress *p)
{
    struct filling f = {.shard = own, .slice = slice};
    struct config shape;
    *own = (struct weights){.dtype = dtype, .stage = *stage};
    *w = (struct weights){.dtype = dtype, .stage = *stage};
    w->stage.alone = false; /* of its slices */
    shard_config(&shape, &m->config, s);
    shard_cursor_init(&f.cursor, &m->config, s);
    int rc = weights_allocate(own, &shape, NULL);
    if (rc == 0)
        rc = init_weights(w, &f, m, open, NULL, p);
    if (rc != 0)
        weights_release(own);
    return rc;
}

int weights_init_on_disk(struct weights *w, const struct model *m, const struct source *open,
                         enum dtype dtype, const struct progress *p,
                         const struct weights_place *place)
{
    *w = (struct weights){.dtype = dtype, .stage = stage_whole(m->config.n_layer)};
    struct filling f = {.shard = NULL};
    return init_weights(w, &f, m, open, place, p);
}
