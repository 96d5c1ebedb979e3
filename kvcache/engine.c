#include "kvcache/engine.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"

int engine_init(struct engine *e, struct model *m, int max_seqs)
{
    const struct config *c = &m->config;
    int rc, n_pages;

    *e = (struct engine){.model = m, .max_seqs = max_seqs};
    if (__builtin_mul_overflow(max_seqs + 1, kvcache_pages(c->n_ctx), &n_pages))
        return err_set(ERR_NOMEM, "cannot hold %d texts of %d tokens", max_seqs + 1, c->n_ctx);
    e->logits_bytes = (size_t)max_seqs * (size_t)c->n_vocab * sizeof *e->logits;
    if ((rc = forward_init(&e->forward, &m->params, FORWARD_MAX_ROWS)) != 0 ||
        (rc = kvcache_init(&e->cache, c, m->params.dtype == DTYPE_F32, n_pages)) != 0)
        goto out;
    rc = ERR_NOMEM;
    if ((e->logits = mem_map(e->logits_bytes)) == NULL ||
        (e->pass = mem_array(FORWARD_MAX_ROWS, sizeof *e->pass)) == NULL)
        goto out;
    return 0;
out:
    engine_release(e);
    return rc;
}

void engine_release(struct engine *e)
{
    if (e == NULL)
        return;
    forward_release(&e->forward);
    kvcache_release(&e->cache);
    mem_unmap(e->logits, e->logits_bytes);
    mem_free(e->pass);
    *e = (struct engine){0};
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

/* How far the feeding has come: whole feeds, and ids of the one after them. */
struct place {
    int feed, id;
};

/* One pass: as many rows as there is room for, from a place on. */
struct pass {
    struct engine *engine;
    int n_seqs, n_rows;
    int n_ended;   /* feeds whose last id is in it */
    float *logits; /* [n_ended,V] after their last ids, or NULL */
};

static void put_together(struct pass *pass, struct place *at, const struct engine_feed *feeds,
                         int n_feeds)
{
    struct engine *e = pass->engine;
    pass->n_seqs = pass->n_rows = pass->n_ended = 0;
    while (at->feed < n_feeds && pass->n_rows < FORWARD_MAX_ROWS) {
        const struct engine_feed *f = &feeds[at->feed];
        int n = f->n - at->id;
        if (n > FORWARD_MAX_ROWS - pass->n_rows)
            n = FORWARD_MAX_ROWS - pass->n_rows;
        bool ends = at->id + n == f->n;
        e->pass[pass->n_seqs++] = (struct forward_seq){
            .ids = f->ids + at->id, .n = n, .skip = ends ? n - 1 : n, .kv = kv_seq_view(f->seq)};
        pass->n_rows += n;
        pass->n_ended += ends;
        *at = ends ? (struct place){.feed = at->feed + 1}
                   : (struct place){.feed = at->feed, .id = at->id + n};
    }
}

static void run_pass(void *arg, int thread, int n_threads)
{
    const struct pass *pass = arg;
    struct engine *e = pass->engine;
    forward_pass(&e->forward, e->pass, pass->n_seqs, thread, n_threads);
    if (pass->logits != NULL && pass->n_ended > 0)
        forward_head(&e->forward, pass->logits, (size_t)e->model->config.n_vocab, NULL,
                     pass->n_ended, thread, n_threads);
}

static int make_room(struct engine *e, const struct engine_feed *feeds, int n_feeds)
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

int engine_feed(struct engine *e, const struct engine_feed *feeds, int n_feeds, float *logits,
                const struct progress *p)
{
    int rc = make_room(e, feeds, n_feeds);
    if (rc != 0)
        return rc;
    uint64_t done = 0, total = 0;
    for (int i = 0; i < n_feeds; i++)
        total += (uint64_t)feeds[i].n;

    struct pass pass = {.engine = e};
    for (struct place at = {0}; at.feed < n_feeds;) {
        if ((rc = progress_step(p, "reading", done, total)) != 0) {
            for (int i = at.feed; i < n_feeds; i++)
                kv_seq_truncate(feeds[i].seq, &e->cache, feeds[i].seq->n);
            return rc;
        }
        int first = at.feed;
        pass.logits = logits == NULL ? NULL : logits + (size_t)first * e->model->config.n_vocab;
        put_together(&pass, &at, feeds, n_feeds);
        par_run(run_pass, &pass);
        for (int i = 0; i < pass.n_seqs; i++)
            kv_seq_advance(feeds[first + i].seq, e->pass[i].n);
        done += (uint64_t)pass.n_rows;
    }
    return 0;
}
