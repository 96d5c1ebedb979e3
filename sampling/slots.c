#include "sampling/slots.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "sampling/chain/logits.h"
#include "sampling/device_loop.h"
#include "sampling/draft_model.h"
#include "sampling/grammar/follower.h"
#include "sampling/text/prompt.h"
#include "sampling/text/speller.h"

#include <math.h>
#include <string.h>

/*
 * The states of a slot:
 *
 *     idle     !busy              its sequence keeps the last text's pages, for others to share
 *       slots_start
 *     unread   busy, unread       its text is in the sequence, not all of it in the cache
 *       begin_decoding, once the text is read
 *     live     busy, decode live  the device loop draws tokens
 *       an event with `ended`
 *     ended    busy, ended        slide_text, if a full context slides: unread again
 *       end_text
 *     idle
 *
 * The device loop owns `decode` and the sequences while it runs, the caller between its runs.
 */

/* A shorter common beginning is not worth a pass of its own: reading so few ids twice in one pass
 * costs less than reading the weights once more. */
enum { WORTH_A_PASS = 16 };

/* The caller's side of a slot. */
struct slot {
    struct decode_slot *decode; /* the loop's side of it; its sequence is own or sample.read */
    struct sample sample;
    bool busy, unread, ended;
    enum finish finish;
    int rc;              /* the error behind FINISH_ERROR */
    struct sequence own; /* made when first needed */
    struct sampler *sampler;
    struct speller speller;
    bool kept;      /* sampler and speller have the slots' own settings */
    double since_s; /* when reading, then decoding, began */
};

struct slots {
    struct engine *engine;
    const struct generate_config *generate;
    const struct sampler_config *sampler;
    struct listener *listener;
    struct device_loop *loop;
    struct slot *list; /* [n] */
    struct engine_feed *feeds;
    int *fed; /* [n] the slots of the feeds */
    int n, n_busy;
    int failed; /* the error of a token event that could not be recorded */
    struct slots_times times;
};

static const struct config *model_shape(const struct slots *s)
{
    return &s->engine->model->config;
}

static void release_tools(struct slot *slot)
{
    sampler_free(slot->sampler);
    speller_release(&slot->speller);
    slot->sampler = NULL;
    slot->kept = false;
}

int slots_new(struct slots **out, struct engine *e, int n, const struct generate_config *g,
              const struct sampler_config *c, struct listener *listener)
{
    *out = NULL;
    struct slots *s = mem_alloc(sizeof *s);
    if (s == NULL)
        return ERR_NOMEM;
    *s = (struct slots){.engine = e, .n = n, .generate = g, .sampler = c, .listener = listener};
    int rc = device_loop_new(&s->loop, e, n);
    if (rc == 0 && ((s->list = mem_array((size_t)n, sizeof *s->list)) == NULL ||
                    (s->feeds = mem_array((size_t)n, sizeof *s->feeds)) == NULL ||
                    (s->fed = mem_array((size_t)n, sizeof *s->fed)) == NULL))
        rc = ERR_NOMEM;
    if (rc != 0) {
        slots_free(s);
        return rc;
    }
    for (int i = 0; i < n; i++)
        s->list[i].decode = &device_loop_slots(s->loop)[i];
    *out = s;
    return 0;
}

void slots_free(struct slots *s)
{
    if (s == NULL)
        return;
    for (int i = 0; s->list != NULL && i < s->n; i++) {
        sequence_release(&s->list[i].own);
        if (s->list[i].decode != NULL) {
            release_tools(&s->list[i]);
            draft_free(s->list[i].decode->draft);
        }
    }
    mem_free(s->list);
    mem_free(s->feeds);
    mem_free(s->fed);
    device_loop_free(s->loop);
    mem_free(s);
}

int slots_busy(const struct slots *s)
{
    return s == NULL ? 0 : s->n_busy;
}

bool slots_room(const struct slots *s)
{
    return s == NULL || s->n_busy < s->n;
}

struct slots_times slots_times(const struct slots *s)
{
    return s == NULL ? (struct slots_times){0} : s->times;
}

