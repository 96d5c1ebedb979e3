#include "sampling/device_loop.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/base/profile.h"
#include "sampling/chain/logits.h"
#include "sampling/device_loop_inside.h"
#include "sampling/draft_model.h"

/*
 * One step, by all threads of the team:
 *
 *     draw_slots | plan_step, by thread 0: emit events, leave or plan the next pass | engine_pass
 *                ^ barrier                                                          ^ barrier
 *
 * A pass that could not read a part of the model ends all texts as they were before it.
 *
 * Where a smaller model drafts, it does so in between: plan_step plans its drafts alone,
 * draft_model_run makes them, and then thread 0 plans the pass.
 *
 * The ring has one writer, thread 0, and one reader, the caller:
 *
 *     n_read <= n_emitted <= n_written <= n_read + max_events
 *
 * Events up to n_emitted (stored with release, read with acquire) are the caller's to read, and
 * so is the text they point to. Nothing is overwritten in a run: it emits at most max_events,
 * and all of them are read when it is over.
 */

/* How often the caller polls the ring: once per frame of a screen, since a poll takes a core from
 * the team for some 40 us. */
static const double POLL_S = 1.0 / 60;

/* What one step drew for a slot. */
struct drawn {
    struct token_event events[1 + DRAFT_MAX];
    int n;
    bool looked; /* at the slot at all */
};

int device_loop_new(struct device_loop **out, struct engine *e, int n_slots)
{
    *out = NULL;
    if (n_slots < 1 || n_slots > e->max_seqs || n_slots > FORWARD_MAX_ROWS)
        return err_set(ERR_RANGE, "%d texts at once: the engine was made for 1 to %d", n_slots,
                       e->max_seqs < FORWARD_MAX_ROWS ? e->max_seqs : FORWARD_MAX_ROWS);
    struct device_loop *l = mem_alloc(sizeof *l);
    if (l == NULL)
        return ERR_NOMEM;
    size_t n = (size_t)n_slots;
    l->engine = e;
    l->n_slots = n_slots;
    /* A text of one id can get n_ctx more, so a run of n_ctx steps is never cut short; one more
     * event for a slot that finds no page. */
    l->max_steps = e->model->config.n_ctx;
    l->max_events = n * ((size_t)l->max_steps + 1);
    l->scratch_bytes = sampler_scratch_bytes(e->model->config.n_vocab, e->model->config.n_ctx);
    if ((l->scratch = mem_array((size_t)e->forward.n_threads, l->scratch_bytes)) == NULL ||
        (l->slots = mem_array(n, sizeof *l->slots)) == NULL ||
        (l->drawn = mem_array(n, sizeof *l->drawn)) == NULL ||
        (l->drafts = mem_array(n, sizeof(struct draft *))) == NULL ||
        (l->ring = mem_array(l->max_events, sizeof *l->ring)) == NULL) {
        device_loop_free(l);
        return ERR_NOMEM;
    }
    *out = l;
    return 0;
}

void device_loop_free(struct device_loop *l)
{
    if (l == NULL)
        return;
    mem_free(l->scratch);
    mem_free(l->slots);
    mem_free(l->drawn);
    mem_free(l->drafts);
    mem_free(l->ring);
    mem_free(l);
}

struct decode_slot *device_loop_slots(struct device_loop *l)
{
    return l->slots;
}

/* Draw one token for a slot, append it, and test whether it ends the text. */
static void draw_token(struct decode_slot *s, const float *logits, struct token_event *event)
{
    struct ids *ids = &s->seq->ids;
    s->n_read = (int)ids->n;
    if (!logits_are_finite(logits, (size_t)s->seq->engine->model->config.n_vocab)) {
        *event = (struct token_event){.rc = ERR_NOT_FINITE, .ended = true, .finish = FINISH_ERROR};
        return;
    }
    *event = (struct token_event){
        .ended = true, .token = sampler_pick(s->sampler, logits, ids->data, ids->n, s->n_new)};
    if (event->token.id == TOKEN_NONE) {
        event->rc = event->token.rc;
        event->finish = event->rc != 0 ? FINISH_ERROR : finish_of(sampler_end(s->sampler));
        return;
    }
    if (stop_tokens_has(&s->stop_tokens, event->token.id)) {
        event->finish = FINISH_STOP_TOKEN;
        return;
    }
    ids->data[ids->n++] = event->token.id;
    s->n_new++;
    if (s->stream != NULL) {
        event->text = s->bytes + s->n_bytes;
        event->n_text = stream_push(s->stream, event->token.id, s->bytes + s->n_bytes);
        s->n_bytes += event->n_text;
    }
    if (s->stream != NULL && s->stream->stopped)
        event->finish = FINISH_STOP_STRING;
    else if (s->n_new >= s->max_new)
        event->finish = FINISH_LENGTH;
    else if (kvcache_text_room(&s->seq->engine->cache, ids->n) == 0)
        event->finish = FINISH_CONTEXT;
    else
        event->ended = false;
}

