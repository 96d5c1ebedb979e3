#include "train/run/pipeline_step.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "model/base/progress.h"
#include "train/parallel/pipeline.h"
#include "train/run/inside.h"
#include "train/run/ranks.h"
#include "train/step/step_stage.h"

#include <math.h>
#include <stdlib.h>

/* What a rank receives from the stage before it and sends to the one behind it, round the stages;
 * and the other way. */
enum direction { ONWARD, BACK, N_DIRECTIONS };

struct lane {
    enum world_tag tag;
    int from, to;                         /* ranks */
    int posted, sent;                     /* messages of this step */
    size_t bytes;                         /* of one */
    struct transfer *receiving, *sending; /* [slots] */
};

struct run_pipeline {
    struct pipeline_job *jobs; /* [n_jobs] */
    int n_jobs, n_micro, n_slots, of_block;
    bool ends;
    int opened; /* micro-batches whose slots can receive */
    int ended;  /* micro-batches whose slots are free again */
    struct lane lanes[N_DIRECTIONS];
    char *spare[2 * N_DIRECTIONS]; /* to receive and send what nobody waits for */
    size_t spare_bytes;
    struct step *step; /* at work */
};

/* ---- opening ---- */

/* What a layer costs is 12 n_embd^2 a token, the head n_vocab n_embd, and thrice with its backward.
 */
static int make_order(struct run *r, int stage)
{
    enum { LAYER = 1000 };
    struct run_pipeline *p = r->pipeline;
    const struct config *c = &r->model->config;
    int64_t *forward = mem_array((size_t)r->layout.stages, sizeof *forward);
    if (forward == NULL)
        return ERR_NOMEM;
    for (int i = 0; i < r->layout.stages; i++)
        forward[i] = (int64_t)r->layout.layers[i] * LAYER + 1;
    const struct pipeline shape = {.stages = r->layout.stages,
                                   .n_micro = p->n_micro,
                                   .of_block = p->of_block,
                                   .forward = forward,
                                   .head = (int64_t)c->n_vocab * LAYER / (4 * c->n_embd) + 1};
    int rc = pipeline_order(&p->jobs, &p->n_jobs, &shape, stage);
    mem_free(forward);
    return rc;
}

static int open_lanes(struct run *r, int stage)
{
    struct run_pipeline *p = r->pipeline;
    const int replica = layout_replica_of(&r->layout, world_rank()), n = r->layout.stages;
    const int before = layout_rank(&r->layout, replica, (stage + n - 1) % n),
              behind = layout_rank(&r->layout, replica, (stage + 1) % n);
    const struct training_section *t = &r->config.training;
    const size_t activations =
        (size_t)t->micro_batch_size * (size_t)t->sequence_length * (size_t)r->model->config.n_embd;
    p->lanes[ONWARD] = (struct lane){.tag = TAG_ONWARD,
                                     .from = before,
                                     .to = behind,
                                     .bytes = activations * dtype_bytes(r->weights.dtype)};
    p->lanes[BACK] = (struct lane){
        .tag = TAG_BACK, .from = behind, .to = before, .bytes = activations * sizeof(float)};
    p->spare_bytes = activations * sizeof(float);
    int rc = 0;
    for (int i = 0; i < N_DIRECTIONS && rc == 0; i++) {
        struct lane *l = &p->lanes[i];
        l->receiving = mem_array((size_t)p->n_slots, sizeof *l->receiving);
        l->sending = mem_array((size_t)p->n_slots, sizeof *l->sending);
        rc = l->receiving == NULL || l->sending == NULL ? ERR_NOMEM : 0;
    }
    for (int i = 0; i < 2 * N_DIRECTIONS && rc == 0; i++)
        if ((p->spare[i] = mem_map("pipeline", p->spare_bytes)) == NULL)
            rc = ERR_NOMEM;
    return rc;
}

int run_pipeline_open(struct run *r)
{
    const struct training_section *t = &r->config.training;
    const int stage = layout_stage_of(&r->layout, world_rank());
    if (r->layout.stages == 1)
        return 0;
    struct run_pipeline *p = r->pipeline = mem_alloc(sizeof *p);
    if (p == NULL)
        return ERR_NOMEM;
    p->n_micro = run_ranks_micro(r);
    p->of_block = t->gradient_accumulation / t->gradient_blocks;
    p->n_slots = pipeline_in_flight(r->layout.stages, p->n_micro, stage);
    p->ends = stage == 0;
    int rc = make_order(r, stage);
    return rc == 0 ? open_lanes(r, stage) : rc;
}

