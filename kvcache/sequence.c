#include "kvcache/sequence.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>

/*
 * The text and what the cache holds may differ. While they agree, kv holds the first kv.n of ids:
 *
 *     ids         [ 0 ........ kv.n ...... ids.n ]      cached_apart false
 *
 * When the text changes without being read (sequence_replace), or a feed is interrupted, the
 * cache's ids are kept apart, so that the next feed can reuse what the new text has in common with
 * them:
 *
 *     ids         [ 0 ...................... ids.n ]    cached_apart true
 *     cached_ids  [ 0 ........ kv.n ]
 *
 * A change of weights (version) invalidates the cache; nothing else makes an id be read twice.
 */

int sequence_init(struct sequence *s, struct engine *e)
{
    size_t n_ctx = (size_t)e->cache.n_ctx, most = kvcache_text_max(&e->cache);
    size_t V = (size_t)e->model->config.n_vocab;
    *s = (struct sequence){.engine = e, .version = e->model->version};
    /* Room for every text there can be, so that feeding allocates nothing. */
    if (kv_seq_init(&s->kv, &e->cache) != 0 ||
        (s->ids.data = mem_array(most, sizeof *s->ids.data)) == NULL ||
        (s->cached_ids = mem_array(n_ctx, sizeof *s->cached_ids)) == NULL ||
        (s->logits = mem_map("logits", V * sizeof *s->logits)) == NULL) {
        sequence_release(s);
        return ERR_NOMEM;
    }
    s->ids.cap = most;
    return 0;
}

void sequence_park(struct sequence *s)
{
    if (s->engine == NULL)
        return;
    kv_seq_release(&s->kv, &s->engine->cache);
    mem_free(s->cached_ids);
    mem_unmap(s->logits, (size_t)s->engine->model->config.n_vocab * sizeof *s->logits);
    *s = (struct sequence){.ids = s->ids};
}

int sequence_resume(struct sequence *s, struct engine *e)
{
    struct sequence fresh;
    int rc = sequence_init(&fresh, e);
    if (rc == 0 && (rc = sequence_assign(&fresh, s->ids.data, s->ids.n)) != 0)
        sequence_release(&fresh);
    if (rc != 0)
        return rc;
    sequence_release(s);
    *s = fresh;
    return 0;
}

void sequence_release(struct sequence *s)
{
    if (s == NULL)
        return;
    sequence_park(s);
    ids_release(&s->ids);
}

/* List what the cache holds apart from the text, which is about to change. */
static void copy_cached_ids(struct sequence *s)
{
    if (s->engine != NULL && !s->cached_apart) {
        memcpy(s->cached_ids, s->ids.data, (size_t)s->kv.n * sizeof *s->cached_ids);
        s->cached_apart = true;
    }
    s->n_logits = 0;
}

int sequence_replace(struct sequence *s, size_t from, const token_id *ids, size_t n)
{
    int rc = from + n > s->ids.n ? ids_reserve(&s->ids, from + n - s->ids.n) : 0;
    if (rc != 0)
        return rc;
    copy_cached_ids(s);
    if (n > 0)
        memmove(s->ids.data + from, ids, n * sizeof *ids);
    s->ids.n = from + n;
    return 0;
}

int sequence_assign(struct sequence *s, const token_id *ids, size_t n)
{
    return sequence_replace(s, 0, ids, n);
}

size_t sequence_common(const struct sequence *s, const token_id *ids, size_t n)
{
    const token_id *cached = s->cached_apart ? s->cached_ids : s->ids.data;
    size_t i = 0;
    if (s->version != s->engine->model->version)
        return 0;
    if (n > (size_t)s->kv.n)
        n = (size_t)s->kv.n;
    while (i < n && cached[i] == ids[i])
        i++;
    return i;
}

size_t sequence_cached(const struct sequence *s)
{
    return sequence_common(s, s->ids.data, s->ids.n);
}

static int context_full(const struct sequence *s, size_t n)
{
    return err_set(ERR_FULL, "the text would be %zu tokens long, the context holds %d", n,
                   s->engine->cache.n_ctx);
}

bool sequence_has_logits(const struct sequence *s)
{
    return s->n_logits > 0 && s->n_logits == s->ids.n && s->version == s->engine->model->version;
}

