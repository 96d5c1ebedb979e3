#include "train/prepare/deal.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/data/permutation.h"
#include "train/prepare/duplicates.h"

#include <string.h>

/* Of the store. */
struct views {
    struct spool_view ends, data;
};

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

static int deal_document(const struct deal *d, struct output *o, uint64_t i, struct views *v)
{
    uint64_t at, left;
    const char *block;
    int rc = store_find(d->store, &v->ends, i, &at, &left);
    while (left > 0 && rc == 0) {
        const size_t part = left < SPOOL_VIEW_BYTES ? (size_t)left : SPOOL_VIEW_BYTES;
        rc = spool_look(&v->data, &block, &d->store->data, at, part);
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

static int deal_documents(const struct deal *d, const unsigned char *bits, struct views *v)
{
    struct permutation order;
    uint64_t dealt = 0;
    int rc = 0;
    permutation_init(&order, d->store->n, d->seed, 0);
    for (uint64_t i = 0; i < d->store->n && rc == 0; i++) {
        const uint64_t at = d->shuffle ? permutation_at(&order, i) : i;
        if (bits != NULL && (bits[at / 8] >> at % 8 & 1))
            continue;
        rc = deal_document(d, d->outputs[choose_part(d, dealt++)], at, v);
        if (rc == 0 && i % 64 == 0)
            rc = progress_step(d->progress, "writing documents", i, d->store->n);
    }
    return rc;
}

int deal_run(const struct deal *d, uint64_t *duplicates)
{
    const bool leave_out = d->duplicates != DUPLICATES_KEEP;
    unsigned char *bits = leave_out ? mem_alloc((size_t)(d->store->n / 8 + 1)) : NULL;
    struct views views = {0};
    int rc = leave_out && bits == NULL ? ERR_NOMEM : 0;
    *duplicates = 0;
    if (rc == 0 && leave_out)
        rc = duplicates_find(bits, duplicates, d->store, d->duplicates == DUPLICATES_NEAR,
                             DUPLICATES_MEMORY, d->progress);
    if (rc == 0)
        rc = deal_documents(d, bits, &views);
    mem_free(bits);
    spool_view_release(&views.ends);
    spool_view_release(&views.data);
    return rc;
}
