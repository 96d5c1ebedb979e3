#include "train/run/pipeline_step.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/profile.h"
#include "model/base/progress.h"
#include "train/parallel/pipeline.h"
#include "train/run/inside.h"
#include "train/run/ranks.h"
#include "train/run/scatter.h"
#include "train/run/tensor_step.h"
#include "train/step/step_stage.h"

#include <math.h>
#include <stdlib.h>

/* What a chunk receives from the one before it and sends to the one behind it, round the stages;
 * and the other way. */
enum direction { ONWARD, BACK, N_DIRECTIONS };

/* A neighbour: a chunk of a rank. */
struct neighbour {
    int rank, chunk;
};

struct lane {
    struct neighbour from, to;
    int posted, sent;                     /* messages of this step */
    size_t bytes;                         /* of one */
    struct transfer *receiving, *sending; /* [slots] */
};

/* A chunk of this rank's layers. */
struct chunk {
    bool ends;
    int first_slot, n_slots; /* of the step's */
    int opened;              /* micro-batches whose slots can receive */
    int ended;               /* micro-batches whose slots are free again */
    struct lane lanes[N_DIRECTIONS];
    char *spare[2 * N_DIRECTIONS]; /* to receive and send what nobody waits for */
};

/* Of a chunk's lanes. */
struct counts {
    int posted[N_DIRECTIONS], sent[N_DIRECTIONS];
};

struct run_pipeline {
    struct pipeline_job *jobs; /* [n_jobs] */
    int n_jobs, n_micro, of_block;
    struct chunk chunks[STAGE_MAX_CHUNKS]; /* [n_chunks] */
    int n_chunks, most_chunks;             /* of this rank, of a rank */
    int slots[STAGE_MAX_CHUNKS];
    int ended;             /* backwards of all chunks */
    struct counts *counts; /* [world][most_chunks] */
    size_t spare_bytes;
    struct step *step; /* at work */
};

/* ---- opening ---- */

static int make_order(struct run *r, int stage)
{
    struct run_pipeline *p = r->pipeline;
    struct pipeline_plan plan;
    int rc = layout_plan(&plan, &r->layout, &r->model->config, p->n_micro, p->of_block, stage);
    if (rc != 0)
        return rc;
    p->jobs = plan.jobs;
    p->n_jobs = plan.n_jobs;
    plan.jobs = NULL;
    for (int i = 0, first = 0; i < p->n_chunks; first += p->slots[i++]) {
        p->slots[i] = plan.slots[stage * r->layout.chunks + i];
        p->chunks[i] = (struct chunk){
            .ends = stage == 0 && i == 0, .first_slot = first, .n_slots = p->slots[i]};
    }
    pipeline_plan_release(&plan);
    return 0;
}

static struct neighbour find_neighbour(const struct run *r, const struct chunk_ring *ring,
                                       int place)
{
    const struct layout *l = &r->layout;
    const int replica = layout_replica_of(l, world_rank()),
              first = layout_rank(l, replica, chunk_ring_stage(ring, place));
    return (struct neighbour){.rank = first + layout_tensor_of(l, world_rank()),
                              .chunk = chunk_ring_chunk(ring, place)};
}

static int open_lanes(struct run *r, int stage, int chunk)
{
    struct run_pipeline *p = r->pipeline;
    struct chunk *k = &p->chunks[chunk];
    const struct chunk_ring ring = layout_ring(&r->layout);
    const int place = chunk_ring_place(&ring, stage, chunk), n = chunk_ring_size(&ring);
    const struct neighbour before = find_neighbour(r, &ring, (place + n - 1) % n),
                           behind = find_neighbour(r, &ring, (place + 1) % n);
    const size_t activations = p->spare_bytes / sizeof(float);
    k->lanes[ONWARD] = (struct lane){
        .from = before, .to = behind, .bytes = activations * dtype_bytes(r->weights.dtype)};
    k->lanes[BACK] =
        (struct lane){.from = behind, .to = before, .bytes = activations * sizeof(float)};
    int rc = 0;
    for (int i = 0; i < N_DIRECTIONS && rc == 0; i++) {
        struct lane *l = &k->lanes[i];
        l->receiving = mem_array((size_t)k->n_slots, sizeof *l->receiving);
        l->sending = mem_array((size_t)k->n_slots, sizeof *l->sending);
        rc = l->receiving == NULL || l->sending == NULL ? ERR_NOMEM : 0;
    }
    for (int i = 0; i < 2 * N_DIRECTIONS && rc == 0; i++)
        if ((k->spare[i] = mem_map("pipeline", p->spare_bytes)) == NULL)
            rc = ERR_NOMEM;
    return rc;
}

