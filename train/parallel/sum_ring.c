#include "train/parallel/sum_ring.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"

enum { MOST_BLOCKS = 64 };

struct sum_ring {
    struct rank_group group;
    char *rows; /* of the sum at work */
    size_t row_bytes;
    int n_rows, rounds, blocks;
    int posted; /* blocks that may come, of all rounds */
    struct transfer receiving[MOST_BLOCKS], sending[MOST_BLOCKS];
    struct transfer *spread; /* [2 * size], of a gathering */
    size_t *bounds;          /* [size + 1], where each one's part begins */
};

int sum_ring_new(struct sum_ring **out, const struct rank_group *g)
{
    struct sum_ring *r = mem_alloc(sizeof *r);
    *out = NULL;
    if (r == NULL)
        return ERR_NOMEM;
    r->group = *g;
    r->spread = mem_array(2 * (size_t)g->size, sizeof *r->spread);
    r->bounds = mem_array((size_t)g->size + 1, sizeof *r->bounds);
    if (r->spread == NULL || r->bounds == NULL) {
        sum_ring_free(r);
        return ERR_NOMEM;
    }
    *out = r;
    return 0;
}

void sum_ring_free(struct sum_ring *r)
{
    if (r == NULL)
        return;
    mem_free(r->spread);
    mem_free(r->bounds);
    mem_free(r);
}

/* The first begins the sum, and the last has it whole. */
static bool receives(const struct sum_ring *r, int round)
{
    return !(round == 0 && r->group.own == 0) &&
           !(round == r->rounds && r->group.own == r->group.size - 1);
}

static bool sends(const struct sum_ring *r, int round)
{
    return !(round == r->rounds && r->group.own >= r->group.size - 2);
}

static struct shard_range find_rows(const struct sum_ring *r, int block, size_t *bytes)
{
    struct shard_range out;
    shard_block(r->n_rows, block, &out.first, &out.last);
    *bytes = (size_t)(out.last - out.first) * r->row_bytes;
    return out;
}

/* The next one may come once its rows of the round before have gone. */
static bool post_next(struct sum_ring *r)
{
    const int round = r->posted / r->blocks, block = r->posted % r->blocks;
    const int from = (r->group.own + r->group.size - 1) % r->group.size;
    size_t bytes;
    if (round > r->rounds || !world_test(&r->sending[block], 1))
        return false;
    const struct shard_range rows = find_rows(r, block, &bytes);
    if (receives(r, round))
        world_receive(group_rank(&r->group, from), TAG_SUM,
                      r->rows + (size_t)rows.first * r->row_bytes, bytes, &r->receiving[block]);
    r->posted++;
    return true;
}

static void begin_sum(void *user, void *rows, size_t row_bytes, int n_rows, int rounds)
{
    struct sum_ring *r = user;
    r->rows = rows;
    r->row_bytes = row_bytes;
    r->n_rows = n_rows;
    r->rounds = rounds;
    r->blocks = shard_blocks(n_rows);
    r->posted = 0;
    for (int i = 0; i < r->blocks; i++)
        r->receiving[i].going = r->sending[i].going = false;
    /* Of a first round without a message, nothing may come before what this rank computes is gone.
     */
    while (r->posted < r->blocks && post_next(r))
        ;
}

static void await_block(void *user, int round, int block)
{
    struct sum_ring *r = user;
    const int at = round * r->blocks + block;
    const enum profile_part was = profile_set(PART_EXCHANGE);
    for (int times = 0; r->posted <= at;)
        if (!post_next(r))
            world_pause(&times);
    world_wait(&r->receiving[block], 1);
    profile_resume(was);
}

static void give_block(void *user, int round, int block)
{
    struct sum_ring *r = user;
    const int to = (r->group.own + 1) % r->group.size;
    size_t bytes;
    const struct shard_range rows = find_rows(r, block, &bytes);
    if (sends(r, round))
        world_send(group_rank(&r->group, to), TAG_SUM, r->rows + (size_t)rows.first * r->row_bytes,
                   bytes, &r->sending[block]);
    /* Those of the next round may come meanwhile, but none whose rows are still to be given. */
    while (r->posted <= round * r->blocks + block + r->blocks && post_next(r))
        ;
}

static void end_sum(void *user)
{
    struct sum_ring *r = user;
    world_wait(r->sending, r->blocks);
}

static void gather_rows(void *user, void *rows, size_t row_bytes, int n_rows)
{
    struct sum_ring *r = user;
    const size_t each = row_bytes % sizeof(float) == 0 ? sizeof(float) : sizeof(uint16_t);
    const enum profile_part was = profile_set(PART_EXCHANGE);
    for (int i = 0; i < r->group.size; i++) {
        int first, last;
        shard_rows(r->group.size, i, n_rows, &first, &last);
        r->bounds[i] = (size_t)first * (row_bytes / each);
    }
    r->bounds[r->group.size] = (size_t)n_rows * (row_bytes / each);
    group_spread(&r->group, r->bounds, rows, each, r->spread);
    profile_resume(was);
}

struct shard_link sum_ring_link(struct sum_ring *r)
{
    return (struct shard_link){begin_sum, await_block, give_block, end_sum, gather_rows, r};
}
