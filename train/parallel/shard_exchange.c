#include "train/parallel/shard_exchange.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/shard_cursor.h"

#include <string.h>

enum { PART_BYTES = 1 << 20 };

struct shard_exchange {
    struct rank_group group;
    struct config whole;
    size_t each;          /* bytes of an element */
    struct spans *slices; /* [size] */
    char *out, *in;       /* [PART_BYTES] */
};

/* What one rank's shard and another's slices have in common, in their order. */
struct stream {
    struct shard_cursor cursor;
    const struct spans *slices;
    int at;              /* the slice */
    bool divided;        /* without what all shards have */
    char *shard, *slice; /* the one of this rank is there */
    size_t first;        /* of the shard's elements, the one that it begins with */
};

size_t shard_exchange_bytes(void)
{
    return 2 * PART_BYTES;
}

int shard_exchange_new(struct shard_exchange **out, const struct rank_group *g,
                       const struct config *whole, const struct spans *slices, enum dtype dtype)
{
    struct shard_exchange *x = mem_alloc(sizeof *x);
    const size_t n = (size_t)g->size;
    *out = NULL;
    if (x == NULL)
        return ERR_NOMEM;
    *x = (struct shard_exchange){.group = *g, .whole = *whole, .each = dtype_bytes(dtype)};
    x->slices = mem_array(n, sizeof *x->slices);
    x->out = mem_alloc(PART_BYTES);
    x->in = mem_alloc(PART_BYTES);
    if (x->slices == NULL || x->out == NULL || x->in == NULL) {
        shard_exchange_free(x);
        return ERR_NOMEM;
    }
    memcpy(x->slices, slices, n * sizeof *slices);
    *out = x;
    return 0;
}

void shard_exchange_free(struct shard_exchange *x)
{
    if (x == NULL)
        return;
    mem_free(x->slices);
    mem_free(x->out);
    mem_free(x->in);
    mem_free(x);
}

static struct stream open_stream(const struct shard_exchange *x, int shard, int slice)
{
    struct stream s = {.slices = &x->slices[slice]};
    struct shard of;
    shard_init(&of, &x->whole, x->group.size, shard);
    shard_cursor_init(&s.cursor, &x->whole, &of);
    return s;
}

static bool next_run(struct stream *s, struct shard_run *out, size_t most)
{
    for (; s->at < s->slices->n; s->at++) {
        const struct span own = s->slices->at[s->at];
        while (own.n > 0 && shard_cursor_next(&s->cursor, out, own.first, own.first + own.n, most))
            if (out->divided || !s->divided)
                return true;
    }
    return false;
}

/* Where a run lies in the shard. */
static char *in_shard(const struct shard_exchange *x, const struct stream *s,
                      const struct shard_run *run)
{
    return s->shard + (run->own - s->first) * x->each;
}

/* Where a run lies in the slices. */
static char *in_slice(const struct shard_exchange *x, const struct stream *s,
                      const struct shard_run *run)
{
    return s->slice + (run->whole - s->slices->at[0].first) * x->each;
}

enum way { PACK_SHARD, PACK_SLICE, FILL_SHARD, FILL_SLICE };

/* The next part of a stream to or from a buffer. Returns its bytes; 0: there is none. */
static size_t move_part(const struct shard_exchange *x, struct stream *s, char *buffer,
                        enum way way)
{
    const size_t most = PART_BYTES / x->each;
    const bool of_shard = way == PACK_SHARD || way == FILL_SHARD;
    struct shard_run run;
    size_t n = 0;
    while (n < most && next_run(s, &run, most - n)) {
        char *here = of_shard ? in_shard(x, s, &run) : in_slice(x, s, &run),
             *there = buffer + n * x->each;
        if (way == PACK_SHARD || way == PACK_SLICE)
            memcpy(there, here, run.n * x->each);
        else
            memcpy(here, there, run.n * x->each);
        n += run.n;
    }
    return n * x->each;
}

static size_t count_stream(const struct shard_exchange *x, struct stream s)
{
    struct shard_run run;
    size_t n = 0;
    while (next_run(&s, &run, SIZE_MAX))
        n += run.n;
    return n * x->each;
}

/* To one rank and from another, a part at a time. */
static void swap_streams(const struct shard_exchange *x, struct stream *out, enum way pack, int to,
                         struct stream *in, enum way fill, int from)
{
    size_t left = count_stream(x, *in);
    for (size_t sent = 1; sent > 0 || left > 0;) {
        const size_t n =
            left < PART_BYTES / x->each * x->each ? left : PART_BYTES / x->each * x->each;
        struct transfer t[2] = {{.going = false}};
        sent = sent > 0 ? move_part(x, out, x->out, pack) : 0;
        if (n > 0)
            world_receive(group_rank(&x->group, from), TAG_SHARD, x->in, n, &t[0]);
        if (sent > 0)
            world_send(group_rank(&x->group, to), TAG_SHARD, x->out, sent, &t[1]);
        world_wait(t, 2);
        if (n > 0)
            move_part(x, in, x->in, fill);
        left -= n;
    }
}

/* Of a rank's shard and another's slices, of which one is here: as of places. */
static struct stream stream_at(const struct shard_exchange *x, const struct stream *places,
                               int shard, int slice)
{
    struct stream s = open_stream(x, shard, slice);
    s.divided = places->divided;
    s.shard = places->shard;
    s.slice = places->slice;
    s.first = places->first;
    return s;
}

/* What this rank has of both itself. */
static void copy_own(const struct shard_exchange *x, const struct stream *places, bool to_slice)
{
    struct stream s = stream_at(x, places, x->group.own, x->group.own);
    struct shard_run run;
    s.divided = false;
    while (next_run(&s, &run, SIZE_MAX)) {
        char *own = in_shard(x, &s, &run), *updated = in_slice(x, &s, &run);
        memcpy(to_slice ? updated : own, to_slice ? own : updated, run.n * x->each);
    }
}

/* What all shards have, a slice has of its own rank, and gives to all. */
static void exchange(struct shard_exchange *x, const struct stream *places)
{
    const int size = x->group.size, own = x->group.own;
    const bool to_slice = places->divided;
    copy_own(x, places, to_slice);
    for (int i = 1; i < size; i++) {
        const int to = (own + i) % size, from = (own + size - i) % size;
        struct stream out =
                          to_slice ? stream_at(x, places, own, to) : stream_at(x, places, to, own),
                      in = to_slice ? stream_at(x, places, from, own)
                                    : stream_at(x, places, own, from);
        swap_streams(x, &out, to_slice ? PACK_SHARD : PACK_SLICE, to, &in,
                     to_slice ? FILL_SLICE : FILL_SHARD, from);
    }
}

void shard_exchange_gather(struct shard_exchange *x, void *slice, const void *shard, size_t first)
{
    exchange(
        x, &(struct stream){
               .shard = (char *)(uintptr_t)shard, .slice = slice, .first = first, .divided = true});
}

void shard_exchange_spread(struct shard_exchange *x, void *shard, const void *slice)
{
    exchange(x, &(struct stream){.shard = shard, .slice = (char *)(uintptr_t)slice});
}
