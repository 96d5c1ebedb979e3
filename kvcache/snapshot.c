#include "kvcache/snapshot.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/sha256.h"

#include <string.h>

/*
 * The file: this header, as the machine's own little-endian words; ids; pages of keys
 * and values as they lie in memory, unfilled positions zero; logits; settings; SHA-256
 * of all before it.
 */
enum { VERSION = 1, HASH_BYTES = 32, MAX_SETTINGS_BYTES = 1 << 20 };

static const char MAGIC[16] = "prattle session";

struct header {
    char magic[16];
    uint32_t version, element_bytes; /* of keys and values: 4 fp32, 2 binary16, 1 q8 */
    unsigned char fingerprint[32];
    uint64_t page_bytes, n_vocab;
    uint64_t n_ids, n_cached, n_logits; /* n_logits: 0, or V when they are there */
    uint64_t settings_bytes;
};

static uint32_t element_bytes(enum dtype d)
{
    return d == DTYPE_Q8 ? 1 : (uint32_t)dtype_bytes(d);
}

static int expected_header(struct header *out, struct sequence *s)
{
    const struct engine *e = s->engine;
    const unsigned char *weights = model_fingerprint(e->model);
    if (weights == NULL)
        return err_last();
    struct header h = {.version = VERSION,
                       .element_bytes = element_bytes(e->cache.layout.dtype),
                       .page_bytes = e->cache.layout.page_bytes,
                       .n_vocab = (uint64_t)e->model->config.n_vocab};
    memcpy(h.magic, MAGIC, sizeof MAGIC);
    memcpy(h.fingerprint, weights, sizeof h.fingerprint);
    *out = h;
    return 0;
}

bool snapshot_is(const struct file *f)
{
    char head[sizeof MAGIC];
    return f->bytes >= sizeof head && file_read_at(f, head, 0, sizeof head) == 0 &&
           memcmp(head, MAGIC, sizeof head) == 0;
}

/* ---- writing ---- */

struct out {
    struct file_writer file;
    struct sha256 hash;
};

static int save_bytes(struct out *o, const void *bytes, size_t n)
{
    if (n == 0)
        return 0;
    sha256_add(&o->hash, bytes, n);
    return file_write(&o->file, bytes, n);
}

static int save_pages(struct out *o, const struct sequence *s, size_t n_cached)
{
    const struct kvcache *cache = &s->engine->cache;
    const size_t page_bytes = cache->layout.page_bytes;
    size_t whole = n_cached / KV_BLOCK, rest = n_cached % KV_BLOCK;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < whole; i++)
        rc = save_bytes(o, s->kv.pages[i], page_bytes);
    if (rc != 0 || rest == 0)
        return rc;
    /* What follows the last position may be another text's: it is saved as zeros. */
    char *page = mem_alloc(page_bytes);
    if (page == NULL)
        return ERR_NOMEM;
    kvcache_copy_positions(cache, page, s->kv.pages[whole], (int)rest);
    rc = save_bytes(o, page, page_bytes);
    mem_free(page);
    return rc;
}

int snapshot_save(struct sequence *s, const char *path, const char *settings, bool force)
{
    struct out o = {0};
    unsigned char digest[HASH_BYTES];
    size_t V = (size_t)s->engine->model->config.n_vocab;
    struct header h;
    int rc = expected_header(&h, s);
    if (rc != 0)
        return rc;
    h.n_ids = s->ids.n;
    h.n_cached = sequence_cached(s);
    h.n_logits = sequence_has_logits(s) ? V : 0;
    h.settings_bytes = settings == NULL ? 0 : strlen(settings);
    if (h.settings_bytes > MAX_SETTINGS_BYTES)
        return err_set(ERR_RANGE, "settings of %zu bytes, a session file holds %d",
                       (size_t)h.settings_bytes, MAX_SETTINGS_BYTES);

    if ((rc = file_create(&o.file, path, force)) != 0)
        return rc;
    if ((rc = sha256_init(&o.hash)) != 0)
        goto out;
    if ((rc = save_bytes(&o, &h, sizeof h)) != 0 ||
        (rc = save_bytes(&o, s->ids.data, s->ids.n * sizeof *s->ids.data)) != 0 ||
        (rc = save_pages(&o, s, (size_t)h.n_cached)) != 0 ||
        (rc = save_bytes(&o, s->logits, (size_t)h.n_logits * sizeof *s->logits)) != 0 ||
        (rc = save_bytes(&o, settings, (size_t)h.settings_bytes)) != 0)
        goto out;
    sha256_end(&o.hash, digest);
    if ((rc = file_write(&o.file, digest, sizeof digest)) == 0)
        rc = file_commit(&o.file);
out:
    sha256_release(&o.hash);
    file_abandon(&o.file);
    return rc;
}

