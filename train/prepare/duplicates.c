/*
 * The keys of all documents are sorted, and behind the key the document: those that share one stand
 * next to each other, the earliest first. A document has one key; with `near` one for each band of
 * its signature, and those that share a key are compared with the first of them that stays. Bands
 * come one after the other, so what an earlier one has marked is left out of the next.
 */
#include "train/prepare/duplicates.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "train/prepare/sorter.h"

#include <string.h>

enum { MARKS_AT_ONCE = 1024, WORDS = 3 };
static const char LOOKING[] = "looking for duplicates";

struct search {
    const struct store *store;
    bool near;
    struct sorter sorter;
    unsigned char *bits;
    uint64_t *count;
    uint64_t keys[WORDS];   /* of the group in progress */
    uint64_t first;         /* its first document that stays */
    struct store_mark mark; /* of that one, when has_mark */
    bool has_group, has_mark;
};

static bool is_marked(const struct search *s, uint64_t i)
{
    return s->bits[i / 8] >> i % 8 & 1;
}

static void mark_document(struct search *s, uint64_t i)
{
    s->bits[i / 8] |= (unsigned char)(1 << i % 8);
    ++*s->count;
}

/* Four bits of a key say the band: the others tell documents apart well enough, since these are
 * compared. */
static int add_keys(struct search *s, const struct store_mark *m, uint64_t i)
{
    int rc = 0;
    if (m->hash.power[0] == 1) /* without letters and digits */
        return 0;
    if (!s->near)
        return sorter_add(&s->sorter, (const uint64_t[]){m->hash.sum[0], m->hash.sum[1], i});
    for (uint64_t band = 0; band < MIN_HASH_BANDS && rc == 0; band++)
        rc =
            sorter_add(&s->sorter,
                       (const uint64_t[]){band << 60 | min_hash_band(&m->near, (int)band) >> 4, i});
    return rc;
}

/* Progress counts documents twice: those whose keys were taken, and those that were compared. */
static int add_documents(struct search *s, const struct progress *p)
{
    const uint64_t all = s->store->n;
    char *block = mem_array(MARKS_AT_ONCE, sizeof(struct store_mark));
    int rc = block == NULL ? ERR_NOMEM : 0;
    for (uint64_t i = 0; i < all && rc == 0; i += MARKS_AT_ONCE) {
        const size_t n = all - i < MARKS_AT_ONCE ? (size_t)(all - i) : MARKS_AT_ONCE;
        rc = store_marks(s->store, block, i, n);
        for (size_t k = 0; k < n && rc == 0; k++) {
            struct store_mark m;
            memcpy(&m, block + k * s->store->mark_bytes, s->store->mark_bytes);
            rc = add_keys(s, &m, i + k);
        }
        if (rc == 0)
            rc = progress_step(p, LOOKING, i + n, 2 * all);
    }
    mem_free(block);
    return rc;
}

/* Whether document i is alike to the first of its group. */
static int compare_marks(struct search *s, uint64_t i, bool *alike)
{
    struct store_mark m;
    int rc = s->has_mark ? 0 : store_marks(s->store, &s->mark, s->first, 1);
    s->has_mark = rc == 0;
    if (rc == 0)
        rc = store_marks(s->store, &m, i, 1);
    *alike = rc == 0 && min_hash_likeness(&m.near, &s->mark.near) >= DUPLICATES_LIKENESS;
    return rc;
}

static int look_at(struct search *s, const uint64_t *record)
{
    const int n_keys = s->sorter.words - 1;
    const uint64_t i = record[n_keys];
    bool again = true;
    int rc = 0;
    if (is_marked(s, i))
        return 0;
    if (!s->has_group || memcmp(record, s->keys, (size_t)n_keys * sizeof *record) != 0) {
        memcpy(s->keys, record, (size_t)n_keys * sizeof *record);
        s->first = i;
        s->has_group = true;
        s->has_mark = false;
        return 0;
    }
    if (s->near)
        rc = compare_marks(s, i, &again);
    if (rc == 0 && again)
        mark_document(s, i);
    return rc;
}

static int look_at_groups(struct search *s, const struct progress *p)
{
    const uint64_t all = s->store->n, bands = s->near ? MIN_HASH_BANDS : 1;
    uint64_t record[WORDS], done = 0;
    bool got = true;
    int rc = 0;
    while (rc == 0 && (rc = sorter_next(&s->sorter, record, &got)) == 0 && got) {
        rc = look_at(s, record);
        if (rc == 0 && ++done % (MARKS_AT_ONCE * bands) == 0)
            rc = progress_step(p, LOOKING, all + done / bands, 2 * all);
    }
    return rc;
}

int duplicates_find(unsigned char *bits, uint64_t *count, const struct store *store, bool near,
                    size_t memory, const struct progress *p)
{
    struct search s = {.store = store, .near = near, .bits = bits, .count = count};
    int rc = sorter_open(&s.sorter, store->folder, near ? 2 : 3, memory);
    *count = 0;
    if (rc == 0)
        rc = add_documents(&s, p);
    if (rc == 0)
        rc = sorter_finish(&s.sorter, p, "sorting documents");
    if (rc == 0)
        rc = look_at_groups(&s, p);
    sorter_close(&s.sorter);
    return rc;
}