void slots_clear(struct slots *s)
{
    for (int i = 0; s != NULL && i < s->n; i++)
        if (s->list[i].own.engine != NULL)
            sequence_truncate(&s->list[i].own, 0);
}

static int make_tools(struct slot *slot, const struct sample *sample, const struct model *m)
{
    const struct config *c = &m->config;
    struct decode_slot *decode = slot->decode;
    int rc = speller_init(&slot->speller, sample->generate, m, (size_t)c->n_ctx);
    decode->stop_tokens = slot->speller.stop_tokens;
    decode->stream = &slot->speller.stream;
    decode->bytes = slot->speller.bytes;
    return rc != 0 ? rc
                   : sampler_new(&slot->sampler, sample->sampler, c->n_vocab, c->n_ctx,
                                 m->tokenizer, &decode->stop_tokens);
}

/* The sampler and speller for a sample. Those with the slots' own settings, which do not change,
 * are reused. */
static int prepare_tools(struct slots *s, struct slot *slot, const struct sample *sample)
{
    bool own = sample->sampler == s->sampler && sample->generate == s->generate;
    if (!own || !slot->kept) {
        release_tools(slot);
        int rc = make_tools(slot, sample, s->engine->model);
        if (rc != 0)
            return rc;
        slot->kept = own;
    }
    sampler_reset(slot->sampler, sample->draw, sample->held_space);
    sampler_want_logprobs(slot->sampler, s->listener->callbacks.want_logprobs);
    stream_reset(&slot->speller.stream, sample->held_space);
    return 0;
}

/* The sequence of a sample: the one that has read the prompt, or the slot's own, sharing pages with
 * that one or with the slot's previous text. */
static int prepare_sequence(struct slots *s, struct slot *slot, const struct sample *sample)
{
    struct sequence *before = slot->decode->seq;
    if (sample->in_place) {
        slot->decode->seq = sample->read;
        return 0;
    }
    if (slot->own.engine == NULL) {
        int rc = sequence_init(&slot->own, s->engine);
        if (rc != 0)
            return rc;
    }
    if (sample->read != NULL)
        sequence_fork(&slot->own, sample->read, sample->n_ids);
    else
        sequence_begin(&slot->own, before != NULL ? before : &slot->own, sample->ids,
                       sample->n_ids);
    slot->decode->seq = &slot->own;
    return 0;
}

int slots_start(struct slots *s, const struct sample *sample)
{
    struct slot *slot = s->list;
    while (slot->busy)
        slot++;
    struct decode_slot *decode = slot->decode;
    int rc = prepare_tools(s, slot, sample);
    if (rc != 0 ||
        (rc = draft_begin_as_set(&decode->draft, s->engine, sample->generate->speculate)) != 0 ||
        (rc = prepare_sequence(s, slot, sample)) != 0)
        return rc;
    slot->sample = *sample;
    decode->sampler = slot->sampler;
    decode->n_new = 0;
    decode->max_new = sample->generate->max_new_tokens;
    slot->busy = slot->unread = true;
    s->n_busy++;
    sample->answer->n_prompt = (int)decode->seq->ids.n;
    slot->since_s = clock_s();
    slot->ended = decode->max_new == 0;
    slot->finish = FINISH_LENGTH;
    slot->rc = 0;
    return 0;
}

static struct sequence *slot_sequence(const struct slots *s, int k)
{
    return s->list[k].decode->seq;
}

/* Share the pages of the longest common beginning that any slot has in the cache. */
static void share_beginning(struct slots *s, int k)
{
    struct sequence *mine = slot_sequence(s, k);
    size_t best = (size_t)mine->kv.n;
    int donor = k;
    for (int i = 0; i < s->n; i++) {
        const struct sequence *other = i == k ? NULL : slot_sequence(s, i);
        size_t n = other == NULL ? 0 : sequence_common(other, mine->ids.data, mine->ids.n - 1);
        if (n > best) {
            best = n;
            donor = i;
        }
    }
    if (donor != k)
        sequence_begin(mine, slot_sequence(s, donor), mine->ids.data, mine->ids.n);
}