/* ids may lie in s->ids, whose n stays as it is on failure. */
int sequence_set(struct sequence *s, const token_id *ids, size_t n, const struct progress *p)
{
    struct kvcache *cache = &s->engine->cache;
    if (n > (size_t)cache->n_ctx)
        return context_full(s, n);
    int rc = engine_check_ids(s->engine, ids, n);
    if (rc != 0)
        return rc;

    size_t kept = sequence_common(s, ids, n);
    if (s->version != s->engine->model->version) {
        s->version = s->engine->model->version;
        s->n_logits = 0;
    }
    bool known = s->n_logits == n && n > 0 && memcmp(s->ids.data, ids, n * sizeof *ids) == 0;
    if (!known && kept == n && n > 0)
        kept--; /* read the last id again, for its logits */
    kv_seq_truncate(&s->kv, cache, (int)kept);
    if (kept < n) {
        struct engine_feed feed = {.seq = &s->kv, .ids = ids + kept, .n = (int)(n - kept)};
        rc = engine_feed(s->engine, &feed, 1, s->logits, p);
    }
    if (rc != 0) {
        if (s->kv.n > 0)
            memmove(s->cached_ids, ids, (size_t)s->kv.n * sizeof *ids);
        s->cached_apart = true;
        if (engine_failed(s->engine)) /* and may have written to them */
            s->n_logits = 0;
        return rc;
    }
    if (n > 0)
        memmove(s->ids.data, ids, n * sizeof *ids);
    s->ids.n = s->n_logits = n;
    s->cached_apart = false;
    return 0;
}

int sequence_feed(struct sequence *s, const token_id *ids, size_t n, const struct progress *p)
{
    size_t n_ctx = (size_t)s->engine->cache.n_ctx;
    if (s->ids.n + n > n_ctx)
        return context_full(s, s->ids.n + n);
    if (n > 0)
        memmove(s->ids.data + s->ids.n, ids, n * sizeof *ids);
    return sequence_set(s, s->ids.data, s->ids.n + n, p);
}

int sequence_keep(struct sequence *s, const token_id *ids, size_t n, const struct progress *p)
{
    bool unread = n == kvcache_text_max(&s->engine->cache);
    int rc = unread ? engine_check_ids(s->engine, ids, n) : 0;
    if (rc == 0)
        rc = sequence_set(s, ids, n - unread, p);
    if (rc == 0 && unread)
        s->ids.data[s->ids.n++] = ids[n - 1];
    return rc;
}

int sequence_slide(struct sequence *s, size_t n, const struct progress *p)
{
    if (n > s->ids.n)
        n = s->ids.n;
    return sequence_set(s, s->ids.data + s->ids.n - n, n, p);
}

void sequence_begin(struct sequence *s, const struct sequence *other, const token_id *ids, size_t n)
{
    kv_seq_fork(&s->kv, &other->kv, &s->engine->cache, (int)sequence_common(other, ids, n - 1));
    memmove(s->ids.data, ids, n * sizeof *ids);
    s->ids.n = n;
    s->n_logits = 0;
    s->cached_apart = false;
    s->version = s->engine->model->version;
}

void sequence_truncate(struct sequence *s, size_t n)
{
    if (n >= s->ids.n)
        return;
    s->ids.n = n;
    if (s->n_logits != n)
        s->n_logits = 0;
    if (!s->cached_apart)
        kv_seq_truncate(&s->kv, &s->engine->cache, (int)n);
}

void sequence_become(struct sequence *s, const struct kv_seq *seq, const token_id *ids, size_t n,
                     const float *logits)
{
    kv_seq_fork(&s->kv, seq, &s->engine->cache, seq->n);
    if (n > 0)
        memcpy(s->ids.data, ids, n * sizeof *ids);
    s->ids.n = n;
    s->version = s->engine->model->version;
    s->cached_apart = false;
    s->n_logits = logits == NULL ? 0 : n;
    if (logits != NULL)
        memcpy(s->logits, logits, (size_t)s->engine->model->config.n_vocab * sizeof *logits);
}

void sequence_fork(struct sequence *dst, const struct sequence *src, size_t n)
{
    if (n > src->ids.n)
        n = src->ids.n;
    if (dst == src) {
        sequence_truncate(dst, n);
        return;
    }
    struct kv_seq begin = src->kv;
    size_t cached = sequence_cached(src);
    begin.n = (int)(cached < n ? cached : n);
    bool has_logits = n > 0 && src->n_logits == n && src->version == src->engine->model->version;
    sequence_become(dst, &begin, src->ids.data, n, has_logits ? src->logits : NULL);
}