/* Draw the next token for a slot, and one for each id of its draft while these are what was drawn:
 * so each draw has the text, the sampler and the logits that it would have had without a draft. */
static void draw_tokens(struct decode_slot *s, struct drawn *drawn)
{
    const size_t n_vocab = (size_t)s->seq->engine->model->config.n_vocab;
    const token_id *draft =
        s->seq->ids.data + s->seq->ids.n; /* of which a draw overwrites its own */
    const struct token_event *last;
    int n_accepted = 0;
    bool accepted;
    s->ready = false;
    drawn->n = 0;
    drawn->looked = true;
    do {
        const int i = drawn->n++;
        const token_id expected = i < s->n_draft ? draft[i] : TOKEN_NONE;
        last = &drawn->events[i];
        draw_token(s, s->logits + (size_t)i * n_vocab, &drawn->events[i]);
        if (last->rc == ERR_INTERRUPTED) { /* as if it had come before this draw */
            drawn->n--;
            break;
        }
        accepted = expected != TOKEN_NONE && last->rc == 0 && last->token.id == expected;
        n_accepted += accepted;
    } while (accepted && !last->ended);
    if (s->n_draft > 0)
        draft_count(s->draft, s->n_draft, n_accepted);
    s->n_draft = 0;
}

/* Draw for all ready slots; threads take the next slot from a shared counter. */
static void draw_slots(struct device_loop *l, int thread)
{
    for (;;) {
        int i = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
        if (i >= l->n_slots)
            return;
        struct decode_slot *s = &l->slots[i];
        l->drawn[i].n = 0;
        l->drawn[i].looked = false;
        if (!s->live || !s->ready)
            continue;
        sampler_use(s->sampler, l->scratch + (size_t)thread * l->scratch_bytes);
        draw_tokens(s, &l->drawn[i]);
    }
}

