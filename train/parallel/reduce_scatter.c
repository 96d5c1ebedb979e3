/*
 * A shipment is one unit of one round; all ranks of the group work through the same list of them,
 * round by round, and each in parts of which two are on their way at once. A rank without a block
 * in a round only receives.
 */
#include "train/parallel/reduce_scatter.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/thread.h"
#include "train/parallel/round_plan.h"
#include "train/step/half_partials.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum {
    PART = 1 << 18,  /* elements that move at once, where ranks are few */
    PARTS = 1 << 21, /* those of all ranks together */
    IN_FLIGHT = 2,
    MOMENT_NS = 5000000
};

struct scatter_flight {
    char *buffers;              /* [size][part], of each rank's block */
    uint16_t *packed;           /* half: [2 size][part], to and from each rank; else NULL */
    struct transfer *transfers; /* [2 size] */
    int going;
};

struct reduce_scatter {
    struct rank_group group;
    int n_blocks, n_rounds, most_pending;
    struct unit_slices slices;
    enum dtype dtype;
    bool half;
    size_t part;
    char *gradients;             /* of the step in progress */
    char *slots[GRADIENT_NODES]; /* from where this rank's first slice begins */
    int n_slots;
    struct round_plan plan; /* of the shipment in progress */
    struct scatter_flight flights[IN_FLIGHT];
    struct step_result *own, *gathered, *sums; /* [blocks of rank 0], [size][those], [n_blocks] */
    int ended;                                 /* blocks of this rank */
    /* Under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool started, quit;
    int64_t given, shipped; /* shipments of the step */
};

int reduce_scatter_count(int n_blocks, int size, int rank)
{
    return (n_blocks - rank + size - 1) / size;
}

int reduce_scatter_block(int size, int rank, int i)
{
    return i * size + rank;
}
int reduce_scatter_slots(int n_blocks, int size)
{
    return round_plan_slots(n_blocks, size);
}

/* ---- memory ---- */

static bool allocate_sums(struct reduce_scatter *r)
{
    const size_t size = (size_t)r->group.size, most = (size_t)r->n_rounds;
    r->own = mem_array(most, sizeof *r->own);
    r->gathered = mem_array(size * most, sizeof *r->gathered);
    r->sums = mem_array((size_t)r->n_blocks, sizeof *r->sums);
    return r->own != NULL && r->gathered != NULL && r->sums != NULL;
}

/* Where this rank's first slice begins, and how far it is from there to the end of the last. */
static size_t slices_begin(const struct reduce_scatter *r)
{
    return unit_slices_span(&r->slices, 0)[r->group.own];
}

static size_t slices_bytes(const struct reduce_scatter *r)
{
    const size_t end = unit_slices_span(&r->slices, r->slices.n_spans - 1)[r->group.own + 1];
    return (end - slices_begin(r)) * dtype_bytes(r->dtype);
}

static size_t part_elements(int size)
{
    return PARTS / size < PART ? (size_t)(PARTS / size) : PART;
}

static size_t flight_bytes(const struct reduce_scatter *r)
{
    return (size_t)r->group.size * r->part * dtype_bytes(r->dtype);
}

static size_t packed_bytes(const struct reduce_scatter *r)
{
    return 2 * (size_t)r->group.size * r->part * sizeof(uint16_t);
}

size_t reduce_scatter_flights_bytes(int size, enum dtype dtype, bool half)
{
    const size_t packed = half_partials_of(half, dtype) ? 2 * sizeof(uint16_t) : 0;
    return IN_FLIGHT * (size_t)size * part_elements(size) * (dtype_bytes(dtype) + packed);
}

static bool allocate_memory(struct reduce_scatter *r)
{
    const size_t size = (size_t)r->group.size;
    bool done = (r->plan.joins = mem_array(size + GRADIENT_NODES, sizeof *r->plan.joins)) != NULL;
    for (int i = 0; i < IN_FLIGHT && done; i++) {
        struct scatter_flight *f = &r->flights[i];
        f->transfers = mem_array(2 * size, sizeof *f->transfers);
        f->buffers = mem_map("gradients of other ranks", flight_bytes(r));
        if (r->half)
            f->packed = mem_map("gradients in 16 bits", packed_bytes(r));
        done = f->transfers != NULL && f->buffers != NULL && (f->packed != NULL || !r->half);
    }
    for (int i = 0; i < r->n_slots && done; i++) {
        r->slots[i] = mem_map("slice of gradients", slices_bytes(r));
        done = r->slots[i] != NULL;
    }
    return done && allocate_sums(r);
}