void run_pipeline_close(struct run *r)
{
    struct run_pipeline *p = r->pipeline;
    if (p == NULL)
        return;
    for (int i = 0; i < N_DIRECTIONS; i++) {
        mem_free(p->lanes[i].receiving);
        mem_free(p->lanes[i].sending);
    }
    for (int i = 0; i < 2 * N_DIRECTIONS; i++)
        mem_unmap(p->spare[i], p->spare_bytes);
    mem_free(p->jobs);
    mem_free(p);
    r->pipeline = NULL;
}

int run_pipeline_slots(const struct run *r)
{
    return r->pipeline->n_slots;
}

/* ---- messages ---- */

static void post(struct run_pipeline *p, enum direction d, int slot, enum step_content content)
{
    struct lane *l = &p->lanes[d];
    const struct step_message m = step_message(p->step, slot, content);
    world_receive(l->from, l->tag, m.data, m.bytes, &l->receiving[slot]);
    l->posted++;
}

static void put(struct run_pipeline *p, enum direction d, int slot, enum step_content content)
{
    struct lane *l = &p->lanes[d];
    const struct step_message m = step_message(p->step, slot, content);
    world_send(l->to, l->tag, m.data, m.bytes, &l->sending[slot]);
    l->sent++;
}

/* The next micro-batch's slot is free, and what it has sent is on its way no more: what comes there
 * may come. */
static void open_slots(struct run_pipeline *p)
{
    while (p->opened < p->n_micro && p->opened < p->ended + p->n_slots) {
        const int slot = p->opened % p->n_slots;
        if (!world_test(&p->lanes[ONWARD].sending[slot], 1) ||
            !world_test(&p->lanes[BACK].sending[slot], 1))
            return;
        post(p, ONWARD, slot, p->ends ? STEP_HEAD_INPUT : STEP_INPUT);
        post(p, BACK, slot, STEP_GRADIENT);
        p->opened++;
    }
}

/* MPI moves what is on its way while it is asked for it. */
static void look_after(void *user)
{
    struct run_pipeline *p = user;
    open_slots(p);
    for (int i = 0; i < N_DIRECTIONS; i++) {
        world_test(p->lanes[i].receiving, p->n_slots);
        world_test(p->lanes[i].sending, p->n_slots);
    }
}

/* Until what the job reads is there and what it writes is free. *stopped: rank 0 has said that the
 * step does not go on. */
static int wait_for_job(struct run *r, const struct pipeline_job *j, bool *stopped)
{
    struct run_pipeline *p = r->pipeline;
    const int slot = j->micro % p->n_slots;
    const bool first = j->work == PIPELINE_FORWARD && p->ends;
    struct transfer *const in =
        first ? NULL : &p->lanes[j->work == PIPELINE_BACKWARD ? BACK : ONWARD].receiving[slot];
    for (int times = 0;; world_pause(&times)) {
        look_after(p);
        if (j->micro < p->opened && (in == NULL || world_test(in, 1)))
            return 0;
        if (interrupt_pending())
            return err_set(ERR_INTERRUPTED, "paused");
        if ((*stopped = run_ranks_stopped(r)))
            return 0;
    }
}

/* ---- jobs ---- */

static int take_windows(struct run *r, int slot)
{
    const struct training_section *t = &r->config.training;
    const token_id *ids, *labels;
    const uint64_t sequence = batches_given(r->batches);
    enum profile_part was = profile_set(PART_LOADER);
    int rc = batches_next(r->batches, &ids, &labels);
    profile_resume(was);
    if (rc == 0)
        step_take(r->step, slot, ids, labels, t->micro_batch_size, t->sequence_length, sequence);
    return rc;
}

static void end_job(struct run *r, const struct pipeline_job *j)
{
    struct run_pipeline *p = r->pipeline;
    const int slot = j->micro % p->n_slots;
    switch (j->work) {
    case PIPELINE_FORWARD:
        put(p, ONWARD, slot, STEP_OUTPUT);
        break;
    case PIPELINE_HEAD:
        put(p, BACK, slot, STEP_HEAD_GRADIENT);
        break;
    case PIPELINE_BACKWARD:
        if (!p->ends)
            put(p, BACK, slot, STEP_GRADIENT);
        p->ended++;
        if (p->ended % p->of_block == 0)
            step_end_block(r->step, &r->sum);
        break;
    }
}

static int do_job(struct run *r, const struct pipeline_job *j, float scale)
{
    static const enum step_part parts[] = {STEP_FORWARD, STEP_HEAD, STEP_BACKWARD};
    struct run_pipeline *p = r->pipeline;
    const int slot = j->micro % p->n_slots;
    int rc = j->work == PIPELINE_FORWARD ? take_windows(r, slot) : 0;
    if (rc == 0)
        rc = step_run_part(r->step, &(struct step_part_call){.part = parts[j->work],
                                                             .slot = slot,
                                                             .scale = scale,
                                                             .sums = &r->sum,
                                                             .meanwhile = look_after,
                                                             .user = p});
    if (rc == 0)
        end_job(r, j);
    return rc;
}

