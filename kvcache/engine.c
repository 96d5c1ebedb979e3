#include "kvcache/engine.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "model/kernels/q8_block.h"
#include "model/layer_stream.h"

#include <stdio.h>

/*
 * A pass is put together from the next ids of one or more texts, a row each:
 *
 *     engine_begin    no rows
 *     engine_add      reserves a text's pages and appends its rows; kv->n does not count them yet
 *     engine_pass     every thread: fills keys and values, and f->hidden for the rows not skipped
 *     engine_advance  kv->n counts the rows: only now do they belong to their texts
 *
 * So a pass that is given up before engine_advance leaves every text as it was. engine_pass works
 * on the positions that engine_add noted, so the device loop may advance before it. f->hidden stays
 * valid until the next engine_pass, for engine_head.
 */

int engine_init_as(struct engine *e, struct model *m, int max_seqs, enum dtype cache_dtype)
{
    const struct config *c = &m->config;
    int rc, n_pages;

    *e = (struct engine){.model = m, .max_seqs = max_seqs};
    if (__builtin_mul_overflow(max_seqs + 1, kvcache_pages(c->n_ctx), &n_pages))
        return err_set(ERR_NOMEM, "cannot hold %d texts of %d tokens", max_seqs + 1, c->n_ctx);
    e->logits_bytes =
        ((size_t)max_seqs + ENGINE_DRAFT_ROWS) * (size_t)c->n_vocab * sizeof *e->logits;
    if ((rc = forward_init(&e->forward, &m->params, FORWARD_MAX_ROWS)) != 0 ||
        (rc = kvcache_init(&e->cache, c, cache_dtype, n_pages)) != 0)
        goto out;
    e->forward.layout = e->cache.layout;
    rc = ERR_NOMEM;
    if ((e->logits = mem_map("logits", e->logits_bytes)) == NULL ||
        (e->pass = mem_array(FORWARD_MAX_ROWS, sizeof *e->pass)) == NULL ||
        (e->pass_kv = mem_array(FORWARD_MAX_ROWS, sizeof(struct kv_seq *))) == NULL)
        goto out;
    return 0;
out:
    engine_release(e);
    return rc;
}

int engine_init(struct engine *e, struct model *m, int max_seqs)
{
    return engine_init_as(e, m, max_seqs, kv_dtype_of(m->params.dtype));
}

void engine_release(struct engine *e)
{
    if (e == NULL)
        return;
    forward_release(&e->forward);
    kvcache_release(&e->cache);
    mem_unmap(e->logits, e->logits_bytes);
    mem_free(e->pass);
    mem_free(e->pass_kv);
    *e = (struct engine){0};
}

void engine_precision(char out[ENGINE_PRECISION], const struct engine *e)
{
    precision_words(out, e->model->params.dtype, e->cache.layout.dtype);
}

void precision_words(char out[ENGINE_PRECISION], enum dtype weights, enum dtype cache)
{
    if (cache == kv_dtype_of(weights))
        snprintf(out, ENGINE_PRECISION, "%s", dtype_short_name(weights));
    else
        snprintf(out, ENGINE_PRECISION, "%s with %s cache", dtype_short_name(weights),
                 dtype_short_name(cache));
}

static float pass_bytes(const struct model *m)
{
    const float value = m->params.dtype == DTYPE_F32  ? 4
                        : m->params.dtype == DTYPE_Q8 ? (float)sizeof(struct q8_block) / Q8_BLOCK
                                                      : 2;
    return (float)config_matmul_params(&m->config) * value;
}

void engine_use_drafter(struct engine *e, struct engine *drafter)
{
    const float barriers = 0.02f;
    e->drafter = drafter;
    e->drafter_share =
        drafter == NULL ? 0 : pass_bytes(drafter->model) / pass_bytes(e->model) + barriers;
}

int engine_check_ids(const struct engine *e, const token_id *ids, size_t n)
{
    int n_vocab = e->model->config.n_vocab;
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= n_vocab)
            return err_set(ERR_RANGE, "token id %d is outside the model's vocabulary, 0 to %d",
                           (int)ids[i], n_vocab - 1);
    return 0;
}

/* ---- one pass ---- */

void engine_begin(struct engine *e)
{
    e->n_pass = e->n_pass_rows = e->n_hidden = 0;
}

int engine_add(struct engine *e, struct kv_seq *kv, const token_id *ids, int n, int skip)
{
    int rc = kv_seq_reserve(kv, &e->cache, n);
    if (rc != 0)
        return rc;
    e->pass_kv[e->n_pass] = kv;
    e->pass[e->n_pass++] =
        (struct forward_seq){.ids = ids, .n = n, .skip = skip, .kv = kv_seq_view(kv)};
    e->n_pass_rows += n;
    e->n_hidden += n - skip;
    return 0;
}

void engine_pass(struct engine *e, float *logits, int thread, int n_threads)
{
    profile_begin(SPAN_PASS, -1);
    forward_pass(&e->forward, e->pass, e->n_pass, thread, n_threads);
    if (logits != NULL && e->n_hidden > 0)
        forward_head(&e->forward, logits, (size_t)e->model->config.n_vocab, NULL, e->n_hidden,
                     thread, n_threads);
    profile_end();
}