static int copy_shape(struct reduce_scatter *r, const struct reduce_scatter_shape *s)
{
    const int size = s->group.size;
    r->group = s->group;
    r->n_blocks = s->n_blocks;
    r->n_rounds = (s->n_blocks + size - 1) / size;
    r->most_pending = s->most_pending;
    r->dtype = s->dtype;
    r->half = half_partials_of(s->half, s->dtype);
    r->part = part_elements(size);
    r->n_slots = round_plan_slots(s->n_blocks, size);
    return unit_slices_copy(&r->slices, &s->slices);
}

/* ---- a shipment ---- */

/* Part k of what the slice of a rank has of a unit. */
static size_t unit_part(const struct reduce_scatter *r, int unit, int rank, size_t k, size_t *n)
{
    return unit_slices_part(&r->slices, unit, rank, r->part, k, n);
}

static size_t count_parts(const struct reduce_scatter *r, int unit)
{
    size_t most = 0, n;
    for (int i = 0; i < r->group.size; i++)
        for (size_t k = most; unit_part(r, unit, i, k, &n), n > 0; k++)
            most = k + 1;
    return most;
}

static uint16_t *packed_to(const struct reduce_scatter *r, const struct scatter_flight *f, int to)
{
    return f->packed + (size_t)to * r->part;
}

static uint16_t *packed_from(const struct reduce_scatter *r, const struct scatter_flight *f,
                             int from)
{
    return packed_to(r, f, r->group.size + from);
}

/* n of this rank's gradients to another. */
static void send_part(struct reduce_scatter *r, struct scatter_flight *f, int to, size_t at,
                      size_t n)
{
    const size_t each = dtype_bytes(r->dtype);
    if (r->half)
        half_partials_pack(packed_to(r, f, to), (const float *)r->gradients + at, n);
    world_send(group_rank(&r->group, to), TAG_NODE,
               r->half ? (const void *)packed_to(r, f, to) : r->gradients + at * each,
               r->half ? n * sizeof(uint16_t) : n * each, &f->transfers[f->going++]);
}

static void receive_part(struct reduce_scatter *r, struct scatter_flight *f, int from, size_t n)
{
    const size_t each = dtype_bytes(r->dtype);
    char *buffer = f->buffers + (size_t)from * r->part * each;
    world_receive(group_rank(&r->group, from), TAG_NODE,
                  r->half ? (void *)packed_from(r, f, from) : buffer,
                  r->half ? n * sizeof(uint16_t) : n * each, &f->transfers[f->going++]);
}

static void begin_part(struct reduce_scatter *r, int unit, size_t k)
{
    struct scatter_flight *f = &r->flights[k % IN_FLIGHT];
    const int own = r->group.own;
    size_t n, at;
    f->going = 0;
    for (int to = 0; to < r->group.size && own < r->plan.n; to++) {
        at = unit_part(r, unit, to, k, &n);
        if (to != own && n > 0)
            send_part(r, f, to, at, n);
    }
    unit_part(r, unit, own, k, &n);
    for (int from = 0; from < r->plan.n && n > 0; from++)
        if (from != own)
            receive_part(r, f, from, n);
}

/* Where part of a node is that begins at an element of the gradients. */
static char *node_part(struct reduce_scatter *r, const struct scatter_flight *f,
                       struct node_place p, size_t at)
{
    const size_t each = dtype_bytes(r->dtype);
    if (!p.received)
        return r->slots[p.at] + (at - slices_begin(r)) * each;
    return p.at == r->group.own ? r->gradients + at * each
                                : f->buffers + (size_t)p.at * r->part * each;
}

/* The blocks of a part are here, n of each, at an element of the gradients: as nodes, of which this
 * rank's own is rounded now. */
static void unpack_part(struct reduce_scatter *r, struct scatter_flight *f, size_t at, size_t n)
{
    for (int from = 0; from < r->plan.n && n > 0; from++)
        if (from == r->group.own)
            half_partials_round((float *)r->gradients + at, n);
        else
            half_partials_unpack((float *)f->buffers + (size_t)from * r->part,
                                 packed_from(r, f, from), n);
}