/* Whether this text should wait for one of the feeds, with which it has enough in common. */
static bool slot_should_wait(const struct slots *s, int k, int n_feeds)
{
    const struct sequence *mine = slot_sequence(s, k);
    for (int i = 0; i < n_feeds; i++) {
        const struct ids *other = &slot_sequence(s, s->fed[i])->ids;
        size_t n = 0;
        while (n < other->n && n + 1 < mine->ids.n && other->data[n] == mine->ids.data[n])
            n++;
        if (n >= (size_t)mine->kv.n + WORTH_A_PASS)
            return true;
    }
    return false;
}

/* Make a slot live, whose text has been read with these logits after it. */
static void begin_decoding(struct slots *s, int k, float *logits)
{
    struct slot *slot = &s->list[k];
    struct decode_slot *decode = slot->decode;
    decode->logits = logits;
    if (slot->sample.held_space && decode->n_new == 0)
        prompt_mask_logits(s->engine->model, decode->logits);
    decode->seq->n_logits = 0; /* the loop's logits are in the engine's rows */
    decode->n_draft = 0;
    decode->live = decode->ready = true;
    slot->unread = false;
}

/* Begin decoding the texts that need no reading. */
static void start_read_slots(struct slots *s)
{
    for (int i = 0; i < s->n; i++) {
        const struct slot *slot = &s->list[i];
        if (slot->busy && slot->unread && sequence_has_logits(slot->decode->seq))
            begin_decoding(s, i, slot->decode->seq->logits);
    }
}

/* Put the texts that can be read now into the feeds. Returns how many. */
static int choose_feeds(struct slots *s)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        struct slot *slot = &s->list[i];
        if (!slot->busy || !slot->unread)
            continue;
        share_beginning(s, i);
        if (slot_should_wait(s, i, n))
            continue;
        struct sequence *seq = slot->decode->seq;
        if (slot->decode->n_new == 0)
            slot->sample.answer->n_reused = seq->kv.n;
        s->feeds[n] = (struct engine_feed){
            .seq = &seq->kv, .ids = seq->ids.data + seq->kv.n, .n = (int)seq->ids.n - seq->kv.n};
        s->fed[n++] = i;
    }
    return n;
}

static int read_unread_slots(struct slots *s)
{
    double start = clock_s();
    float *logits = s->engine->logits;
    start_read_slots(s);
    for (int n; (n = choose_feeds(s)) > 0;) {
        int rc = engine_feed(s->engine, s->feeds, n, logits, s->listener->callbacks.progress);
        if (rc != 0)
            return rc;
        double now = clock_s();
        for (int i = 0; i < n; i++, logits += model_shape(s)->n_vocab) {
            struct slot *slot = &s->list[s->fed[i]];
            if (slot->decode->n_new == 0) {
                slot->sample.answer->prefill_s = now - slot->since_s;
                slot->since_s = now;
            }
            begin_decoding(s, s->fed[i], logits);
        }
        s->times.prefill_s += now - start;
        start = now;
    }
    return 0;
}

static void take_event(void *user, const struct token_event *event)
{
    struct slots *s = user;
    struct slot *slot = &s->list[event->slot];
    struct answer *answer = slot->sample.answer;
    bool in_answer = event->rc == 0 && event->token.id != TOKEN_NONE &&
                     !(event->ended && event->finish == FINISH_STOP_TOKEN);
    const float *logprob = s->listener->callbacks.want_logprobs ? &event->token.logprob : NULL;
    int rc = in_answer ? answer_add(answer, event->token.id, logprob) : 0;
    if (rc == 0 && in_answer)
        rc =
            listener_add_text(s->listener, answer, slot->sample.number, event->text, event->n_text);
    if (rc != 0) {
        s->failed = rc;
        device_loop_halt(s->loop);
    }
    slot->ended = event->ended;
    slot->finish = event->finish;
    slot->rc = event->rc;
}