int run_pipeline_open(struct run *r)
{
    const struct training_section *t = &r->config.training;
    const int stage = layout_stage_of(&r->layout, world_rank());
    const struct chunk_ring ring = layout_ring(&r->layout);
    if (r->layout.stages == 1)
        return 0;
    struct run_pipeline *p = r->pipeline = mem_alloc(sizeof *p);
    if (p == NULL)
        return ERR_NOMEM;
    p->n_micro = run_ranks_micro(r);
    p->of_block = t->gradient_accumulation / t->gradient_blocks;
    p->n_chunks = chunk_ring_chunks(&ring, stage);
    p->most_chunks = ring.chunks;
    p->spare_bytes = (size_t)t->micro_batch_size * (size_t)t->sequence_length *
                     (size_t)r->model->config.n_embd * sizeof(float);
    p->counts = mem_array((size_t)world_size() * (size_t)ring.chunks, sizeof *p->counts);
    int rc = p->counts == NULL ? ERR_NOMEM : make_order(r, stage);
    for (int i = 0; i < p->n_chunks && rc == 0; i++)
        rc = open_lanes(r, stage, i);
    return rc;
}

void run_pipeline_close(struct run *r)
{
    struct run_pipeline *p = r->pipeline;
    if (p == NULL)
        return;
    for (int k = 0; k < p->n_chunks; k++) {
        for (int i = 0; i < N_DIRECTIONS; i++) {
            mem_free(p->chunks[k].lanes[i].receiving);
            mem_free(p->chunks[k].lanes[i].sending);
        }
        for (int i = 0; i < 2 * N_DIRECTIONS; i++)
            mem_unmap(p->chunks[k].spare[i], p->spare_bytes);
    }
    mem_free(p->counts);
    mem_free(p->jobs);
    mem_free(p);
    r->pipeline = NULL;
}

const int *run_pipeline_slots(const struct run *r)
{
    return r->pipeline->slots;
}

/* ---- messages ---- */

/* To a rank's chunk. */
static enum world_tag tag_of(enum direction d, int chunk)
{
    return (enum world_tag)((int)TAG_PIPELINE + N_DIRECTIONS * chunk + (int)d);
}

/* Of the step's slots. */
static int slot_of(const struct chunk *k, int micro)
{
    return k->first_slot + micro % k->n_slots;
}

static void post(struct run_pipeline *p, struct chunk *k, enum direction d, int micro,
                 enum step_content content)
{
    struct lane *l = &k->lanes[d];
    const struct step_message m = step_message(p->step, slot_of(k, micro), content);
    world_receive(l->from.rank, tag_of(d, (int)(k - p->chunks)), m.data, m.bytes,
                  &l->receiving[micro % k->n_slots]);
    l->posted++;
}

static void put(struct run_pipeline *p, struct chunk *k, enum direction d, int micro,
                enum step_content content)
{
    struct lane *l = &k->lanes[d];
    const struct step_message m = step_message(p->step, slot_of(k, micro), content);
    world_send(l->to.rank, tag_of(d, l->to.chunk), m.data, m.bytes,
               &l->sending[micro % k->n_slots]);
    l->sent++;
}

/* The next micro-batch's slot is free, and what it has sent is on its way no more: what comes there
 * may come. */
static void open_slots(struct run_pipeline *p, struct chunk *k)
{
    while (k->opened < p->n_micro && k->opened < k->ended + k->n_slots) {
        const int slot = k->opened % k->n_slots;
        if (!world_test(&k->lanes[ONWARD].sending[slot], 1) ||
            !world_test(&k->lanes[BACK].sending[slot], 1))
            return;
        post(p, k, ONWARD, k->opened, k->ends ? STEP_HEAD_INPUT : STEP_INPUT);
        post(p, k, BACK, k->opened, STEP_GRADIENT);
        k->opened++;
    }
}

/* MPI moves what is on its way while it is asked for it. */
static void look_after(void *user)
{
    struct run_pipeline *p = user;
    for (int i = 0; i < p->n_chunks; i++) {
        struct chunk *k = &p->chunks[i];
        open_slots(p, k);
        for (int d = 0; d < N_DIRECTIONS; d++) {
            world_test(k->lanes[d].receiving, k->n_slots);
            world_test(k->lanes[d].sending, k->n_slots);
        }
    }
}