static void end_part(struct reduce_scatter *r, int unit, size_t k)
{
    struct scatter_flight *f = &r->flights[k % IN_FLIGHT];
    const struct round_plan *p = &r->plan;
    size_t n;
    const size_t at = unit_part(r, unit, r->group.own, k, &n);
    world_wait(f->transfers, f->going);
    if (r->half)
        unpack_part(r, f, at, n);
    for (int i = 0; i < p->n_joins && n > 0; i++)
        gradient_blocks_add(node_part(r, f, p->joins[i].right, at),
                            node_part(r, f, p->joins[i].left, at), n, r->dtype, r->half);
    for (int i = 0; i < p->depth && n > 0; i++)
        if (p->stack[i].received)
            memcpy(node_part(r, f, (struct node_place){false, i}, at),
                   node_part(r, f, p->stack[i], at), n * dtype_bytes(r->dtype));
}

/* Where the memory is wanted for others; else it stays, since to have it again takes longer than to
 * set it to zero: most of all in virtual machines, whose hosts have it back by then. */
static void clear_unit(struct reduce_scatter *r, int unit)
{
    const struct sliced_unit *u = &r->slices.units[unit];
    const size_t each = dtype_bytes(r->dtype);
    char *at = r->gradients + u->first * each;
    if (r->most_pending > 0)
        mem_clear_part(at, u->n * each);
    else
        memset(at, 0, u->n * each);
}

static void ship_unit(struct reduce_scatter *r, int64_t shipment)
{
    const int unit = (int)(shipment % r->slices.n_units),
              round = (int)(shipment / r->slices.n_units);
    const size_t n = count_parts(r, unit);
    if (unit == 0)
        round_plan_next(&r->plan, r->n_blocks, r->group.size, round);
    for (size_t k = 0; k <= n; k++) {
        if (k < n)
            begin_part(r, unit, k);
        if (k > 0)
            end_part(r, unit, k - 1);
    }
    if (r->group.own < r->plan.n)
        clear_unit(r, unit);
}

/* Those that have been given; the lock is held. */
static void ship_given(struct reduce_scatter *r)
{
    while (r->shipped < r->given) {
        const int64_t next = r->shipped;
        pthread_mutex_unlock(&r->lock);
        ship_unit(r, next);
        pthread_mutex_lock(&r->lock);
        r->shipped = next + 1;
        pthread_cond_broadcast(&r->changed);
    }
}