/* Continue from the newest half of a full context, as a new text: position embeddings are part of
 * the keys, so cached keys cannot move. */
static void slide_text(struct slots *s, struct slot *slot)
{
    struct sequence *seq = slot->decode->seq;
    size_t kept = (size_t)prompt_slide_length(model_shape(s)->n_ctx);
    kv_seq_truncate(&seq->kv, &s->engine->cache, 0);
    sequence_begin(seq, seq, seq->ids.data + seq->ids.n - kept, kept);
    if (slot->decode->draft != NULL)
        draft_forget_text(slot->decode->draft);
    slot->unread = true;
    slot->ended = false;
    slot->sample.answer->slid = true;
    listener_report_slide(s->listener);
}

/* The sentence of what the loop's threads found, in the caller's. */
static void blame_text(const struct slots *s, const struct slot *slot)
{
    if (slot->rc == ERR_NOT_FINITE)
        logits_refuse(s->engine->model, slot->decode->seq->ids.n);
    else if (slot->rc == ERR_RANGE)
        err_set(ERR_RANGE, FOLLOWER_TOO_MANY);
    else if (slot->rc == ERR_IO)
        engine_error(s->engine);
    else
        kvcache_full(&s->engine->cache);
}

static int end_text(struct slots *s, struct slot *slot)
{
    struct answer *a = slot->sample.answer;
    slot->decode->live = slot->busy = slot->unread = slot->ended = false;
    s->n_busy--;
    a->finish = slot->finish;
    if (a->finish == FINISH_STOP_STRING)
        speller_end(&slot->speller, a);
    a->decode_s = clock_s() - slot->since_s;
    if (slot->decode->draft != NULL) {
        a->n_drafted = slot->decode->draft->n_drafted;
        a->n_accepted = slot->decode->draft->n_accepted;
    }
    char *bytes = slot->speller.bytes;
    int rc = listener_add_text(s->listener, a, slot->sample.number, bytes,
                               stream_finish(&slot->speller.stream, bytes));
    if (rc == 0 && slot->rc != 0)
        blame_text(s, slot);
    if (rc == 0)
        slot->sample.ended(slot->sample.owner, slot->rc);
    return rc;
}

/* End or slide the texts that have ended; *n_ended counts the former. */
static int end_texts(struct slots *s, int *n_ended)
{
    *n_ended = 0;
    for (int i = 0; i < s->n; i++) {
        struct slot *slot = &s->list[i];
        if (!slot->busy || !slot->ended)
            continue;
        if (slot->finish == FINISH_CONTEXT && slot->sample.generate->on_full == ON_FULL_SLIDE) {
            slide_text(s, slot);
            continue;
        }
        int rc = end_text(s, slot);
        if (rc != 0)
            return rc;
        ++*n_ended;
    }
    return 0;
}

/* End all busy slots as interrupted. Returns ERR_INTERRUPTED, or an error on the way. */
static int interrupt_texts(struct slots *s)
{
    int n_ended, rc;
    for (int i = 0; i < s->n; i++)
        if (s->list[i].busy) {
            s->list[i].ended = true;
            s->list[i].finish = FINISH_INTERRUPTED;
        }
    rc = end_texts(s, &n_ended);
    return rc != 0 ? rc : err_set(ERR_INTERRUPTED, "interrupted");
}

int slots_step(struct slots *s, int steps)
{
    int n_ended, rc = end_texts(s, &n_ended);
    if (rc != 0 || n_ended > 0)
        return rc;
    if ((rc = read_unread_slots(s)) != 0)
        return rc == ERR_INTERRUPTED ? interrupt_texts(s) : rc;
    double start = clock_s();
    device_loop_run(s->loop, s->generate->device_loop ? steps : 1, s->generate->device_iterations,
                    true, take_event, s);
    s->times.decode_s += clock_s() - start;
    if (s->failed != 0)
        return s->failed;
    if ((rc = end_texts(s, &n_ended)) != 0)
        return rc;
    return interrupt_pending() && s->n_busy > 0 ? interrupt_texts(s) : 0;
}
