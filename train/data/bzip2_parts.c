#include "train/data/bzip2_parts.h"

#include "model/base/err.h"

#include <string.h>

enum { MARK_BITS = 48, CHECKSUM_BITS = 32 };
static const uint64_t block_mark = 0x314159265359, end_mark = 0x177245385090;

struct bzip2_mark {
    uint64_t at;
    bool end;
};

bool bzip2_parts_are(const char *head, size_t n)
{
    return n >= 10 && memcmp(head, "BZh", 3) == 0 && head[3] >= '1' && head[3] <= '9' &&
           memcmp(head + 4, "1AY&SY", 6) == 0;
}

void bzip2_parts_release(struct bzip2_parts *p)
{
    buf_release(&p->window);
    buf_release(&p->marks);
}

static size_t count_marks(const struct bzip2_parts *p)
{
    return p->marks.n / sizeof(struct bzip2_mark);
}

static const struct bzip2_mark *mark_of(const struct bzip2_parts *p, size_t k)
{
    return (const struct bzip2_mark *)(const void *)p->marks.data + k;
}

/* ---- finding them ---- */

/* Marks that end with one of the last byte's bits. */
static int find_marks(struct bzip2_parts *p)
{
    const uint64_t mask = ((uint64_t)1 << MARK_BITS) - 1;
    const uint64_t end = (p->from + p->looked) * 8;
    for (int behind = 7; behind >= 0; behind--) {
        const uint64_t bits = p->last >> behind & mask;
        if (bits != block_mark && bits != end_mark)
            continue;
        const struct bzip2_mark m = {end - (uint64_t)behind - MARK_BITS, bits == end_mark};
        if (buf_add(&p->marks, &m, sizeof m) != 0)
            return ERR_NOMEM;
    }
    return 0;
}

static int search_window(struct bzip2_parts *p)
{
    int rc = 0;
    while (p->looked < p->window.n && rc == 0) {
        p->last = p->last << 8 | (unsigned char)p->window.data[p->looked++];
        rc = find_marks(p);
    }
    return rc;
}

static int read_more(struct bzip2_parts *p)
{
    const void *bytes;
    const long n = p->next(p->user, &bytes);
    p->ended = n == 0;
    if (n < 0)
        return ERR_FORMAT;
    const int rc = buf_add(&p->window, bytes, (size_t)n);
    return rc == 0 ? search_window(p) : rc;
}

int bzip2_parts_find(struct bzip2_parts *p, size_t k, struct bzip2_part *part, bool *got)
{
    int rc = 0;
    while (
        rc == 0 && count_marks(p) < k + 2 && !p->ended &&
        (count_marks(p) <= k || (p->from + p->looked) - mark_of(p, k)->at / 8 <= BZIP2_MOST_BYTES))
        rc = read_more(p);
    *got = rc == 0 && count_marks(p) > k;
    if (!*got)
        return rc;
    const struct bzip2_mark *m = mark_of(p, k);
    const bool cut = count_marks(p) < k + 2;
    const uint64_t next = cut ? (p->from + p->looked) * 8 : m[1].at;
    *part = (struct bzip2_part){m->at, next - m->at, m->end, cut};
    return 0;
}

static void drop_front(struct buf *b, size_t n)
{
    memmove(b->data, b->data + n, b->n - n);
    b->n -= n;
}

void bzip2_parts_drop(struct bzip2_parts *p, size_t n)
{
    drop_front(&p->marks, n * sizeof(struct bzip2_mark));
    const uint64_t to = count_marks(p) > 0 ? mark_of(p, 0)->at / 8 : p->from + p->looked;
    drop_front(&p->window, (size_t)(to - p->from));
    p->looked -= (size_t)(to - p->from);
    p->from = to;
}

/* ---- their bits ---- */

uint64_t bzip2_parts_bits(const struct bzip2_parts *p, uint64_t at, int n)
{
    const size_t first = (size_t)(at / 8 - p->from);
    const int before = (int)(at % 8);
    uint64_t w = 0;
    for (size_t i = first; i < first + 8; i++)
        w = w << 8 | (i < p->window.n ? (unsigned char)p->window.data[i] : 0);
    return w << before >> (64 - n);
}

uint32_t bzip2_parts_checksum(const struct bzip2_parts *p, const struct bzip2_part *part)
{
    return (uint32_t)bzip2_parts_bits(p, part->at + MARK_BITS, CHECKSUM_BITS);
}

/* Some bits behind those that fill bytes of out: *held of them, fewer than 8, wait in *rest. */
static void add_bits(struct buf *out, uint64_t *rest, int *held, uint64_t bits, int n)
{
    *rest = *rest << n | bits;
    for (*held += n; *held >= 8; *held -= 8)
        out->data[out->n++] = (char)(*rest >> (*held - 8));
}

int bzip2_parts_copy(const struct bzip2_parts *p, const struct bzip2_part *block, struct buf *out)
{
    enum { AT_ONCE = 48, OWN_BYTES = 32 };
    uint64_t rest = 0, at = block->at;
    const uint64_t end = at + block->bits;
    int held = 0;
    out->n = 0;
    int rc = buf_reserve(out, (size_t)(block->bits / 8) + OWN_BYTES);
    if (rc != 0)
        return rc;
    memcpy(out->data, "BZh9", 4);
    out->n = 4;
    for (int n; at < end; at += (uint64_t)n) {
        n = end - at < AT_ONCE ? (int)(end - at) : AT_ONCE;
        add_bits(out, &rest, &held, bzip2_parts_bits(p, at, n), n);
    }
    if (block->cut)
        return 0;
    add_bits(out, &rest, &held, end_mark, MARK_BITS);
    add_bits(out, &rest, &held, bzip2_parts_checksum(p, block), CHECKSUM_BITS);
    add_bits(out, &rest, &held, 0, (8 - held) % 8);
    return 0;
}