static void *ship_all(void *arg)
{
    struct reduce_scatter *r = arg;
    pthread_mutex_lock(&r->lock);
    for (;;) {
        ship_given(r);
        if (r->quit)
            break;
        if (r->shipped == r->given)
            pthread_cond_wait(&r->changed, &r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static int start_thread(struct reduce_scatter *r)
{
    const int rc = thread_start(&r->thread, ship_all, r);
    r->started = rc == 0;
    return rc;
}

/* Waits are by a clock that nobody sets. */
static void init_lock(struct reduce_scatter *r)
{
    pthread_condattr_t clock;
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&r->changed, &clock);
    pthread_condattr_destroy(&clock);
}

int reduce_scatter_new(struct reduce_scatter **out, const struct reduce_scatter_shape *s)
{
    struct reduce_scatter *r = mem_alloc(sizeof *r);
    *out = NULL;
    if (r == NULL)
        return ERR_NOMEM;
    init_lock(r);
    int rc = copy_shape(r, s);
    if (rc == 0 && !allocate_memory(r))
        rc = ERR_NOMEM;
    if (rc == 0)
        rc = start_thread(r);
    if (rc != 0) {
        reduce_scatter_free(r);
        return rc;
    }
    *out = r;
    return 0;
}

void reduce_scatter_free(struct reduce_scatter *r)
{
    if (r == NULL)
        return;
    if (r->started) {
        pthread_mutex_lock(&r->lock);
        r->quit = true;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
        pthread_join(r->thread, NULL);
    }
    for (int i = 0; i < IN_FLIGHT; i++) {
        mem_free(r->flights[i].transfers);
        mem_unmap(r->flights[i].buffers, flight_bytes(r));
        mem_unmap(r->flights[i].packed, packed_bytes(r));
    }
    for (int i = 0; i < r->n_slots; i++)
        mem_unmap(r->slots[i], r->slices.bounds == NULL ? 0 : slices_bytes(r));
    mem_free(r->plan.joins);
    mem_free(r->own);
    mem_free(r->gathered);
    mem_free(r->sums);
    unit_slices_release(&r->slices);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
    mem_free(r);
}

/* ---- a step ---- */

void reduce_scatter_begin(struct reduce_scatter *r, void *gradients)
{
    pthread_mutex_lock(&r->lock);
    r->gradients = gradients;
    r->given = r->shipped = 0;
    pthread_mutex_unlock(&r->lock);
    r->ended = 0;
}

/* Of the block before; for the first there is none, and it is negative. */
static int64_t shipment_before(const struct reduce_scatter *r, int unit)
{
    return (int64_t)(r->ended - 1) * r->slices.n_units + unit;
}

bool reduce_scatter_is_ready(struct reduce_scatter *r, int unit)
{
    pthread_mutex_lock(&r->lock);
    const bool ready = r->shipped > shipment_before(r, unit);
    pthread_mutex_unlock(&r->lock);
    return ready;
}

bool reduce_scatter_await(struct reduce_scatter *r, int unit)
{
    const int64_t mine = shipment_before(r, unit);
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += MOMENT_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    bool free = false;
    pthread_mutex_lock(&r->lock);
    for (int rc = 0; rc == 0;) {
        const bool bounded = r->most_pending > 0;
        free = r->shipped > mine && !(bounded && r->given - r->shipped >= r->most_pending);
        rc = free ? 1 : pthread_cond_timedwait(&r->changed, &r->lock, &until);
    }
    pthread_mutex_unlock(&r->lock);
    return free;
}

/* Up to this number of shipments are ready. */
static void give_until(struct reduce_scatter *r, int64_t n)
{
    pthread_mutex_lock(&r->lock);
    r->given = n > r->given ? n : r->given;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

void reduce_scatter_give(struct reduce_scatter *r, int unit)
{
    give_until(r, (int64_t)r->ended * r->slices.n_units + unit + 1);
}

void reduce_scatter_end_block(struct reduce_scatter *r, const struct step_result *sums)
{
    r->own[r->ended++] = *sums;
    /* Of rounds without a block of its own a rank gives nothing, and receives at once. */
    if (r->ended == reduce_scatter_count(r->n_blocks, r->group.size, r->group.own))
        give_until(r, (int64_t)r->n_rounds * r->slices.n_units);
}

static void wait_shipped(struct reduce_scatter *r)
{
    pthread_mutex_lock(&r->lock);
    while (r->shipped < r->given)
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

/* In the same tree. */
static void join_sums(struct reduce_scatter *r, struct step_result *sums)
{
    const int size = r->group.size;
    int begins[GRADIENT_NODES], depth = 0;
    group_all_gather(&r->group, r->gathered, r->own, (size_t)r->n_rounds * sizeof *r->own);
    for (int block = 0; block < r->n_blocks; block++) {
        struct step_result node = r->gathered[block % size * r->n_rounds + block / size];
        int from = block;
        for (; depth > 0 &&
               gradient_blocks_are_parts(r->n_blocks, begins[depth - 1], from, block + 1);
             depth--) {
            gradient_blocks_add_sums(&node, &r->sums[depth - 1]);
            from = begins[depth - 1];
        }
        begins[depth] = from;
        r->sums[depth++] = node;
    }
    *sums = r->sums[0];
}

void reduce_scatter_finish(struct reduce_scatter *r, struct step_result *sums)
{
    wait_shipped(r);
    join_sums(r, sums);
}

void reduce_scatter_abandon(struct reduce_scatter *r)
{
    int64_t *all = (int64_t *)r->gathered, most = 0;
    pthread_mutex_lock(&r->lock);
    const int64_t given = r->given;
    pthread_mutex_unlock(&r->lock);
    group_all_gather(&r->group, all, &given, sizeof given);
    for (int i = 0; i < r->group.size; i++)
        most = all[i] > most ? all[i] : most;
    /* What some have begun all go through, whatever the bytes. */
    give_until(r, most);
    wait_shipped(r);
}

const void *reduce_scatter_slices(const struct reduce_scatter *r)
{
    return r->slots[0];
}

size_t reduce_scatter_first(const struct reduce_scatter *r)
{
    return slices_begin(r);
}