static void wait_for_all(struct run_pipeline *p)
{
    for (int i = 0; i < N_DIRECTIONS; i++) {
        world_wait(p->lanes[i].receiving, p->n_slots);
        world_wait(p->lanes[i].sending, p->n_slots);
    }
}

void run_pipeline_begin(struct run *r)
{
    struct run_pipeline *p = r->pipeline;
    if (p == NULL)
        return;
    p->step = r->step;
    p->opened = p->ended = 0;
    for (int i = 0; i < N_DIRECTIONS; i++)
        p->lanes[i].posted = p->lanes[i].sent = 0;
}

int run_pipeline_go(struct run *r, float scale)
{
    struct run_pipeline *p = r->pipeline;
    bool stopped = false;
    int rc = 0;
    for (int i = 0; i < p->n_jobs && rc == 0 && !stopped; i++) {
        const struct pipeline_job *j = &p->jobs[i];
        if (r->events.tick != NULL)
            r->events.tick(r->events.user, &r->metrics, r->state.step, (double)i / p->n_jobs);
        enum profile_part was = profile_set(PART_WAITS);
        rc = wait_for_job(r, j, &stopped);
        profile_resume(was);
        if (rc == 0 && !stopped)
            rc = do_job(r, j, scale);
        r->micro = p->ended + 1;
    }
    if (rc == 0 && !stopped)
        wait_for_all(p);
    return rc;
}

/* ---- a step that does not go on ---- */

/* Of a rank's lanes. */
struct counts {
    int posted[N_DIRECTIONS], sent[N_DIRECTIONS];
};

/* Those of both neighbours, which may be one rank. */
static void exchange_counts(const struct run_pipeline *p, struct counts *before,
                            struct counts *behind)
{
    struct counts own;
    struct transfer x[4] = {{.going = false}};
    for (int i = 0; i < N_DIRECTIONS; i++) {
        own.posted[i] = p->lanes[i].posted;
        own.sent[i] = p->lanes[i].sent;
    }
    world_send(p->lanes[ONWARD].to, TAG_COUNTS, &own, sizeof own, &x[0]);
    world_send(p->lanes[BACK].to, TAG_COUNTS, &own, sizeof own, &x[1]);
    world_receive(p->lanes[ONWARD].from, TAG_COUNTS, before, sizeof *before, &x[2]);
    world_receive(p->lanes[BACK].from, TAG_COUNTS, behind, sizeof *behind, &x[3]);
    world_wait(x, 4);
}

/* What one has sent the other receives, and what one waits for the other sends. */
static void even_out(struct run_pipeline *p, const struct counts neighbours[N_DIRECTIONS][2])
{
    int receive[N_DIRECTIONS], send[N_DIRECTIONS];
    struct transfer x[2 * N_DIRECTIONS] = {{.going = false}};
    for (int i = 0; i < N_DIRECTIONS; i++) {
        const struct lane *l = &p->lanes[i];
        receive[i] = neighbours[i][0].sent[i] - l->posted;
        send[i] = neighbours[i][1].posted[i] - l->sent;
    }
    for (int left = 1, times = 0; left > 0; world_pause(&times)) {
        left = 0;
        for (int i = 0; i < N_DIRECTIONS; i++) {
            const struct lane *l = &p->lanes[i];
            if (receive[i] > 0 && world_test(&x[2 * i], 1) && receive[i]-- > 0)
                world_receive(l->from, l->tag, p->spare[2 * i], l->bytes, &x[2 * i]);
            if (send[i] > 0 && world_test(&x[2 * i + 1], 1) && send[i]-- > 0)
                world_send(l->to, l->tag, p->spare[2 * i + 1], l->bytes, &x[2 * i + 1]);
            left += (receive[i] > 0) + (send[i] > 0);
        }
        left += !world_test(x, 2 * N_DIRECTIONS);
        world_test(p->lanes[ONWARD].sending, p->n_slots);
        world_test(p->lanes[BACK].sending, p->n_slots);
    }
}

void run_pipeline_settle(struct run *r)
{
    struct run_pipeline *p = r->pipeline;
    struct counts before, behind;
    if (p == NULL)
        return;
    exchange_counts(p, &before, &behind);
    /* By lane: of whom it comes, and to whom it goes. */
    even_out(p, (const struct counts[N_DIRECTIONS][2]){{before, behind}, {behind, before}});
    wait_for_all(p);
}
