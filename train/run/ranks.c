#include "train/run/ranks.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "model/base/progress.h"
#include "train/parallel/reduction.h"
#include "train/run/inside.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SENTENCE = 900 };

/* The words of rank 0. */
enum word { WORD_STEP, WORD_STATE, WORD_END };

/* How micro-batches ended; or what rank 0 makes of it. */
struct meeting {
    int rank, rc;
    double hours, line_hours; /* of rank 0 */
    char sentence[SENTENCE];
};

struct run_ranks {
    struct reduction *reduction;
    int n_micro;
    uint64_t offset;
    bool said; /* rank 0 has said that it does not go on */
    struct meeting verdict;
    /* Of rank 0, of each other rank. */
    struct meeting *inbox;      /* [size] */
    struct transfer *receiving; /* [size] */
    struct transfer *sending;   /* [size] */
    enum word word;
    bool sliced;    /* each rank has its slice of the optimizer's state (zero=1) */
    bool *flags;    /* [size] */
    size_t *bounds; /* [size + 1] */
};

/* ---- opening ---- */

static int allocate_ranks(struct run_ranks *k)
{
    const size_t size = (size_t)world_size();
    k->inbox = mem_array(size, sizeof *k->inbox);
    k->receiving = mem_array(size, sizeof *k->receiving);
    k->sending = mem_array(size, sizeof *k->sending);
    k->flags = mem_array(size, sizeof *k->flags);
    k->bounds = mem_array(size + 1, sizeof *k->bounds);
    return k->inbox == NULL || k->receiving == NULL || k->sending == NULL || k->flags == NULL ||
                   k->bounds == NULL
               ? ERR_NOMEM
               : 0;
}

static int open_reduction(struct run *r)
{
    struct run_ranks *k = r->ranks;
    optimizer_slices(r->optimizer, world_size(), k->bounds);
    return reduction_new(&k->reduction, r->config.training.gradient_blocks, k->bounds,
                         r->trainable.dtype);
}

/* Rank 0's, to all others. */
static void say_word(struct run_ranks *k, enum word word)
{
    k->word = word;
    for (int i = 1; i < world_size(); i++)
        world_send(i, TAG_WORD, &k->word, sizeof k->word, &k->sending[i]);
    world_wait(k->sending, world_size());
}

void run_ranks_close(struct run *r)
{
    struct run_ranks *k = r->ranks;
    if (k == NULL)
        return;
    if (r->joined && world_rank() == 0)
        say_word(k, WORD_END);
    reduction_free(k->reduction);
    mem_free(k->inbox);
    mem_free(k->receiving);
    mem_free(k->sending);
    mem_free(k->flags);
    mem_free(k->bounds);
    mem_free(k);
    r->ranks = NULL;
}

int run_ranks_micro(const struct run *r)
{
    return r->ranks == NULL ? r->config.training.gradient_accumulation : r->ranks->n_micro;
}

uint64_t run_ranks_offset(const struct run *r)
{
    return r->ranks == NULL ? 0 : r->ranks->offset;
}

/* ---- an optimizer whose state is in slices ---- */

static void spread_sums(void *user, double *sums, const int *first)
{
    (void)user;
    for (int i = 0; i < world_size(); i++)
        world_broadcast(sums + 2 * first[i], (size_t)(first[i + 1] - first[i]) * 2 * sizeof *sums,
                        i);
}

static bool is_any(void *user, bool here)
{
    struct run_ranks *k = user;
    bool any = false;
    k->flags[world_rank()] = here;
    world_all_gather(k->flags, &here, sizeof here);
    for (int i = 0; i < world_size(); i++)
        any |= k->flags[i];
    return any;
}

static int open_share(struct run *r)
{
    const struct optimizer_share share = {.slice = world_rank(),
                                          .n = world_size(),
                                          .spread_sums = spread_sums,
                                          .any = is_any,
                                          .user = r->ranks};
    r->ranks->sliced = r->config.execution.zero > 0;
    return r->ranks->sliced ? optimizer_set_share(r->optimizer, &share) : 0;
}