/* ---- reading ---- */

/* What a file holds, apart from the session until the checksum has been verified. */
struct in {
    struct file file;
    struct sha256 hash;
    uint64_t at;
    struct header h;
    bool other_dtype; /* than the cache's */
    token_id *ids;
    struct kv_seq seq;
    float *logits;
    char *settings;
};

static int load_bytes(struct in *in, void *dst, size_t n)
{
    if (n == 0)
        return 0;
    int rc = file_read_at(&in->file, dst, in->at, n);
    if (rc == 0) {
        sha256_add(&in->hash, dst, n);
        in->at += n;
    }
    return rc;
}

/* The bytes of a page of the file's keys and values; 0: they are of no known type. */
static uint64_t page_bytes_of(const struct header *h, const struct config *c)
{
    static const enum dtype known[] = {DTYPE_F32, DTYPE_F16, DTYPE_Q8};
    struct kv_layout l;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (element_bytes(known[i]) == h->element_bytes) {
            kv_layout_init(&l, c, known[i]);
            return l.page_bytes;
        }
    return 0;
}

/* Of a file of other weights its settings may say whose these are. */
static int refuse_weights(struct in *in)
{
    const uint64_t n = in->h.settings_bytes;
    if (n <= MAX_SETTINGS_BYTES && n + HASH_BYTES + sizeof in->h <= in->file.bytes) {
        in->settings = mem_alloc((size_t)n + 1);
        if (in->settings == NULL ||
            file_read_at(&in->file, in->settings, in->file.bytes - HASH_BYTES - n, (size_t)n) != 0)
            return err_last();
        in->settings[n] = '\0';
    }
    return err_set(ERR_MISMATCH, "it was saved under other weights than those loaded now");
}

/* Check the whole header before any of its lengths is used. */
static int check_header(struct in *in, struct sequence *s)
{
    const struct kvcache *c = &s->engine->cache;
    const struct header *h = &in->h;
    struct header ours;
    int rc = expected_header(&ours, s);
    if (rc != 0)
        return rc;
    if (memcmp(h->magic, ours.magic, sizeof h->magic) != 0)
        return err_set(ERR_FORMAT, "not a session file");
    if (h->version != VERSION)
        return err_set(ERR_MISMATCH, "version %u, this program reads version %d", h->version,
                       VERSION);
    if (memcmp(h->fingerprint, ours.fingerprint, sizeof h->fingerprint) != 0)
        return refuse_weights(in);
    ours.page_bytes = page_bytes_of(h, &s->engine->model->config);
    if (ours.page_bytes == 0)
        return err_set(ERR_FORMAT, "it says keys and values of %u bytes, expected 1, 2 or 4",
                       h->element_bytes);
    if (h->page_bytes != ours.page_bytes || h->n_vocab != ours.n_vocab)
        return err_set(ERR_MISMATCH,
                       "its pages have %llu bytes and its logits %llu numbers, "
                       "expected %llu and %llu",
                       (unsigned long long)h->page_bytes, (unsigned long long)h->n_vocab,
                       (unsigned long long)ours.page_bytes, (unsigned long long)ours.n_vocab);
    /* One id more than the context holds may have been drawn and not read. */
    if (h->n_ids > (uint64_t)kvcache_text_max(c))
        return err_set(ERR_FORMAT, "it says %llu tokens, the context holds %d",
                       (unsigned long long)h->n_ids, c->n_ctx);
    if (h->n_cached > h->n_ids || h->n_cached > (uint64_t)c->n_ctx)
        return err_set(ERR_FORMAT, "it says %llu tokens read of %llu",
                       (unsigned long long)h->n_cached, (unsigned long long)h->n_ids);
    if (h->n_logits != 0 && h->n_logits != h->n_vocab)
        return err_set(ERR_FORMAT, "it says %llu logits, expected 0 or %llu",
                       (unsigned long long)h->n_logits, (unsigned long long)h->n_vocab);
    if (h->settings_bytes > MAX_SETTINGS_BYTES)
        return err_set(ERR_FORMAT, "it says %llu bytes of settings, at most %d are",
                       (unsigned long long)h->settings_bytes, MAX_SETTINGS_BYTES);
    uint64_t bytes = sizeof *h + h->n_ids * sizeof(token_id) +
                     (uint64_t)kvcache_pages((int)h->n_cached) * h->page_bytes +
                     h->n_logits * sizeof(float) + h->settings_bytes + HASH_BYTES;
    if (in->file.bytes != bytes)
        return err_set(ERR_FORMAT, "it has %llu bytes, its header says %llu",
                       (unsigned long long)in->file.bytes, (unsigned long long)bytes);
    return 0;
}

