#include "train/prepare/deal.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/data/permutation.h"
#include "train/prepare/duplicates.h"
#include "train/prepare/store_batch.h"

#include <string.h>

enum { REPORT_EVERY = 64 };
static const char dealing[] = "writing documents";

/* The bytes of the store as ids. */
static int add_ids(const struct deal *d, struct output *o, const char *bytes, size_t n)
{
    token_id ids[SPOOL_VIEW_BYTES / 16];
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

/* The k-th document of the batch. */
static int deal_document(const struct deal *d, struct output *o, struct store_batch *b, size_t k)
{
    const char *block;
    uint64_t done = 0;
    size_t n = 1;
    int rc = 0;
    while (rc == 0 && n > 0) {
        rc = store_batch_look(b, k, done, &block, &n);
        if (rc == 0 && n > 0)
            rc = d->text ? output_add_text(o, block, n) : add_ids(d, o, block, n);
        done += n;
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

/* Those of the batch, behind `done` of the store. */
static int deal_batch(const struct deal *d, struct store_batch *b, uint64_t *dealt, uint64_t done)
{
    int rc = store_batch_read(b, d->progress, dealing, done, d->store->n);
    for (size_t k = 0; k < b->n && rc == 0; k++) {
        rc = deal_document(d, d->outputs[choose_part(d, (*dealt)++)], b, k);
        if (rc == 0 && k % REPORT_EVERY == 0)
            rc = progress_step(d->progress, dealing, done + k, d->store->n);
    }
    b->n = 0;
    return rc;
}

static int deal_documents(const struct deal *d, const unsigned char *bits, struct store_batch *b)
{
    struct permutation order;
    uint64_t dealt = 0, begun = 0;
    int rc = 0;
    permutation_init(&order, d->store->n, d->seed, 0);
    for (uint64_t i = 0; i < d->store->n && rc == 0; i++) {
        const uint64_t at = d->shuffle ? permutation_at(&order, i) : i;
        if (bits == NULL || (bits[at / 8] >> at % 8 & 1) == 0)
            store_batch_add(b, at);
        if (!store_batch_is_full(b) && i + 1 < d->store->n)
            continue;
        rc = deal_batch(d, b, &dealt, begun);
        begun = i + 1;
    }
    return rc;
}

int deal_run(const struct deal *d, uint64_t *duplicates)
{
    const bool leave_out = d->duplicates != DUPLICATES_KEEP;
    unsigned char *bits = leave_out ? mem_alloc((size_t)(d->store->n / 8 + 1)) : NULL;
    struct store_batch batch = {0};
    int rc = leave_out && bits == NULL ? ERR_NOMEM : 0;
    *duplicates = 0;
    if (rc == 0 && leave_out)
        rc = duplicates_find(bits, duplicates, d->store, d->duplicates == DUPLICATES_NEAR,
                             DUPLICATES_MEMORY, d->progress);
    if (rc == 0)
        rc = store_batch_open(&batch, d->store);
    if (rc == 0)
        rc = deal_documents(d, bits, &batch);
    mem_free(bits);
    store_batch_close(&batch);
    return rc;
}