/* Whether the gradients that the job adds to have their memory; those outside the layers have it
 * since the head. */
static bool has_gradients(const struct run *r, const struct pipeline_job *j)
{
    const struct layer_range layers = r->weights.stage.chunks[j->chunk];
    if (j->work == PIPELINE_HEAD)
        return run_scatter_is_ready(r, j->micro, -1);
    return j->work == PIPELINE_FORWARD || layers.first == layers.last ||
           run_scatter_is_ready(r, j->micro, layers.first);
}

/* Until what the job reads is there and what it writes is free. *stopped: rank 0 has said that the
 * step does not go on. */
static int wait_for_messages(struct run *r, const struct pipeline_job *j, bool *stopped)
{
    struct run_pipeline *p = r->pipeline;
    struct chunk *k = &p->chunks[j->chunk];
    const bool first = j->work == PIPELINE_FORWARD && k->ends;
    struct transfer *const in = first ? NULL
                                      : &k->lanes[j->work == PIPELINE_BACKWARD ? BACK : ONWARD]
                                             .receiving[j->micro % k->n_slots];
    for (int times = 0;; world_pause(&times)) {
        look_after(p);
        if (j->micro < k->opened && (in == NULL || world_test(in, 1)) && has_gradients(r, j))
            return 0;
        if (interrupt_pending())
            return err_set(ERR_INTERRUPTED, "paused");
        if ((*stopped = run_ranks_stopped(r)))
            return 0;
    }
}

/* ---- jobs ---- */

static int take_windows(struct run *r, int micro, int slot)
{
    const struct training_section *t = &r->config.training;
    const token_id *ids, *labels;
    run_scatter_seek(r, micro);
    const uint64_t sequence = batches_given(r->batches);
    enum profile_part was = profile_set(PART_LOADER);
    int rc = batches_next(r->batches, &ids, &labels);
    profile_resume(was);
    if (rc == 0)
        step_take(r->step, slot, ids, labels, t->micro_batch_size, t->sequence_length, sequence);
    return rc;
}

/* For the rank's first chunk, which keeps them until all others have had them. */
static int begin_forward(struct run *r, const struct pipeline_job *j)
{
    const struct run_pipeline *p = r->pipeline;
    const int slot = slot_of(&p->chunks[j->chunk], j->micro);
    if (j->chunk == 0)
        return take_windows(r, j->micro, slot);
    step_take_again(r->step, slot, slot_of(&p->chunks[0], j->micro));
    return 0;
}

/* Until the job can begin, on all shards of the stage. *stopped: rank 0 has said that the step does
 * not go on, or another shard has stopped. */
static int begin_job(struct run *r, const struct pipeline_job *j, bool *stopped)
{
    enum profile_part was = profile_set(PART_EXCHANGE);
    int rc = wait_for_messages(r, j, stopped);
    if (rc == 0 && run_tensor_is_on(r) && interrupt_pending()) /* nothing stops shards at work */
        rc = err_set(ERR_INTERRUPTED, "paused");
    if (rc == 0 && !*stopped && j->work == PIPELINE_FORWARD)
        rc = begin_forward(r, j);
    *stopped = !run_ranks_ready(r, rc, *stopped, look_after, r->pipeline);
    profile_resume(was);
    return rc;
}

static void end_block(struct run *r)
{
    step_end_block(r->step, &r->sum);
    run_scatter_end_block(r);
}

static void end_job(struct run *r, const struct pipeline_job *j)
{
    struct run_pipeline *p = r->pipeline;
    struct chunk *k = &p->chunks[j->chunk];
    switch (j->work) {
    case PIPELINE_FORWARD:
        put(p, k, ONWARD, j->micro, STEP_OUTPUT);
        break;
    case PIPELINE_HEAD:
        put(p, k, BACK, j->micro, STEP_HEAD_GRADIENT);
        break;
    case PIPELINE_BACKWARD:
        if (!k->ends)
            put(p, k, BACK, j->micro, STEP_GRADIENT);
        k->ended++;
        if (++p->ended % (p->of_block * p->n_chunks) == 0)
            end_block(r);
        break;
    }
}

