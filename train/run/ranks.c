#include "train/run/ranks.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "model/base/progress.h"
#include "train/parallel/division.h"
#include "train/run/inside.h"
#include "train/run/scatter.h"
#include "train/run/spread.h"
#include "train/run/tensor_step.h"
#include "train/run/waits.h"

#include <stdio.h>
#include <string.h>

enum { SENTENCE = 900, DIVIDE_STEPS = 16 /* twice as many after each move */ };

/* The words of rank 0. */
enum word { WORD_STEP, WORD_PART, WORD_PARTS, WORD_DIVIDE, WORD_END };

/* How micro-batches ended; or what rank 0 makes of it. */
struct meeting {
    int rank, rc;
    double hours, line_hours; /* of rank 0 */
    double busy_s;            /* at work until then */
    char sentence[SENTENCE];
};

struct run_ranks {
    int n_micro;
    uint64_t offset;
    bool said; /* rank 0 has said that it does not go on */
    bool told; /* rank 0 has been sent this rank's own meeting */
    struct meeting own, verdict;
    struct transfer telling;
    /* Of rank 0, of each other rank. */
    struct meeting *inbox;      /* [size] */
    struct transfer *receiving; /* [size] */
    struct transfer *sending;   /* [size] */
    enum word word;
    double begun_s; /* of the step */
    struct waits waits;
    double *busy;     /* [size], of the step */
    int divide_steps; /* after which blocks may move */
};

static int allocate_ranks(struct run_ranks *k)
{
    const size_t size = (size_t)world_size();
    k->inbox = mem_array(size, sizeof *k->inbox);
    k->receiving = mem_array(size, sizeof *k->receiving);
    k->sending = mem_array(size, sizeof *k->sending);
    k->busy = mem_array(size, sizeof *k->busy);
    return waits_init(&k->waits, (int)size) != 0 || k->busy == NULL || k->inbox == NULL ||
                   k->receiving == NULL || k->sending == NULL
               ? ERR_NOMEM
               : 0;
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
    mem_free(k->inbox);
    mem_free(k->receiving);
    mem_free(k->sending);
    mem_free(k->busy);
    waits_release(&k->waits);
    mem_free(k);
    r->ranks = NULL;
}

int run_ranks_micro(const struct run *r)
{
    return r->ranks == NULL ? r->config.training.gradient_accumulation : r->ranks->n_micro;
}

uint64_t run_ranks_offset(const struct run *r)
{
    return r->scatter != NULL ? run_scatter_offset(r, r->micro)
           : r->ranks == NULL ? 0
                              : r->ranks->offset;
}

/* ---- what others have ---- */

/* Of one that waits for a word. */
static void ask_part(const struct run_part *p, void *to)
{
    const enum word word = WORD_PART;
    world_send_whole(p->rank, TAG_WORD, &word, sizeof word);
    world_send_whole(p->rank, TAG_WORD, p, sizeof *p);
    world_receive_whole(p->rank, TAG_STATE, to, p->n);
}

static void send_part(struct run *r)
{
    struct run_part p;
    run_spread_finish(r);
    world_receive_whole(0, TAG_WORD, &p, sizeof p);
    world_send_whole(0, TAG_STATE, run_shares_place(r, &p), p.n);
}

void run_ranks_read(struct run *r, enum run_share what, int block, void *to, size_t first, size_t n)
{
    for (size_t at = 0; at < n;) {
        const struct run_part p = run_shares_part(r, what, block, first + at, n - at);
        char *here = (char *)to + at;
        const void *own = run_shares_place(r, &p);
        if (p.rank != world_rank())
            ask_part(&p, here);
        else if (own != here)
            memcpy(here, own, p.n);
        at += p.n;
    }
}

void run_ranks_begin_parts(struct run *r)
{
    say_word(r->ranks, WORD_PARTS);
}

bool run_ranks_has_state(const struct run *r)
{
    return !run_shares_is_divided(r, SHARE_STATE) && !run_shares_is_divided(r, SHARE_WEIGHTS);
}

/* ---- opening ---- */

void run_ranks_take_division(struct run *r)
{
    const struct training_section *t = &r->config.training;
    const int of_block = t->gradient_accumulation / t->gradient_blocks;
    int first, last;
    run_shares_blocks(r, &first, &last);
    r->ranks->n_micro = run_scatter_is_on(r) ? run_scatter_micro(r) : (last - first) * of_block;
    r->ranks->offset = (uint64_t)first * (uint64_t)of_block * (uint64_t)t->micro_batch_size;
}

int run_ranks_open(struct run *r)
{
    if (world_size() == 1)
        return 0;
    struct run_ranks *k = r->ranks = mem_alloc(sizeof *k);
    if (k == NULL)
        return ERR_NOMEM;
    k->divide_steps = DIVIDE_STEPS;
    run_ranks_take_division(r);
    return allocate_ranks(k);
}

/* ---- steps ---- */

