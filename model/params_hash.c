#include "model/params_hash.h"

#include "model/base/crc32c.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/layer_stream.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

/* SHA-256 over the digests of parts of fixed size, which threads share. */

enum { DIGEST = 32, HASH_PART = 4 << 20, HASH_BATCH = 256, HASH_READ = 8 };

struct hash {
    const unsigned char *bytes;
    size_t n;
    unsigned char (*digests)[DIGEST];
};

static void hash_share(void *arg, int thread, int n_threads)
{
    struct hash *h = arg;
    int first, last, parts = (int)((h->n + HASH_PART - 1) / HASH_PART);
    par_split(parts, thread, n_threads, &first, &last);
    for (int i = first; i < last; i++) {
        size_t at = (size_t)i * HASH_PART, left = h->n - at;
        EVP_Digest(h->bytes + at, left < HASH_PART ? left : HASH_PART, h->digests[i], NULL,
                   EVP_sha256(), NULL);
    }
}

/* The digests of n bytes of the block from `first` on; some parts at a time where they come from a
 * file. */
static int hash_batch(const struct params *p, unsigned char (*digests)[DIGEST], size_t first,
                      size_t n)
{
    const size_t once = p->stream == NULL ? n : (size_t)HASH_READ * HASH_PART;
    char *data = p->stream == NULL ? (char *)p->block + first : mem_map("weights from disk", once);
    int rc = data == NULL ? ERR_NOMEM : 0;
    for (size_t at = 0; at < n && rc == 0; at += once) {
        const size_t count = n - at < once ? n - at : once;
        struct hash h = {
            .bytes = (const unsigned char *)data, .n = count, .digests = digests + at / HASH_PART};
        if (p->stream != NULL)
            rc = layer_stream_read(p->stream, data, first + at, count);
        if (rc == 0)
            par_run(hash_share, &h);
    }
    if (p->stream != NULL)
        mem_unmap(data, once);
    return rc;
}

/* What only some configurations have; of all others the text stays what it always was. */
static void hash_rest(char *text, size_t n, const struct config *c)
{
    const size_t at = strlen(text), local_bytes = ((size_t)c->n_layer + 7) / 8;
    bool local = false;
    for (int i = 0; i < c->n_layer; i++)
        local = local || config_window(c, i) > 0;
    if (c->type != MODEL_GPT2 || config_heads_width(c) != c->n_embd || local)
        snprintf(text + at, n - at, " %d %d %d %u", (int)c->type, config_head_size(c),
                 c->window_size, (unsigned)crc32c(c->local_layers, local_bytes));
}

int params_hash(const struct params *p, unsigned char out[32])
{
    const struct config *c = &p->config;
    /* A hash chain: the digest of a batch of parts covers the digest before it. */
    struct {
        char config[256];
        unsigned char before[DIGEST];
        unsigned char digests[HASH_BATCH][DIGEST];
    } link = {0};
    int rc = 0;
    /* Part of the fingerprint, which checkpoints store: these numbers must not change. */
    const int form = p->layout != LINEAR_PANELS ? 2
                     : p->dtype == DTYPE_F16    ? 0
                     : p->dtype == DTYPE_Q8     ? 3
                                                : 1;
    snprintf(link.config, sizeof link.config, "%d %d %d %d %d %d %d %a %d %d %d %d", c->n_layer,
             c->n_head, c->n_embd, c->n_ctx, c->n_vocab, c->n_inner, (int)c->activation,
             (double)c->layer_norm_epsilon, c->tie_word_embeddings, c->scale_attn_weights,
             c->scale_attn_by_inverse_layer_idx, form);
    hash_rest(link.config, sizeof link.config, c);
    const size_t batch = (size_t)HASH_PART * HASH_BATCH;
    for (size_t at = 0; at < p->block_bytes && rc == 0; at += batch) {
        const size_t left = p->block_bytes - at;
        memset(link.digests, 0, sizeof link.digests);
        rc = hash_batch(p, link.digests, at, left < batch ? left : batch);
        EVP_Digest(&link, sizeof link, out, NULL, EVP_sha256(), NULL);
        memcpy(link.before, out, DIGEST);
    }
    return rc;
}
