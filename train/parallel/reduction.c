#include "train/parallel/reduction.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "train/parallel/division.h"
#include "train/step/half_partials.h"

#include <string.h>

enum { PART = 1 << 18 /* elements that move at once */, IN_FLIGHT = 2, UNIT = 4096 };

/* A node of the tree, and whose it is. */
struct owned_node {
    int first, last, rank, index; /* index: of its rank's nodes */
};

/* right = left + right, by numbers of nodes. */
struct join {
    int left, right;
};

/* What is on its way of one part. */
struct flight {
    char *buffers;              /* of the nodes of others, [n_nodes][part] */
    uint16_t *packed;           /* half: [n_received + n_sent][part]; else NULL */
    struct transfer *transfers; /* [n_transfers] */
    int n_nodes, n_sums;        /* those going: of nodes, and behind them of sums */
    const char **at;            /* [n_nodes], this part of each node */
};

struct reduction {
    struct rank_group group;
    int n_nodes, n_joins, result; /* result: the node that becomes the step's */
    struct owned_node *nodes;     /* [n_nodes], in the order of their blocks */
    struct join *joins;           /* [n_joins], in the tree's order */
    struct step_result *sums;     /* [n_nodes] */
    size_t *bounds;               /* [size + 1] */
    size_t part;                  /* elements */
    int n_parts;                  /* of the longest slice */
    enum dtype dtype;
    bool half;
    int n_received, n_sent;       /* half: messages of a part at once */
    int max_nodes;                /* of a rank */
    struct step_result *gathered; /* [size][max_nodes] */
    struct step_result *own;      /* [max_nodes] */
    struct flight flights[IN_FLIGHT];
};

/* ---- the tree ---- */

/* The nodes that the blocks of one rank are joined to there, behind the `at` there are; nodes NULL:
 * only counted. */
static int add_nodes(struct owned_node *nodes, int at, int n_blocks, int first, int last, int rank)
{
    struct owned_node own[GRADIENT_NODES];
    int n = 0;
    for (int block = first; block < last; block++) {
        int from = block;
        while (n > 0 && gradient_blocks_are_parts(n_blocks, own[n - 1].first, from, block + 1))
            from = own[--n].first;
        own[n] = (struct owned_node){from, block + 1, rank, n};
        n++;
    }
    if (nodes != NULL)
        memcpy(nodes + at, own, (size_t)n * sizeof *own);
    return n;
}

/* Of one more rank. */
static void count_nodes(struct reduction *r, int n_blocks, int first, int last)
{
    const int n = add_nodes(NULL, 0, n_blocks, first, last, 0);
    r->n_nodes += n;
    r->max_nodes = n > r->max_nodes ? n : r->max_nodes;
}

/* In the order in which one process would come to them. */
static void list_joins(struct reduction *r, int n_blocks)
{
    int stack[2 * GRADIENT_NODES], begins[2 * GRADIENT_NODES], n = 0;
    for (int i = 0; i < r->n_nodes; i++) {
        int from = r->nodes[i].first;
        for (; n > 0 && gradient_blocks_are_parts(n_blocks, begins[n - 1], from, r->nodes[i].last);
             n--) {
            r->joins[r->n_joins++] = (struct join){stack[n - 1], i};
            from = begins[n - 1];
        }
        stack[n] = i;
        begins[n++] = from;
    }
    r->result = stack[0];
}

/* ---- memory ---- */

static int n_transfers(const struct reduction *r)
{
    return (r->group.size - 1) * (r->max_nodes + 2) + r->n_nodes;
}

static size_t longest_slice(const size_t *bounds, int size)
{
    size_t longest = 0;
    for (int i = 0; i < size; i++)
        if (bounds[i + 1] - bounds[i] > longest)
            longest = bounds[i + 1] - bounds[i];
    return longest;
}

/* Nodes, and then sums, of others; this rank's nodes to each of them, and then its sum. */
static void count_packed(struct reduction *r)
{
    const int size = r->group.size;
    r->n_received = r->n_nodes > size ? r->n_nodes : size;
    r->n_sent = (size - 1) * r->max_nodes;
}

