#include "train/prepare/store_batch.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <stdlib.h>
#include <string.h>

/* TURN_BITS: a document's place in the batch, which stands with it in what is sorted. */
enum { BATCH_BYTES = 8 << 20, TURN_BITS = 17, REPORT_EVERY = 64 };
static const uint64_t BATCH_MOST = (uint64_t)1 << TURN_BITS;

struct batch_document {
    uint64_t at, bytes; /* of the store's data */
    const char *held;   /* its bytes; NULL: they are in the store alone */
};

int store_batch_open(struct store_batch *b, const struct store *s)
{
    const uint64_t usual = s->n == 0 ? 0 : s->last / s->n;
    const uint64_t room = BATCH_BYTES / (usual + 1) + 1;
    *b = (struct store_batch){.store = s};
    b->room = room < BATCH_MOST ? (size_t)room : BATCH_MOST;
    b->wanted = mem_array(b->room, sizeof *b->wanted);
    b->list = mem_array(b->room, sizeof *b->list);
    b->bytes = mem_alloc(BATCH_BYTES);
    if (b->wanted != NULL && b->list != NULL && b->bytes != NULL)
        return 0;
    store_batch_close(b);
    return ERR_NOMEM;
}

void store_batch_close(struct store_batch *b)
{
    mem_free(b->wanted);
    mem_free(b->list);
    mem_free(b->bytes);
    spool_view_release(&b->ends);
    spool_view_release(&b->data);
    *b = (struct store_batch){0};
}

void store_batch_add(struct store_batch *b, uint64_t i)
{
    b->wanted[b->n] = i << TURN_BITS | b->n;
    b->n++;
}

bool store_batch_is_full(const struct store_batch *b)
{
    return b->n == b->room;
}

static int compare_wanted(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Where it lies, and its bytes where there is room for them. */
static int find_document(struct store_batch *b, uint64_t wanted, size_t *used)
{
    struct batch_document *d = &b->list[wanted & (BATCH_MOST - 1)];
    const char *block;
    int rc = store_find(b->store, &b->ends, wanted >> TURN_BITS, &d->at, &d->bytes);
    d->held = NULL;
    if (rc != 0 || d->bytes > SPOOL_VIEW_BYTES || d->bytes > BATCH_BYTES - *used)
        return rc;
    if ((rc = spool_look(&b->data, &block, &b->store->data, d->at, (size_t)d->bytes)) != 0)
        return rc;
    d->held = memcpy(b->bytes + *used, block, (size_t)d->bytes);
    *used += (size_t)d->bytes;
    return 0;
}

int store_batch_read(struct store_batch *b, const struct progress *p, const char *what,
                     uint64_t done, uint64_t total)
{
    size_t used = 0;
    int rc = 0;
    qsort(b->wanted, b->n, sizeof *b->wanted, compare_wanted);
    for (size_t k = 0; k < b->n && rc == 0; k++) {
        rc = find_document(b, b->wanted[k], &used);
        if (rc == 0 && k % REPORT_EVERY == 0)
            rc = progress_step(p, what, done, total);
    }
    return rc;
}

int store_batch_look(struct store_batch *b, size_t k, uint64_t done, const char **out, size_t *n)
{
    const struct batch_document *d = &b->list[k];
    const uint64_t left = d->bytes - done;
    *n = left < SPOOL_VIEW_BYTES ? (size_t)left : SPOOL_VIEW_BYTES;
    if (d->held == NULL && *n > 0)
        return spool_look(&b->data, out, &b->store->data, d->at + done, *n);
    *out = *n > 0 ? d->held + done : NULL;
    return 0;
}
