#include "kvcache/sequence.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>

int session_init(struct session *s, struct engine *e)
{
    size_t n_ctx = (size_t)e->cache.n_ctx, most = kvcache_text_max(&e->cache);
    size_t V = (size_t)e->model->config.n_vocab;
    *s = (struct session){.engine = e, .version = e->model->version};
    /* Room for every text there can be, so that feeding allocates nothing. */
    if (kv_seq_init(&s->seq, &e->cache) != 0 ||
        (s->text.data = mem_array(most, sizeof *s->text.data)) == NULL ||
        (s->ahead = mem_array(n_ctx, sizeof *s->ahead)) == NULL ||
        (s->logits = mem_array(V, sizeof *s->logits)) == NULL) {
        session_release(s);
        return ERR_NOMEM;
    }
    s->text.cap = most;
    return 0;
}

void session_release(struct session *s)
{
    if (s == NULL || s->engine == NULL)
        return;
    kv_seq_release(&s->seq, &s->engine->cache);
    mem_free(s->text.data);
    mem_free(s->ahead);
    mem_free(s->logits);
    *s = (struct session){0};
}

/* How many ids from the beginning are those the cache holds. */
static size_t common(const struct session *s, const token_id *ids, size_t n)
{
    const token_id *cached = s->is_ahead ? s->ahead : s->text.data;
    size_t i = 0;
    if (s->version != s->engine->model->version)
        return 0;
    if (n > (size_t)s->seq.n)
        n = (size_t)s->seq.n;
    while (i < n && cached[i] == ids[i])
        i++;
    return i;
}

size_t session_cached(const struct session *s)
{
    return common(s, s->text.data, s->text.n);
}

static int full(const struct session *s, size_t n)
{
    return err_set(ERR_FULL, "the text would be %zu tokens long, the context holds %d", n,
                   s->engine->cache.n_ctx);
}

bool session_has_logits(const struct session *s)
{
    return s->n_logits > 0 && s->n_logits == s->text.n && s->version == s->engine->model->version;
}

/* Make the text ids, which may lie in s->text, whose n stays as it is on failure. */
static int read_text(struct session *s, const token_id *ids, size_t n, const struct progress *p)
{
    struct kvcache *cache = &s->engine->cache;
    if (n > (size_t)cache->n_ctx)
        return full(s, n);
    int rc = engine_check_ids(s->engine, ids, n);
    if (rc != 0)
        return rc;

    size_t kept = common(s, ids, n);
    if (s->version != s->engine->model->version) {
        s->version = s->engine->model->version;
        s->n_logits = 0;
    }
    bool known = s->n_logits == n && n > 0 && memcmp(s->text.data, ids, n * sizeof *ids) == 0;
    if (!known && kept == n && n > 0)
        kept--; /* its logits are asked for */
    kv_seq_truncate(&s->seq, cache, (int)kept);
    if (kept < n) {
        struct engine_feed feed = {.seq = &s->seq, .ids = ids + kept, .n = (int)(n - kept)};
        rc = engine_feed(s->engine, &feed, 1, s->logits, p);
    }
    if (rc != 0) {
        if (s->seq.n > 0)
            memmove(s->ahead, ids, (size_t)s->seq.n * sizeof *ids);
        s->is_ahead = true;
        return rc;
    }
    if (n > 0)
        memmove(s->text.data, ids, n * sizeof *ids);
    s->text.n = s->n_logits = n;
    s->is_ahead = false;
    return 0;
}

int session_feed(struct session *s, const token_id *ids, size_t n, const struct progress *p)
{
    size_t n_ctx = (size_t)s->engine->cache.n_ctx;
    if (s->text.n + n > n_ctx)
        return full(s, s->text.n + n);
    if (n > 0)
        memmove(s->text.data + s->text.n, ids, n * sizeof *ids);
    return read_text(s, s->text.data, s->text.n + n, p);
}

int session_set(struct session *s, const token_id *ids, size_t n, const struct progress *p)
{
    return read_text(s, ids, n, p);
}

int session_keep(struct session *s, const token_id *ids, size_t n, const struct progress *p)
{
    bool unread = n == kvcache_text_max(&s->engine->cache);
    int rc = unread ? engine_check_ids(s->engine, ids, n) : 0;
    if (rc == 0)
        rc = read_text(s, ids, n - unread, p);
    if (rc == 0 && unread)
        s->text.data[s->text.n++] = ids[n - 1];
    return rc;
}

int session_slide(struct session *s, size_t n, const struct progress *p)
{
    if (n > s->text.n)
        n = s->text.n;
    return read_text(s, s->text.data + s->text.n - n, n, p);
}

void session_truncate(struct session *s, size_t n)
{
    if (n >= s->text.n)
        return;
    s->text.n = n;
    if (s->n_logits != n)
        s->n_logits = 0;
    if (!s->is_ahead)
        kv_seq_truncate(&s->seq, &s->engine->cache, (int)n);
}

void session_become(struct session *s, const struct kv_seq *seq, const token_id *ids, size_t n,
                    const float *logits)
{
    kv_seq_fork(&s->seq, seq, &s->engine->cache, seq->n);
    if (n > 0)
        memcpy(s->text.data, ids, n * sizeof *ids);
    s->text.n = n;
    s->version = s->engine->model->version;
    s->is_ahead = false;
    s->n_logits = logits == NULL ? 0 : n;
    if (logits != NULL)
        memcpy(s->logits, logits, (size_t)s->engine->model->config.n_vocab * sizeof *logits);
}

void session_fork(struct session *dst, const struct session *src, size_t n)
{
    if (n > src->text.n)
        n = src->text.n;
    if (dst == src) {
        session_truncate(dst, n);
        return;
    }
    struct kv_seq begin = src->seq;
    size_t cached = session_cached(src);
    begin.n = (int)(cached < n ? cached : n);
    bool has_logits = n > 0 && src->n_logits == n && src->version == src->engine->model->version;
    session_become(dst, &begin, src->text.data, n, has_logits ? src->logits : NULL);
}