static size_t packed_bytes(const struct reduction *r)
{
    return (size_t)(r->n_received + r->n_sent) * r->part * sizeof(uint16_t);
}

static size_t buffers_bytes(const struct reduction *r)
{
    return (size_t)r->n_nodes * r->part * dtype_bytes(r->dtype);
}

size_t reduction_bytes(int n_blocks, int size, size_t n, enum dtype dtype, bool half)
{
    const size_t longest = (n + (size_t)size - 1) / (size_t)size;
    struct reduction r = {.group.size = size, .dtype = dtype};
    r.part = longest < PART ? longest : PART;
    for (int i = 0; i < size; i++) {
        int first, last;
        division_share(n_blocks, size, i, &first, &last);
        count_nodes(&r, n_blocks, first, last);
    }
    count_packed(&r);
    return IN_FLIGHT * (buffers_bytes(&r) + (half_partials_of(half, dtype) ? packed_bytes(&r) : 0));
}

static bool allocate_flight(const struct reduction *r, struct flight *f)
{
    f->transfers = mem_array((size_t)n_transfers(r), sizeof *f->transfers);
    f->at = mem_array((size_t)r->n_nodes, sizeof *f->at);
    f->buffers = mem_map("gradients of other ranks", buffers_bytes(r));
    if (r->half)
        f->packed = mem_map("gradients in 16 bits", packed_bytes(r));
    return f->transfers != NULL && f->at != NULL && f->buffers != NULL &&
           (f->packed != NULL || !r->half);
}

static bool allocate_reduction(struct reduction *r, const size_t *bounds)
{
    const size_t size = (size_t)r->group.size;
    r->nodes = mem_array((size_t)r->n_nodes, sizeof *r->nodes);
    r->joins = mem_array((size_t)r->n_nodes, sizeof *r->joins);
    r->sums = mem_array((size_t)r->n_nodes, sizeof *r->sums);
    r->bounds = mem_array(size + 1, sizeof *r->bounds);
    r->own = mem_array((size_t)r->max_nodes, sizeof *r->own);
    r->gathered = mem_array(size * (size_t)r->max_nodes, sizeof *r->gathered);
    bool done = r->nodes != NULL && r->joins != NULL && r->sums != NULL && r->bounds != NULL &&
                r->own != NULL && r->gathered != NULL;
    for (int i = 0; i < IN_FLIGHT && done; i++)
        done = allocate_flight(r, &r->flights[i]);
    if (done)
        memcpy(r->bounds, bounds, (size + 1) * sizeof *bounds);
    return done;
}

int reduction_new(struct reduction **out, const struct rank_group *g, const int *firsts,
                  const size_t *bounds, enum dtype dtype, bool half)
{
    const int size = g->size;
    const size_t longest = longest_slice(bounds, size);
    struct reduction *r = mem_alloc(sizeof *r);
    *out = NULL;
    if (r == NULL)
        return ERR_NOMEM;
    r->group = *g;
    r->dtype = dtype;
    r->half = half_partials_of(half, dtype);
    r->part = longest < PART ? longest : PART;
    r->n_parts = r->part == 0 ? 0 : (int)((longest + r->part - 1) / r->part);
    for (int i = 0; i < size; i++)
        count_nodes(r, firsts[size], firsts[i], firsts[i + 1]);
    count_packed(r);
    if (!allocate_reduction(r, bounds)) {
        reduction_free(r);
        return ERR_NOMEM;
    }
    for (int i = 0, at = 0; i < size; i++)
        at += add_nodes(r->nodes, at, firsts[size], firsts[i], firsts[i + 1], i);
    list_joins(r, firsts[size]);
    *out = r;
    return 0;
}

void reduction_free(struct reduction *r)
{
    if (r == NULL)
        return;
    for (int i = 0; i < IN_FLIGHT; i++) {
        struct flight *f = &r->flights[i];
        mem_unmap(f->buffers, buffers_bytes(r));
        mem_unmap(f->packed, packed_bytes(r));
        mem_free(f->transfers);
        mem_free(f->at);
    }
    mem_free(r->nodes);
    mem_free(r->joins);
    mem_free(r->sums);
    mem_free(r->bounds);
    mem_free(r->own);
    mem_free(r->gathered);
    mem_free(r);
}

