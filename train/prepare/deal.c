/*
 * Which documents are duplicates is found range by range of the hashes: a table for one range at a
 * time bounds the memory, and the hashes are read once a range. What is left is a bit a document.
 */
#include "train/prepare/deal.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/data/permutation.h"

#include <string.h>

enum { HASHES_AT_ONCE = 4096, RANGE_DOCUMENTS = 1 << 20, TABLE = 1 << 22, READ_BYTES = 1 << 18 };

struct seen {
    uint64_t *table; /* [2 * TABLE]: the two sums of a hash; both 0: empty */
    unsigned char *bits;
    uint64_t range, ranges; /* of this pass, of all */
};

/* Whether the hash is in the table already; it is then. */
static bool find_hash(struct seen *s, const struct text_hash *h)
{
    size_t at = (size_t)(h->sum[1] % TABLE);
    while (s->table[2 * at] != 0 || s->table[2 * at + 1] != 0) {
        if (s->table[2 * at] == h->sum[0] && s->table[2 * at + 1] == h->sum[1])
            return true;
        at = (at + 1) % TABLE;
    }
    s->table[2 * at] = h->sum[0];
    s->table[2 * at + 1] = h->sum[1];
    return false;
}

/* A table as full as it may be passes over the rest: hashes are spread evenly, so it is not. */
static int mark_range(const struct deal *d, struct seen *s, uint64_t *count)
{
    struct text_hash block[HASHES_AT_ONCE];
    size_t held = 0;
    int rc = 0;
    memset(s->table, 0, 2 * TABLE * sizeof *s->table);
    for (uint64_t i = 0; i < d->store->n && rc == 0; i += HASHES_AT_ONCE) {
        const uint64_t left = d->store->n - i;
        const size_t n = left < HASHES_AT_ONCE ? (size_t)left : HASHES_AT_ONCE;
        rc = store_hashes(d->store, block, i, n);
        for (size_t k = 0; k < n && rc == 0; k++) {
            const struct text_hash *h = &block[k];
            if (h->sum[0] % s->ranges != s->range || (h->sum[0] == 0 && h->sum[1] == 0) ||
                held > TABLE / 2)
                continue;
            const bool again = find_hash(s, h);
            held += !again;
            *count += again;
            s->bits[(i + k) / 8] |= (unsigned char)(again << (i + k) % 8);
        }
        if (rc == 0)
            rc = progress_step(d->progress, "looking for duplicates",
                               s->range * d->store->n + i + n, s->ranges * d->store->n);
    }
    return rc;
}

static int mark_duplicates(const struct deal *d, unsigned char *bits, uint64_t *count)
{
    struct seen s = {.bits = bits, .ranges = d->store->n / RANGE_DOCUMENTS + 1};
    int rc = (s.table = mem_array(2 * TABLE, sizeof *s.table)) == NULL ? ERR_NOMEM : 0;
    for (s.range = 0; s.range < s.ranges && rc == 0; s.range++)
        rc = mark_range(d, &s, count);
    mem_free(s.table);
    return rc;
}

/* The bytes of the store as ids. */
static int add_ids(const struct deal *d, struct output *o, const char *bytes, size_t n)
{
    token_id ids[READ_BYTES / 16];
    const size_t most = sizeof ids / sizeof *ids, all = n / (size_t)d->id_bytes;
    int rc = 0;
    for (size_t done = 0; done < all && rc == 0;) {
        const size_t part = all - done < most ? all - done : most;
        for (size_t i = 0; i < part; i++) {
            uint16_t id;
            if (d->id_bytes == 2) {
                memcpy(&id, bytes + (done + i) * 2, sizeof id);
                ids[i] = id;
            } else {
                memcpy(&ids[i], bytes + (done + i) * sizeof *ids, sizeof *ids);
            }
        }
        rc = output_add_ids(o, ids, part);
        done += part;
    }
    return rc;
}

static int deal_document(const struct deal *d, struct output *o, uint64_t i, char *block)
{
    uint64_t at, left;
    int rc = store_find(d->store, i, &at, &left);
    while (left > 0 && rc == 0) {
        const size_t part = left < READ_BYTES ? (size_t)left : READ_BYTES;
        rc = spool_read(&d->store->data, block, at, part);
        if (rc == 0)
            rc = d->text ? output_add_text(o, block, part) : add_ids(d, o, block, part);
        at += part;
        left -= part;
    }
    return rc == 0 ? output_end(o) : rc;
}

/* The part that is furthest behind its share, with this one. */
static int choose_part(const struct deal *d, uint64_t dealt)
{
    int best = 0;
    double most = -1;
    for (int i = 0; i < d->n_parts; i++) {
        const double behind =
            d->shares[i] * (double)(dealt + 1) - (double)d->outputs[i]->n_documents;
        if (behind > most) {
            most = behind;
            best = i;
        }
    }
    return best;
}

static int deal_documents(const struct deal *d, const unsigned char *bits, char *block)
{
    struct permutation order;
    uint64_t dealt = 0;
    int rc = 0;
    permutation_init(&order, d->store->n, d->seed, 0);
    for (uint64_t i = 0; i < d->store->n && rc == 0; i++) {
        const uint64_t at = d->shuffle ? permutation_at(&order, i) : i;
        if (bits != NULL && (bits[at / 8] >> at % 8 & 1))
            continue;
        rc = deal_document(d, d->outputs[choose_part(d, dealt++)], at, block);
        if (rc == 0 && i % 64 == 0)
            rc = progress_step(d->progress, "writing", i, d->store->n);
    }
    return rc;
}

int deal_run(const struct deal *d, uint64_t *duplicates)
{
    unsigned char *bits = d->exact ? mem_alloc((size_t)(d->store->n / 8 + 1)) : NULL;
    char *block = mem_alloc(READ_BYTES);
    int rc = block == NULL || (d->exact && bits == NULL) ? ERR_NOMEM : 0;
    *duplicates = 0;
    if (rc == 0 && d->exact)
        rc = mark_duplicates(d, bits, duplicates);
    if (rc == 0)
        rc = deal_documents(d, bits, block);
    mem_free(bits);
    mem_free(block);
    return rc;
}