static int do_job(struct run *r, const struct pipeline_job *j, float scale)
{
    static const enum step_part parts[] = {STEP_FORWARD, STEP_HEAD, STEP_BACKWARD};
    struct run_pipeline *p = r->pipeline;
    const int slot = slot_of(&p->chunks[j->chunk], j->micro);
    const bool ends_block = (j->micro + 1) % p->of_block == 0;
    int rc = step_run_part(r->step, &(struct step_part_call){.part = parts[j->work],
                                                             .slot = slot,
                                                             .scale = scale,
                                                             .ends_block = ends_block,
                                                             .sums = &r->sum,
                                                             .meanwhile = look_after,
                                                             .user = p});
    if (rc == 0)
        end_job(r, j);
    return rc;
}

static void wait_for_all(struct run_pipeline *p)
{
    const enum profile_part was = profile_set(PART_EXCHANGE);
    for (int k = 0; k < p->n_chunks; k++)
        for (int i = 0; i < N_DIRECTIONS; i++) {
            world_wait(p->chunks[k].lanes[i].receiving, p->chunks[k].n_slots);
            world_wait(p->chunks[k].lanes[i].sending, p->chunks[k].n_slots);
        }
    profile_resume(was);
}

void run_pipeline_begin(struct run *r)
{
    struct run_pipeline *p = r->pipeline;
    if (p == NULL)
        return;
    p->step = r->step;
    p->ended = 0;
    for (int k = 0; k < p->n_chunks; k++) {
        p->chunks[k].opened = p->chunks[k].ended = 0;
        for (int i = 0; i < N_DIRECTIONS; i++)
            p->chunks[k].lanes[i].posted = p->chunks[k].lanes[i].sent = 0;
    }
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
        rc = begin_job(r, j, &stopped);
        if (rc == 0 && !stopped)
            rc = do_job(r, j, scale);
        r->micro = p->chunks[0].ended + 1;
    }
    if (rc == 0 && !stopped)
        wait_for_all(p);
    return rc;
}

/* ---- a step that does not go on ---- */

/* Of all ranks. */
static void gather_counts(struct run_pipeline *p)
{
    struct counts own[STAGE_MAX_CHUNKS] = {0};
    for (int k = 0; k < p->n_chunks; k++)
        for (int i = 0; i < N_DIRECTIONS; i++) {
            own[k].posted[i] = p->chunks[k].lanes[i].posted;
            own[k].sent[i] = p->chunks[k].lanes[i].sent;
        }
    world_all_gather(p->counts, own, (size_t)p->most_chunks * sizeof *own);
}

static const struct counts *counts_of(const struct run_pipeline *p, struct neighbour n)
{
    return &p->counts[n.rank * p->most_chunks + n.chunk];
}

/* What is left of a lane. */
struct rest {
    int receive, send;
    struct transfer x[2];
};

/* Some of it; whether there is more. */
static bool move_rest(struct run_pipeline *p, struct chunk *k, enum direction d, struct rest *rest)
{
    const struct lane *l = &k->lanes[d];
    if (rest->receive > 0 && world_test(&rest->x[0], 1) && rest->receive-- > 0)
        world_receive(l->from.rank, tag_of(d, (int)(k - p->chunks)), k->spare[2 * d], l->bytes,
                      &rest->x[0]);
    if (rest->send > 0 && world_test(&rest->x[1], 1) && rest->send-- > 0)
        world_send(l->to.rank, tag_of(d, l->to.chunk), k->spare[2 * d + 1], l->bytes, &rest->x[1]);
    world_test(l->sending, k->n_slots);
    return rest->receive > 0 || rest->send > 0 || !world_test(rest->x, 2);
}

/* What one has sent the other receives, and what one waits for the other sends; of all chunks at
 * once, since others may be at another. */
static void even_out(struct run_pipeline *p)
{
    struct rest rests[STAGE_MAX_CHUNKS][N_DIRECTIONS] = {0};
    for (int k = 0; k < p->n_chunks; k++)
        for (int i = 0; i < N_DIRECTIONS; i++) {
            const struct lane *l = &p->chunks[k].lanes[i];
            rests[k][i].receive = counts_of(p, l->from)->sent[i] - l->posted;
            rests[k][i].send = counts_of(p, l->to)->posted[i] - l->sent;
        }
    for (int left = 1, times = 0; left > 0; world_pause(&times)) {
        left = 0;
        for (int k = 0; k < p->n_chunks; k++)
            for (int i = 0; i < N_DIRECTIONS; i++)
                left += move_rest(p, &p->chunks[k], (enum direction)i, &rests[k][i]);
    }
}

void run_pipeline_settle(struct run *r)
{
    struct run_pipeline *p = r->pipeline;
    if (p == NULL)
        return;
    gather_counts(p);
    even_out(p);
    wait_for_all(p);
}