/* ---- parts ---- */

/* Where part k of a rank's slice begins, and its elements: 0 behind its end. */
static size_t slice_part(const struct reduction *r, int rank, int k, size_t *n)
{
    const size_t at = r->bounds[rank] + (size_t)k * r->part, end = r->bounds[rank + 1];
    *n = at >= end ? 0 : end - at < r->part ? end - at : r->part;
    return at;
}

/* Bytes of an element on its way. */
static size_t sent_bytes(const struct reduction *r)
{
    return r->half ? sizeof(uint16_t) : dtype_bytes(r->dtype);
}

/* Where message i of this part comes in, or with half goes out from. */
static uint16_t *received_at(const struct reduction *r, const struct flight *f, int i)
{
    return f->packed + (size_t)i * r->part;
}

static uint16_t *sent_at(const struct reduction *r, const struct flight *f, int i)
{
    return received_at(r, f, r->n_received + i);
}

struct convert_job {
    float *wide;
    uint16_t *packed;
    size_t n;
};

static void pack_share(void *arg, int thread, int n_threads)
{
    const struct convert_job *j = arg;
    size_t first, n;
    profile_set(PART_EXCHANGE);
    par_split_units(j->n, UNIT, thread, n_threads, &first, &n);
    half_partials_pack(j->packed + first, j->wide + first, n);
}

static void unpack_share(void *arg, int thread, int n_threads)
{
    const struct convert_job *j = arg;
    size_t first, n;
    profile_set(PART_EXCHANGE);
    par_split_units(j->n, UNIT, thread, n_threads, &first, &n);
    half_partials_unpack(j->wide + first, j->packed + first, n);
}

/* What is to be sent as message i of this part, for data [n]. */
static const void *pack_message(const struct reduction *r, const struct flight *f, int i,
                                void *data, size_t n)
{
    if (!r->half)
        return data;
    par_run(pack_share, &(struct convert_job){data, sent_at(r, f, i), n});
    return sent_at(r, f, i);
}

/* This rank's nodes to the ranks of the slices, and those of others here. */
static void begin_nodes(struct reduction *r, int k, const struct gradient_blocks *b)
{
    struct flight *f = &r->flights[k % IN_FLIGHT];
    const size_t each = dtype_bytes(r->dtype);
    const int own = r->group.own;
    size_t n, at;
    f->n_nodes = f->n_sums = 0;
    for (int to = 0; to < r->group.size; to++) {
        at = slice_part(r, to, k, &n);
        for (int i = 0; i < b->n_nodes && to != own && n > 0; i++) {
            char *data = (char *)b->nodes[i].data + at * each;
            world_send(group_rank(&r->group, to), TAG_PART, pack_message(r, f, f->n_nodes, data, n),
                       n * sent_bytes(r), &f->transfers[f->n_nodes]);
            f->n_nodes++;
        }
    }
    at = slice_part(r, own, k, &n);
    for (int i = 0; i < r->n_nodes && n > 0; i++) {
        const struct owned_node *node = &r->nodes[i];
        char *buffer = f->buffers + (size_t)i * r->part * each;
        f->at[i] = buffer;
        if (node->rank == own)
            f->at[i] = (const char *)b->nodes[node->index].data + at * each;
        else
            world_receive(group_rank(&r->group, node->rank), TAG_PART,
                          r->half ? (void *)received_at(r, f, i) : buffer, n * sent_bytes(r),
                          &f->transfers[f->n_nodes++]);
    }
}

struct join_job {
    const struct reduction *r;
    const struct flight *f;
    size_t n;
    char *to;
};