/* Part of a block of the state: this rank's slice, or, of rank 0, that of another. */
struct state_part {
    char *at;
    size_t bytes;
};

static struct state_part find_part(struct run *r, const struct optimizer_block *b, int rank)
{
    const size_t each = dtype_bytes(b->dtype);
    optimizer_block_slices(r->optimizer, b, world_size(), r->ranks->bounds);
    const size_t from = r->ranks->bounds[rank], to = r->ranks->bounds[rank + 1];
    return (struct state_part){(char *)b->data + from * each, (to - from) * each};
}

static void send_state(struct run *r)
{
    struct optimizer_block blocks[OPTIMIZER_MAX_BLOCKS];
    const int n = optimizer_blocks(r->optimizer, blocks);
    for (int i = 0; i < n; i++) {
        const struct state_part p = find_part(r, &blocks[i], world_rank());
        world_send_whole(0, TAG_STATE, p.at, p.bytes);
    }
}

bool run_ranks_has_state(const struct run *r)
{
    return r->ranks == NULL || !r->ranks->sliced;
}

void run_ranks_gather_state(struct run *r)
{
    struct optimizer_block blocks[OPTIMIZER_MAX_BLOCKS];
    if (r->ranks == NULL || !r->ranks->sliced)
        return;
    const int n = optimizer_blocks(r->optimizer, blocks);
    say_word(r->ranks, WORD_STATE);
    for (int rank = 1; rank < world_size(); rank++)
        for (int i = 0; i < n; i++) {
            const struct state_part p = find_part(r, &blocks[i], rank);
            world_receive_whole(rank, TAG_STATE, p.at, p.bytes);
        }
}

/* Give whole pages of it back. */
static void drop_part(struct state_part p)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE),
                 before = (page - (uintptr_t)p.at % page) % page;
    if (p.bytes > before + page)
        mem_clear_map(p.at + before, (p.bytes - before) / page * page);
}

void run_ranks_drop_state(struct run *r)
{
    struct optimizer_block blocks[OPTIMIZER_MAX_BLOCKS];
    if (r->ranks == NULL || !r->ranks->sliced)
        return;
    const int n = optimizer_blocks(r->optimizer, blocks);
    for (int rank = 0; rank < world_size(); rank++)
        for (int i = 0; i < n && rank != world_rank(); i++)
            drop_part(find_part(r, &blocks[i], rank));
}

int run_ranks_open(struct run *r)
{
    const struct training_section *t = &r->config.training;
    const int of_block = t->gradient_accumulation / t->gradient_blocks;
    int first, last;
    if (world_size() == 1)
        return 0;
    struct run_ranks *k = r->ranks = mem_alloc(sizeof *k);
    if (k == NULL)
        return ERR_NOMEM;
    reduction_blocks(t->gradient_blocks, world_size(), world_rank(), &first, &last);
    k->n_micro = (last - first) * of_block;
    k->offset = (uint64_t)first * (uint64_t)of_block * (uint64_t)t->micro_batch_size;
    int rc = allocate_ranks(k);
    if (rc == 0)
        rc = open_reduction(r);
    return rc == 0 ? open_share(r) : rc;
}

/* ---- steps ---- */

static void begin_meeting(struct run *r)
{
    struct run_ranks *k = r->ranks;
    k->said = false;
    for (int i = 1; i < world_size() && world_rank() == 0; i++)
        world_receive(i, TAG_MEETING, &k->inbox[i], sizeof k->inbox[i], &k->receiving[i]);
}

void run_ranks_begin_step(struct run *r)
{
    if (r->ranks == NULL)
        return;
    say_word(r->ranks, WORD_STEP);
    begin_meeting(r);
}

bool run_ranks_follow(struct run *r)
{
    for (;;) {
        enum word word;
        world_receive_whole(0, TAG_WORD, &word, sizeof word);
        if (word == WORD_STATE) {
            send_state(r);
            continue;
        }
        if (word == WORD_STEP)
            begin_meeting(r);
        return word == WORD_STEP;
    }
}

