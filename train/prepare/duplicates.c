/*
 * Range by range of the keys: a table for one range at a time bounds the memory, and the marks are
 * read once a range. Of near duplicates the same is done for each band of the signature; those that
 * share the key of one are compared.
 */
#include "train/prepare/duplicates.h"

#include "model/base/err.h"
#include "model/base/mem.h"

#include <string.h>

enum { MARKS_AT_ONCE = 1024, RANGE_DOCUMENTS = 1 << 20, TABLE = 1 << 22 };

struct entry {
    uint64_t key, other; /* key 0: empty; other: the rest of a hash, or a document */
};

struct search {
    const struct store *store;
    bool near;
    struct entry *table; /* [TABLE] */
    size_t held;
    unsigned char *bits;
    uint64_t *count;
    uint64_t range, ranges, passes, pass;
    int band;
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

/* The entry of the key, and of `other` where that is a part of it; an empty one if there is none.
 */
static struct entry *find_entry(struct search *s, uint64_t key, uint64_t other)
{
    size_t at = (size_t)(key / s->ranges % TABLE);
    while (s->table[at].key != 0 &&
           (s->table[at].key != key || (!s->near && s->table[at].other != other)))
        at = (at + 1) % TABLE;
    return &s->table[at];
}

/* Whether a document is alike to an earlier one. */
static int compare_marks(const struct search *s, const struct store_mark *m, uint64_t earlier,
                         bool *alike)
{
    struct store_mark other;
    int rc = store_marks(s->store, &other, earlier, 1);
    *alike = rc == 0 && min_hash_likeness(&m->near, &other.near) >= DUPLICATES_LIKENESS;
    return rc;
}

/* Keys are spread evenly over the ranges, so that no table is ever near to full. */
static int look_up(struct search *s, const struct store_mark *m, uint64_t i)
{
    const uint64_t key = s->near ? min_hash_band(&m->near, s->band) : m->hash.sum[0] + 1;
    const uint64_t other = s->near ? i : m->hash.sum[1];
    bool again = true;
    int rc = 0;
    if (key % s->ranges != s->range || is_marked(s, i) || m->hash.power[0] == 1)
        return 0; /* a text without letters and digits has the power 1 */
    struct entry *e = find_entry(s, key, other);
    if (e->key == 0 && s->held < TABLE / 2) {
        *e = (struct entry){key, other};
        s->held++;
        return 0;
    }
    if (e->key == 0)
        return 0;
    if (s->near)
        rc = compare_marks(s, m, e->other, &again);
    if (rc == 0 && again)
        mark_document(s, i);
    return rc;
}

static int search_range(struct search *s, char *block, const struct progress *p)
{
    const uint64_t all = s->store->n;
    int rc = 0;
    s->held = 0;
    memset(s->table, 0, TABLE * sizeof *s->table);
    for (uint64_t i = 0; i < all && rc == 0; i += MARKS_AT_ONCE) {
        const size_t n = all - i < MARKS_AT_ONCE ? (size_t)(all - i) : MARKS_AT_ONCE;
        rc = store_marks(s->store, block, i, n);
        for (size_t k = 0; k < n && rc == 0; k++) {
            struct store_mark m;
            memcpy(&m, block + k * s->store->mark_bytes, s->store->mark_bytes);
            rc = look_up(s, &m, i + k);
        }
        if (rc == 0)
            rc = progress_step(p, "looking for duplicates", s->pass * all + i + n, s->passes * all);
    }
    s->pass++;
    return rc;
}

int duplicates_find(unsigned char *bits, uint64_t *count, const struct store *store, bool near,
                    const struct progress *p)
{
    struct search s = {.store = store, .near = near, .bits = bits, .count = count};
    const int bands = near ? MIN_HASH_BANDS : 1;
    char *block = mem_array(MARKS_AT_ONCE, sizeof(struct store_mark));
    s.ranges = store->n / RANGE_DOCUMENTS + 1;
    s.passes = s.ranges * (uint64_t)bands;
    s.table = mem_array(TABLE, sizeof *s.table);
    int rc = block == NULL || s.table == NULL ? ERR_NOMEM : 0;
    *count = 0;
    for (s.band = 0; s.band < bands && rc == 0; s.band++)
        for (s.range = 0; s.range < s.ranges && rc == 0; s.range++)
            rc = search_range(&s, block, p);
    mem_free(s.table);
    mem_free(block);
    return rc;
}