static void join_share(void *arg, int thread, int n_threads)
{
    const struct join_job *j = arg;
    const struct reduction *r = j->r;
    const size_t each = dtype_bytes(r->dtype);
    size_t first, n;
    profile_set(PART_EXCHANGE);
    par_split_units(j->n, UNIT, thread, n_threads, &first, &n);
    for (int i = 0; i < r->n_nodes && r->half; i++)
        if (r->nodes[i].rank != r->group.own)
            half_partials_unpack((float *)j->f->at[i] + first, received_at(r, j->f, i) + first, n);
    for (int i = 0; i < r->n_joins; i++)
        gradient_blocks_add((char *)j->f->at[r->joins[i].right] + first * each,
                            j->f->at[r->joins[i].left] + first * each, n, r->dtype, r->half);
    const char *from = j->f->at[r->result];
    if (from != j->to)
        memcpy(j->to + first * each, from + first * each, n * each);
}

/* This rank's sums of part k to all, and theirs here. */
static void begin_sums(struct reduction *r, int k, char *gradients)
{
    struct flight *f = &r->flights[k % IN_FLIGHT];
    struct transfer *sums = f->transfers + f->n_nodes;
    const size_t each = dtype_bytes(r->dtype), sent = sent_bytes(r);
    const int own = r->group.own;
    size_t n, n_other;
    const size_t at = slice_part(r, own, k, &n);
    const void *message = pack_message(r, f, 0, gradients + at * each, n);
    for (int other = 0; other < r->group.size; other++) {
        const size_t from = slice_part(r, other, k, &n_other);
        void *to = r->half ? (void *)received_at(r, f, other) : gradients + from * each;
        if (other != own && n > 0)
            world_send(group_rank(&r->group, other), TAG_WHOLE, message, n * sent,
                       &sums[f->n_sums++]);
        if (other != own && n_other > 0)
            world_receive(group_rank(&r->group, other), TAG_WHOLE, to, n_other * sent,
                          &sums[f->n_sums++]);
    }
}

/* Part k's nodes are here: they are joined where the gradients are, and sent to all. */
static void end_nodes(struct reduction *r, int k, char *gradients, bool to_all)
{
    struct flight *f = &r->flights[k % IN_FLIGHT];
    const size_t each = dtype_bytes(r->dtype);
    size_t n;
    world_wait(f->transfers, f->n_nodes);
    const size_t at = slice_part(r, r->group.own, k, &n);
    if (n > 0)
        par_run(join_share, &(struct join_job){r, f, n, gradients + at * each});
    if (to_all)
        begin_sums(r, k, gradients);
}

static void end_sums(struct reduction *r, int k, void *gradients)
{
    struct flight *f = &r->flights[k % IN_FLIGHT];
    world_wait(f->transfers + f->n_nodes, f->n_sums);
    for (int other = 0; other < r->group.size && r->half && f->n_sums > 0; other++) {
        size_t n;
        const size_t at = slice_part(r, other, k, &n);
        if (other != r->group.own)
            par_run(unpack_share,
                    &(struct convert_job){(float *)gradients + at, received_at(r, f, other), n});
    }
}

/* In the same tree. */
static void join_sums(struct reduction *r, const struct gradient_blocks *b,
                      struct step_result *sums)
{
    for (int i = 0; i < b->n_nodes; i++)
        r->own[i] = b->nodes[i].sums;
    group_all_gather(&r->group, r->gathered, r->own, (size_t)r->max_nodes * sizeof *r->own);
    for (int i = 0; i < r->n_nodes; i++)
        r->sums[i] = r->gathered[r->nodes[i].rank * r->max_nodes + r->nodes[i].index];
    for (int i = 0; i < r->n_joins; i++)
        gradient_blocks_add_sums(&r->sums[r->joins[i].right], &r->sums[r->joins[i].left]);
    *sums = r->sums[r->result];
}

void reduction_run(struct reduction *r, struct gradient_blocks *b, void *gradients,
                   struct step_result *sums, bool to_all)
{
    join_sums(r, b, sums);
    /* A part's sums go where its nodes lay, of which all were sent then. */
    for (int k = 0; k < r->n_parts + IN_FLIGHT; k++) {
        if (k >= IN_FLIGHT)
            end_sums(r, k - IN_FLIGHT, gradients);
        if (k < r->n_parts)
            begin_nodes(r, k, b);
        if (k >= 1 && k - 1 < r->n_parts)
            end_nodes(r, k - 1, gradients, to_all);
    }
}