/* What rank 0 makes of the step, to all. */
static void say_verdict(struct run *r)
{
    struct run_ranks *k = r->ranks;
    k->verdict.hours = r->state.hours;
    k->verdict.line_hours = r->state.tally.hours;
    for (int i = 1; i < world_size(); i++)
        world_send(i, TAG_VERDICT, &k->verdict, sizeof k->verdict, &k->sending[i]);
    k->said = true;
}

/* The step does not go on for what rank i has met. */
static void stop_step(struct run *r, const struct meeting *m)
{
    if (r->ranks->said)
        return;
    r->ranks->verdict = *m;
    say_verdict(r);
}

static struct meeting met(int rc)
{
    struct meeting m = {.rank = world_rank(), .rc = rc};
    if (rc != 0)
        snprintf(m.sentence, sizeof m.sentence, "%s", err_text());
    return m;
}

/* Rank 0: those who have met so far; whether all have. */
static bool hear_ranks(struct run *r)
{
    struct run_ranks *k = r->ranks;
    bool all = true;
    for (int i = 1; i < world_size(); i++) {
        const bool done = world_test(&k->receiving[i], 1);
        all &= done;
        if (done && k->inbox[i].rc != 0)
            stop_step(r, &k->inbox[i]);
    }
    return all;
}

bool run_ranks_stopped(struct run *r)
{
    struct run_ranks *k = r->ranks;
    if (k == NULL)
        return false;
    if (world_rank() > 0)
        return world_arrived(0, TAG_VERDICT);
    hear_ranks(r);
    return k->said;
}

static void meet_as_first(struct run *r, int rc)
{
    struct run_ranks *k = r->ranks;
    const double begun = clock_s();
    struct meeting own = met(rc);
    if (rc != 0)
        stop_step(r, &own);
    for (int times = 0; !hear_ranks(r); world_pause(&times))
        if (interrupt_pending()) {
            own = met(err_set(ERR_INTERRUPTED, "paused"));
            stop_step(r, &own);
        }
    if (!k->said) {
        const double waited = (clock_s() - begun) / 3600;
        r->state.hours += waited;
        r->state.tally.hours += waited;
        k->verdict = (struct meeting){0};
        say_verdict(r);
    }
    world_wait(k->sending, world_size());
}

static void meet_as_other(struct run *r, int rc)
{
    struct run_ranks *k = r->ranks;
    const struct meeting own = met(rc);
    struct transfer x[2] = {0};
    world_send(0, TAG_MEETING, &own, sizeof own, &x[0]);
    world_receive(0, TAG_VERDICT, &k->verdict, sizeof k->verdict, &x[1]);
    world_wait(x, 2);
}

int run_ranks_meet(struct run *r, int rc)
{
    struct run_ranks *k = r->ranks;
    if (k == NULL)
        return rc;
    enum profile_part was = profile_set(PART_WAITS);
    if (world_rank() == 0)
        meet_as_first(r, rc);
    else
        meet_as_other(r, rc);
    profile_resume(was);
    r->state.hours = k->verdict.hours;
    r->state.tally.hours = k->verdict.line_hours;
    if (k->verdict.rc == 0)
        return 0;
    return k->verdict.rank == 0 || k->verdict.rc == ERR_INTERRUPTED
               ? err_set(k->verdict.rc, "%s", k->verdict.sentence)
               : err_set(k->verdict.rc, "rank %d on %s: %s", k->verdict.rank,
                         world_host(k->verdict.rank), k->verdict.sentence);
}

void run_ranks_add(struct run *r)
{
    if (r->ranks == NULL)
        return;
    reduction_run(r->ranks->reduction, step_blocks(r->step), step_gradients(r->step), &r->sum,
                  !r->ranks->sliced);
}

void run_ranks_spread_weights(struct run *r)
{
    if (r->ranks != NULL && r->ranks->sliced)
        reduction_spread(r->ranks->reduction, weights_block(&r->trainable),
                         dtype_bytes(r->trainable.dtype));
}