/* Into the ring, not yet published to the caller. */
static void emit_event(struct device_loop *l, int slot, const struct token_event *h)
{
    struct token_event *to = &l->ring[l->n_written++ % l->max_events];
    *to = *h;
    to->slot = slot;
    if (h->ended) {
        l->slots[slot].live = false;
        l->ended = true;
    }
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* How long a draft may be: every token of it can be drawn and fed, and one more after it drawn, in
 * a pass of n_rows rows so far besides those of the slots. */
static int draft_room(const struct device_loop *l, const struct decode_slot *s, int n_drafts)
{
    int room = smaller(ENGINE_DRAFT_ROWS, FORWARD_MAX_ROWS - l->n_live) - n_drafts;
    room = smaller(room, s->max_new - s->n_new - 1);
    return smaller(room, l->engine->model->config.n_ctx - (int)s->seq->ids.n);
}

/* Add a slot to the pass: its last token, and a draft of what follows. ERR_FULL: no page is left.
 */
static int plan_slot(struct device_loop *l, struct decode_slot *s, int *n_drafts)
{
    struct engine *e = l->engine;
    struct ids *ids = &s->seq->ids;
    const int row = e->n_hidden;
    s->n_draft = s->draft == NULL ? 0
                 : s->draft->drafter != NULL
                     ? s->draft->n_made
                     : draft_propose(s->draft, ids->data, ids->n, draft_room(l, s, *n_drafts),
                                     l->n_live, l->n_live + *n_drafts);
    int rc = engine_add(e, &s->seq->kv, &ids->data[ids->n - 1], 1 + s->n_draft, 0);
    if (rc != 0 && s->n_draft > 0) {
        s->n_draft = 0;
        rc = engine_add(e, &s->seq->kv, &ids->data[ids->n - 1], 1, 0);
    }
    *n_drafts += s->n_draft;
    s->logits = e->logits + (size_t)row * (size_t)e->model->config.n_vocab;
    s->ready = rc == 0;
    return rc;
}

/* Plan what the smaller model drafts for the next pass. */
static void plan_drafts(struct device_loop *l)
{
    int n_drafts = 0;
    l->n_drafts = 0;
    for (int i = 0; i < l->n_slots; i++) {
        struct decode_slot *s = &l->slots[i];
        if (!s->live || s->draft == NULL || s->draft->drafter == NULL)
            continue;
        struct ids *ids = &s->seq->ids;
        const int n = draft_model_plan(s->draft, ids->data, ids->n, draft_room(l, s, n_drafts),
                                       l->n_live, l->n_live + n_drafts);
        if (n > 0)
            l->drafts[l->n_drafts++] = s->draft;
        n_drafts += n;
    }
}

/* Plan the next pass: the last token of every live slot, and drafts. */
static void plan_pass(struct device_loop *l)
{
    static const struct token_event NO_PAGE = {
        .rc = ERR_FULL, .ended = true, .finish = FINISH_ERROR};
    int n_drafts = 0;
    engine_begin(l->engine);
    for (int i = 0; i < l->n_slots; i++)
        if (l->slots[i].live && plan_slot(l, &l->slots[i], &n_drafts) != 0)
            emit_event(l, i, &NO_PAGE);
    engine_advance(l->engine);
}

/* Emit what was drawn for a slot, and drop from the cache what was drafted and not drawn. Returns
 * the number of tokens. */
static int emit_drawn(struct device_loop *l, int slot)
{
    const struct drawn *drawn = &l->drawn[slot];
    struct decode_slot *s = &l->slots[slot];
    for (int i = 0; i < drawn->n; i++)
        emit_event(l, slot, &drawn->events[i]);
    if (drawn->looked && s->seq->kv.n > s->n_read)
        kv_seq_truncate(&s->seq->kv, &l->engine->cache, s->n_read);
    return drawn->n;
}

/* Between two steps, by thread 0: emit events, and leave or plan the next pass. */
static void plan_step(struct device_loop *l)
{
    int most_drawn = 0;
    l->n_live = 0;
    for (int i = 0; i < l->n_slots; i++) {
        int n = emit_drawn(l, i);
        most_drawn = n > most_drawn ? n : most_drawn;
        l->n_live += l->slots[i].live;
    }
    l->steps += most_drawn > 0;
    l->tokens_held += most_drawn;
    l->leave = l->n_live == 0 || (l->ended && l->until_ended) || l->steps >= l->steps_wanted ||
               interrupt_pending() || atomic_load_explicit(&l->halt, memory_order_relaxed);
    if (!l->leave)
        plan_drafts(l);
    if (!l->leave && l->n_drafts == 0) {
        plan_pass(l);
        l->leave = l->engine->n_pass == 0;
    }
    if (l->leave || l->tokens_held >= l->device_iterations) {
        l->tokens_held = 0;
        atomic_store_explicit(&l->n_emitted, l->n_written, memory_order_release);
    }
    atomic_store_explicit(&l->next, 0, memory_order_relaxed);
}

/* By all threads: the drafts of a smaller model, then the plan of the pass. */
static void run_drafts(struct device_loop *l, int thread, int n_threads)
{
    draft_model_run(l->engine->drafter, l->drafts, l->n_drafts, thread, n_threads);
    if (thread == 0) {
        plan_pass(l);
        l->leave = l->engine->n_pass == 0;
        if (l->leave)
            atomic_store_explicit(&l->n_emitted, l->n_written, memory_order_release);
    }
    par_barrier();
}

/* By thread 0, after a pass whose results are worthless: every text is what was drawn before. */
static void end_unread(struct device_loop *l)
{
    static const struct token_event UNREAD = {.rc = ERR_IO, .ended = true, .finish = FINISH_ERROR};
    for (int i = 0; i < l->n_slots; i++) {
        struct decode_slot *s = &l->slots[i];
        if (!s->live)
            continue;
        kv_seq_truncate(&s->seq->kv, &l->engine->cache, s->seq->kv.n - 1 - s->n_draft);
        s->n_draft = 0;
        s->ready = false;
        emit_event(l, i, &UNREAD);
    }
    atomic_store_explicit(&l->n_emitted, l->n_written, memory_order_release);
}

static void run_loop(void *arg, int thread, int n_threads)
{
    struct device_loop *l = arg;
    struct engine *e = l->engine;
    for (;;) {
        profile_begin(SPAN_SAMPLING, -1);
        profile_set(PART_SAMPLING);
        draw_slots(l, thread);
        par_barrier();
        if (thread == 0)
            plan_step(l);
        par_barrier();
        profile_end();
        if (!l->leave && l->n_drafts > 0)
            run_drafts(l, thread, n_threads);
        if (l->leave)
            return;
        engine_pass(e, e->logits, thread, n_threads);
        if (engine_failed(e)) {
            if (thread == 0)
                end_unread(l);
            return;
        }
    }
}

/* Give the events emitted so far to take. */
static void take_events(struct device_loop *l,
                        void (*take)(void *user, const struct token_event *h), void *user)
{
    size_t n = atomic_load_explicit(&l->n_emitted, memory_order_acquire);
    for (; l->n_read < n; l->n_read++)
        take(user, &l->ring[l->n_read % l->max_events]);
}

int device_loop_run(struct device_loop *l, int steps, int device_iterations, bool until_ended,
                    void (*take)(void *user, const struct token_event *h), void *user)
{
    l->steps = l->tokens_held = 0;
    l->steps_wanted = steps < l->max_steps ? steps : l->max_steps;
    l->device_iterations = device_iterations;
    for (int i = 0; i < l->n_slots; i++)
        l->slots[i].n_bytes = 0;
    l->until_ended = until_ended;
    l->ended = false;
    atomic_store(&l->next, 0);
    atomic_store(&l->halt, false);
    profile_begin(SPAN_DECODE, -1);
    par_start(run_loop, l);
    while (!par_wait_s(POLL_S))
        take_events(l, take, user);
    profile_end();
    take_events(l, take, user);
    return l->steps;
}

void device_loop_halt(struct device_loop *l)
{
    atomic_store_explicit(&l->halt, true, memory_order_relaxed);
}