static void begin_meeting(struct run *r)
{
    struct run_ranks *k = r->ranks;
    k->said = k->told = false;
    k->begun_s = clock_s();
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

enum run_order run_ranks_follow(struct run *r)
{
    for (;;) {
        enum word word;
        world_receive_whole(0, TAG_WORD, &word, sizeof word);
        if (word == WORD_PART) {
            send_part(r);
            continue;
        }
        if (word == WORD_STEP)
            begin_meeting(r);
        if (word == WORD_DIVIDE)
            world_broadcast(run_shares_firsts(r), run_shares_firsts_bytes(r), 0);
        return word == WORD_STEP     ? ORDER_STEP
               : word == WORD_DIVIDE ? ORDER_DIVIDE
               : word == WORD_PARTS  ? ORDER_PARTS
                                     : ORDER_END;
    }
}

bool run_ranks_divide(struct run *r)
{
    struct run_ranks *k = r->ranks;
    const bool fixed =
        r->layout.stages > 1 || r->layout.tensor > 1 || r->scatter != NULL; /* which takes turns */
    if (k == NULL || fixed || k->waits.steps < k->divide_steps)
        return false;
    const bool moves = division_balance(run_shares_firsts(r), r->config.training.gradient_blocks,
                                        world_size(), k->waits.since);
    waits_begin(&k->waits);
    if (!moves)
        return false;
    k->divide_steps *= 2;
    say_word(k, WORD_DIVIDE);
    world_broadcast(run_shares_firsts(r), run_shares_firsts_bytes(r), 0);
    return true;
}

/* The ranks of a replica wait for each other in any case. */
double run_ranks_waited(struct run *r, int *rank)
{
    return r->ranks == NULL || r->layout.stages > 1 || r->layout.tensor > 1
               ? 0
               : waits_take_line(&r->ranks->waits, rank);
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

static struct meeting met(const struct run_ranks *k, int rc)
{
    struct meeting m = {.rank = world_rank(), .rc = rc, .busy_s = clock_s() - k->begun_s};
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

/* Others: how this one's micro-batches have ended. */
static void send_meeting(struct run_ranks *k, int rc)
{
    k->own = met(k, rc);
    world_send(0, TAG_MEETING, &k->own, sizeof k->own, &k->telling);
    k->told = true;
}

struct listener {
    struct run *r;
    void (*meanwhile)(void *user);
    void *user;
};

static void listen(void *arg)
{
    const struct listener *l = arg;
    if (l->meanwhile != NULL)
        l->meanwhile(l->user);
    run_ranks_stopped(l->r);
}

bool run_ranks_ready(struct run *r, int rc, bool stopped, void (*meanwhile)(void *user), void *user)
{
    struct run_ranks *k = r->ranks;
    if (!run_tensor_is_on(r))
        return rc == 0 && !stopped;
    if (rc != 0 && world_rank() > 0)
        send_meeting(k, rc);
    else if (rc != 0) {
        k->own = met(k, rc);
        stop_step(r, &k->own);
    }
    return run_tensor_ready(r, rc == 0 && !stopped, listen, &(struct listener){r, meanwhile, user});
}

/* Ctrl-C comes to all ranks. What has stopped another is on its way here, and later it would stop
 * what is done for the pause. */
static void await_same_interrupt(const struct run_ranks *k)
{
    enum { PATIENCE_S = 1 };
    const double begun = clock_s();
    if (k->verdict.rc != ERR_INTERRUPTED || k->verdict.rank == 0)
        return;
    while (!interrupt_pending() && clock_s() - begun < PATIENCE_S)
        clock_sleep_s(0.01);
}

static void meet_as_first(struct run *r, int rc)
{
    struct run_ranks *k = r->ranks;
    const double begun = clock_s();
    k->own = met(k, rc);
    if (rc != 0)
        stop_step(r, &k->own);
    for (int times = 0; !hear_ranks(r); world_pause(&times))
        if (interrupt_pending()) {
            k->own = met(k, err_set(ERR_INTERRUPTED, "paused"));
            stop_step(r, &k->own);
        }
    for (int i = 0; i < world_size(); i++)
        k->busy[i] = i == 0 ? k->own.busy_s : k->inbox[i].busy_s;
    if (!k->said) {
        waits_add(&k->waits, k->busy);
        const double waited = (clock_s() - begun) / 3600;
        r->state.hours += waited;
        r->state.tally.hours += waited;
        k->verdict = (struct meeting){0};
        say_verdict(r);
    }
    world_wait(k->sending, world_size());
    await_same_interrupt(k);
}

static void meet_as_other(struct run *r, int rc)
{
    struct run_ranks *k = r->ranks;
    struct transfer verdict = {0};
    if (!k->told)
        send_meeting(k, rc);
    world_receive(0, TAG_VERDICT, &k->verdict, sizeof k->verdict, &verdict);
    world_wait(&k->telling, 1);
    world_wait(&verdict, 1);
}

int run_ranks_meet(struct run *r, int rc)
{
    struct run_ranks *k = r->ranks;
    if (k == NULL)
        return rc;
    enum profile_part was = profile_set(PART_EXCHANGE);
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
