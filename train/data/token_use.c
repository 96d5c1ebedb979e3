#include "train/data/token_use.h"

#include "model/base/err.h"
#include "model/base/mem.h"

enum { IDS_AT_ONCE = 1 << 16 };

static int length_class(uint64_t n)
{
    int i = 0;
    while (n >>= 1)
        i++;
    return i < USE_LENGTHS ? i : USE_LENGTHS - 1;
}

static void count_lengths(struct token_use *u, const struct dataset *d)
{
    u->shortest = UINT64_MAX;
    for (uint64_t i = 0; i < d->n_documents; i++) {
        const uint64_t n = d->documents[i + 1] - d->documents[i];
        u->shortest = n < u->shortest ? n : u->shortest;
        u->longest = n > u->longest ? n : u->longest;
        u->lengths[length_class(n)]++;
    }
}

/* The length that half of the documents do not pass: found by halving, without a sorted copy. */
static uint64_t find_median(const struct token_use *u, const struct dataset *d)
{
    uint64_t low = u->shortest, high = u->longest;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        uint64_t below = 0;
        for (uint64_t i = 0; i < d->n_documents; i++)
            below += d->documents[i + 1] - d->documents[i] <= middle;
        if (2 * below >= d->n_documents)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct reading {
    const struct dataset *data;
    token_id eos;
    unsigned char *bits; /* of each id: it was seen */
    uint64_t document;   /* in which the next id lies */
    bool begins;         /* that has its eos first */
};

static void look_at_ids(struct token_use *u, struct reading *r, const token_id *ids, uint64_t at,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t id = (size_t)ids[i];
        u->used += !(r->bits[id / 8] >> id % 8 & 1);
        r->bits[id / 8] |= (unsigned char)(1 << id % 8);
        const bool first = at + i == r->data->documents[r->document];
        const bool last = at + i + 1 == r->data->documents[r->document + 1];
        if (first)
            r->begins = dataset_begins_with_end(r->data, at + i);
        const bool bound = r->begins ? first : last;
        u->ended += bound && ids[i] == r->eos;
        u->inside += !bound && ids[i] == r->eos;
        u->seen += bound;
        r->document += last;
    }
}

int token_use_read(struct token_use *u, const struct dataset *d, token_id eos,
                   const struct progress *p)
{
    struct data_summary s;
    struct reading r = {.data = d, .eos = eos};
    *u = (struct token_use){0};
    dataset_summary(d, &s);
    count_lengths(u, d);
    u->median = find_median(u, d);
    /* Ids that were not checked when the files were opened may be any. */
    const size_t most = s.whole ? (size_t)s.most : INT32_MAX;
    const uint64_t read = d->n_tokens < USE_READ ? d->n_tokens : USE_READ;
    token_id *ids = mem_array(IDS_AT_ONCE, sizeof *ids);
    int rc = ids == NULL || (r.bits = mem_alloc(most / 8 + 1)) == NULL ? ERR_NOMEM : 0;
    while (rc == 0 && u->read < read) {
        const size_t n = read - u->read < IDS_AT_ONCE ? (size_t)(read - u->read) : IDS_AT_ONCE;
        if ((rc = dataset_read(d, ids, u->read, n)) != 0)
            break;
        look_at_ids(u, &r, ids, u->read, n);
        u->read += n;
        rc = progress_step(p, "looking at tokens", u->read, read);
    }
    mem_free(ids);
    mem_free(r.bits);
    return rc;
}