static int load_pages(struct in *in, struct kvcache *c)
{
    int rc = kv_seq_reserve(&in->seq, c, (int)in->h.n_cached);
    if (rc != 0)
        return rc;
    kv_seq_advance(&in->seq, (int)in->h.n_cached);
    for (int i = 0; i < kvcache_pages(in->seq.n) && rc == 0; i++)
        rc = load_bytes(in, in->seq.pages[i], (size_t)in->h.page_bytes);
    return rc;
}

/* Pages of another type count for the checksum alone. */
static int skip_pages(struct in *in)
{
    char *page = mem_alloc((size_t)in->h.page_bytes);
    int rc = page == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < kvcache_pages((int)in->h.n_cached) && rc == 0; i++)
        rc = load_bytes(in, page, (size_t)in->h.page_bytes);
    mem_free(page);
    return rc;
}

static int load_body(struct in *in, struct sequence *s)
{
    struct kvcache *c = &s->engine->cache;
    const struct header *h = &in->h;
    unsigned char said[HASH_BYTES], found[HASH_BYTES];
    int rc;
    if ((in->ids = mem_array((size_t)h->n_ids, sizeof *in->ids)) == NULL ||
        (in->logits = mem_array((size_t)h->n_logits, sizeof *in->logits)) == NULL ||
        (in->settings = mem_alloc((size_t)h->settings_bytes + 1)) == NULL ||
        kv_seq_init(&in->seq, c) != 0)
        return ERR_NOMEM;
    in->other_dtype = h->element_bytes != element_bytes(c->layout.dtype);
    if ((rc = load_bytes(in, in->ids, (size_t)h->n_ids * sizeof *in->ids)) != 0 ||
        (rc = in->other_dtype ? skip_pages(in) : load_pages(in, c)) != 0)
        return rc;
    if ((rc = load_bytes(in, in->logits, (size_t)h->n_logits * sizeof *in->logits)) != 0 ||
        (rc = load_bytes(in, in->settings, (size_t)h->settings_bytes)) != 0)
        return rc;
    sha256_end(&in->hash, found);
    if ((rc = file_read_at(&in->file, said, in->at, sizeof said)) != 0)
        return rc;
    if (memcmp(said, found, sizeof said) != 0)
        return err_set(ERR_FORMAT, "it is damaged: its checksum does not match");
    return engine_check_ids(s->engine, in->ids, (size_t)h->n_ids) == 0 ? 0 : ERR_FORMAT;
}

static int load_file(struct in *in, struct sequence *s, const char *path, snapshot_check *check,
                     void *user)
{
    int rc = file_open(&in->file, path);
    if (rc != 0)
        return rc;
    if ((rc = sha256_init(&in->hash)) != 0)
        return rc;
    if (in->file.bytes < sizeof in->h)
        rc = err_set(ERR_FORMAT, "%llu bytes are not a session file",
                     (unsigned long long)in->file.bytes);
    else if ((rc = load_bytes(in, &in->h, sizeof in->h)) == 0 && (rc = check_header(in, s)) == 0)
        rc = load_body(in, s);
    if (rc == 0 && check != NULL)
        rc = check(user, in->settings);
    if (rc != 0) {
        char *shown = file_visible(path);
        err_wrap("cannot load session %s", shown == NULL ? "" : shown);
        mem_free(shown);
    }
    return rc;
}

int snapshot_load(struct sequence *s, const char *path, snapshot_check *check, void *user,
                  char **settings, bool *unread)
{
    struct in in = {0};
    int rc = load_file(&in, s, path, check, user);
    *settings = NULL;
    if (rc == 0) {
        sequence_become(s, &in.seq, in.ids, (size_t)in.h.n_ids,
                        in.h.n_logits > 0 && !in.other_dtype ? in.logits : NULL);
        if (unread != NULL)
            *unread = in.other_dtype && in.h.n_ids > 0;
    }
    if (rc == 0 || rc == ERR_MISMATCH) {
        *settings = in.settings;
        in.settings = NULL;
    }
    kv_seq_release(&in.seq, &s->engine->cache);
    sha256_release(&in.hash);
    file_close(&in.file);
    mem_free(in.ids);
    mem_free(in.logits);
    mem_free(in.settings);
    return rc;
}