void engine_advance(struct engine *e)
{
    for (int i = 0; i < e->n_pass; i++)
        kv_seq_advance(e->pass_kv[i], e->pass[i].n);
}

/* A job of the team: a pass, or the logits of rows first .. first + n - 1 of the last pass. */
struct pass_job {
    struct engine *engine;
    float *logits;
    int first, n;
};

static void run_pass(void *arg, int thread, int n_threads)
{
    const struct pass_job *j = arg;
    engine_pass(j->engine, j->logits, thread, n_threads);
}

bool engine_failed(const struct engine *e)
{
    return e->model->params.lost || layer_stream_failed(e->model->params.stream);
}

int engine_error(const struct engine *e)
{
    const struct params *p = &e->model->params;
    return p->lost ? params_lost(p) : layer_stream_error(p->stream);
}

int engine_run(struct engine *e, float *logits)
{
    struct pass_job job = {.engine = e, .logits = logits};
    par_run(run_pass, &job);
    if (!engine_failed(e)) {
        engine_advance(e);
        return 0;
    }
    for (int i = 0; i < e->n_pass; i++)
        kv_seq_truncate(e->pass_kv[i], &e->cache, e->pass_kv[i]->n);
    return engine_error(e);
}

static void run_head(void *arg, int thread, int n_threads)
{
    const struct pass_job *j = arg;
    int rows[FORWARD_MAX_ROWS];
    for (int i = 0; i < j->n; i++)
        rows[i] = j->first + i;
    forward_head(&j->engine->forward, j->logits, (size_t)j->engine->model->config.n_vocab, rows,
                 j->n, thread, n_threads);
}

int engine_head(struct engine *e, float *logits, int first, int n)
{
    struct pass_job job = {e, logits, first, n};
    par_run(run_head, &job);
    return engine_error(e);
}

/*
 * ---- prefill ----
 *
 * The feeds, one after another, are divided into passes of FORWARD_MAX_ROWS rows:
 *
 *     feeds    |------- 0 -------|-- 1 --|----------- 2 -----------|- 3 -|
 *     passes   |........first........|.......second........|....third....|
 *
 * Only a feed's last row has a hidden state. A pass completes feeds in order, so its hidden states
 * give consecutive rows of `logits`, from the feed that it begins with on. All pages are reserved
 * before the first pass: none can fail between two.
 */

/* How far prefill has come: `feed` whole feeds, and `id` ids of the next. */
struct feed_position {
    int feed, id;
};

/* Put the next pass together, from *at on. engine_add cannot fail: the pages are reserved. */
static void add_feeds(struct engine *e, struct feed_position *at, const struct engine_feed *feeds,
                      int n_feeds)
{
    engine_begin(e);
    while (at->feed < n_feeds && engine_room(e) > 0) {
        const struct engine_feed *f = &feeds[at->feed];
        int left = f->n - at->id, n = left < engine_room(e) ? left : engine_room(e);
        engine_add(e, f->seq, f->ids + at->id, n, n == left ? n - 1 : n);
        *at = n == left ? (struct feed_position){.feed = at->feed + 1}
                        : (struct feed_position){.feed = at->feed, .id = at->id + n};
    }
}

/* Check all ids and reserve all pages; on failure no feed has any. */
static int reserve_feeds(struct engine *e, const struct engine_feed *feeds, int n_feeds)
{
    for (int i = 0; i < n_feeds; i++) {
        int rc = engine_check_ids(e, feeds[i].ids, (size_t)feeds[i].n);
        if (rc == 0)
            rc = kv_seq_reserve(feeds[i].seq, &e->cache, feeds[i].n);
        if (rc != 0) {
            while (i-- > 0)
                kv_seq_truncate(feeds[i].seq, &e->cache, feeds[i].seq->n);
            return rc;
        }
    }
    return 0;
}

/* One pass, from *at on. */
static int run_feeds(struct engine *e, struct feed_position *at, const struct engine_feed *feeds,
                     int n_feeds, float *logits)
{
    const size_t first = (size_t)at->feed;
    add_feeds(e, at, feeds, n_feeds);
    profile_begin(SPAN_FEED, -1);
    int rc =
        engine_run(e, logits == NULL ? NULL : logits + first * (size_t)e->model->config.n_vocab);
    profile_end();
    return rc;
}

int engine_feed(struct engine *e, const struct engine_feed *feeds, int n_feeds, float *logits,
                const struct progress *p)
{
    int rc = reserve_feeds(e, feeds, n_feeds);
    if (rc != 0)
        return rc;
    uint64_t done = 0, total = 0;
    for (int i = 0; i < n_feeds; i++)
        total += (uint64_t)feeds[i].n;

    for (struct feed_position at = {0}; at.feed < n_feeds && rc == 0;) {
        const int first = at.feed;
        if ((rc = progress_step(p, "reading", done, total)) == 0)
            rc = run_feeds(e, &at, feeds, n_feeds, logits);
        for (int i = first; i < n_feeds && rc != 0; i++)
            kv_seq_truncate(feeds[i].seq, &e->cache, feeds[i].seq->n);
        done += (uint64_t)e->n_pass_rows;
    }
    return rc;
}
