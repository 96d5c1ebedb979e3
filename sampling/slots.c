#include "sampling/slots.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/mem.h"

#include <math.h>
#include <string.h>

/* Below so many ids a common beginning is not worth a pass of its own: reading them
 * twice in one pass costs less than the weights once more. */
enum { WORTH_A_PASS = 16 };

static const struct config *shape(const struct slots *s)
{
    return &s->engine->model->config;
}

static int init_desk(struct desk *d, struct slot *slot, const struct engine *e)
{
    int rc = kv_seq_init(&d->seq, &e->cache);
    if (rc != 0)
        return rc;
    d->text = mem_array(kvcache_text_max(&e->cache), sizeof *d->text);
    slot->seq = &d->seq;
    slot->text = d->text;
    d->slot = slot;
    return d->text == NULL ? ERR_NOMEM : 0;
}

static void release_tools(struct desk *d)
{
    sampler_free(d->sampler);
    stream_release(&d->shown);
    stream_release(&d->watched);
    stop_strings_free(d->stops);
    mem_free(d->bytes);
    d->sampler = NULL;
    d->stops = NULL;
    d->bytes = NULL;
    d->kept = false;
}

int slots_init(struct slots *s, struct engine *e, int n, const struct generate_config *g,
               const struct sampler_config *c, const struct generate_host *host)
{
    *s = (struct slots){.engine = e, .n = n, .generate = g, .sampler = c, .host = host};
    int rc = device_loop_init(&s->loop, e, n);
    if (rc != 0)
        return rc;
    rc = ERR_NOMEM;
    if ((s->desks = mem_array((size_t)n, sizeof *s->desks)) == NULL ||
        (s->feeds = mem_array((size_t)n, sizeof *s->feeds)) == NULL ||
        (s->fed = mem_array((size_t)n, sizeof *s->fed)) == NULL)
        goto out;
    for (int i = 0; i < n; i++)
        if ((rc = init_desk(&s->desks[i], &s->loop.slots[i], e)) != 0)
            goto out;
    return 0;
out:
    slots_release(s);
    return rc;
}

void slots_release(struct slots *s)
{
    if (s == NULL)
        return;
    for (int i = 0; s->desks != NULL && i < s->n; i++) {
        struct desk *d = &s->desks[i];
        kv_seq_release(&d->seq, &s->engine->cache);
        mem_free(d->text);
        release_tools(d);
    }
    mem_free(s->desks);
    mem_free(s->feeds);
    mem_free(s->fed);
    device_loop_release(&s->loop);
    *s = (struct slots){0};
}

void slots_clear(struct slots *s)
{
    for (int i = 0; i < s->n; i++)
        kv_seq_truncate(&s->desks[i].seq, &s->engine->cache, 0);
}

static int make_tools(struct desk *d, const struct writing *w, const struct model *m)
{
    int rc = generate_stop_tokens(&d->slot->stop_tokens, w->generate, m);
    if (rc != 0 ||
        (rc = sampler_new(&d->sampler, w->sampler, m->config.n_vocab, m->config.n_ctx, m->tokenizer,
                          &d->slot->stop_tokens)) != 0 ||
        (rc = stop_strings_new(&d->stops, w->generate->stop)) != 0)
        return rc;
    if (d->stops != NULL && m->tokenizer == NULL)
        return err_set(ERR_MISSING, "stop strings need a tokenizer, and this model has none");
    if ((rc = stream_init(&d->shown, m->tokenizer, d->stops)) != 0 ||
        (rc = stream_init(&d->watched, m->tokenizer, d->stops)) != 0)
        return rc;
    d->bytes = mem_alloc(2 * stream_max_bytes(&d->shown));
    return d->bytes == NULL ? ERR_NOMEM : 0;
}

/* The sampler and streams for a writing: those of the last one where both go by the
 * slots' own settings, which do not change. */
static int prepare(struct slots *s, struct desk *d, const struct writing *w)
{
    bool own = w->sampler == s->sampler && w->generate == s->generate;
    if (!own || !d->kept) {
        release_tools(d);
        int rc = make_tools(d, w, s->engine->model);
        if (rc != 0)
            return rc;
        d->kept = own;
    }
    sampler_reset(d->sampler, w->draw);
    sampler_want_logprobs(d->sampler, s->host->want_logprobs);
    stream_reset(&d->shown, w->held_blank);
    stream_reset(&d->watched, w->held_blank);
    return 0;
}

static int common(const token_id *a, int n_a, const token_id *b, int n_b)
{
    int n = 0;
    while (n < n_a && n < n_b && a[n] == b[n])
        n++;
    return n;
}

int slots_start(struct slots *s, const struct writing *w)
{
    int i = 0;
    while (s->desks[i].busy)
        i++;
    struct desk *d = &s->desks[i];
    struct slot *slot = d->slot;
    int rc = prepare(s, d, w);
    if (rc != 0)
        return rc;
    d->writing = *w;
    kv_seq_truncate(&d->seq, &s->engine->cache, common(d->text, d->seq.n, w->ids, w->n_ids - 1));
    memcpy(d->text, w->ids, (size_t)w->n_ids * sizeof *d->text);
    slot->sampler = d->sampler;
    slot->n_text = w->n_ids;
    slot->n_new = 0;
    slot->max_new = w->generate->max_new_tokens;
    slot->stream = d->stops == NULL ? NULL : &d->watched;
    slot->shown = d->bytes + stream_max_bytes(&d->shown);
    d->busy = d->unread = true;
    s->n_busy++;
    w->answer->n_prompt = w->n_ids;
    d->logprobs_cap = 0;
    d->since_s = clock_s();
    d->ended = slot->max_new == 0;
    d->finish = FINISH_LENGTH;
    return 0;
}

/* Share the pages of the longest common beginning any slot has in the cache. */
static void share(struct slots *s, int k)
{
    struct desk *d = &s->desks[k];
    int n_text = d->slot->n_text, best = d->seq.n, donor = k;
    for (int i = 0; i < s->n; i++) {
        int n = i == k ? 0 : common(s->desks[i].text, s->desks[i].seq.n, d->text, n_text - 1);
        if (n > best) {
            best = n;
            donor = i;
        }
    }
    if (donor != k)
        kv_seq_fork(&d->seq, &s->desks[donor].seq, &s->engine->cache, best);
}

/* Whether a text that is about to be read has enough in common with this one that it
 * should wait for it. */
static bool should_wait(const struct slots *s, int k, int n_feeds)
{
    const struct slot *mine = s->desks[k].slot;
    for (int i = 0; i < n_feeds; i++) {
        const struct slot *other = s->desks[s->fed[i]].slot;
        if (common(other->text, other->n_text, mine->text, mine->n_text - 1) - s->desks[k].seq.n >=
            WORTH_A_PASS)
            return true;
    }
    return false;
}

/* The slot's text has been read, its logits are in a row of the engine's. */
static void begin_decoding(struct slots *s, int k, int row)
{
    struct desk *d = &s->desks[k];
    struct slot *slot = d->slot;
    slot->logits = s->engine->logits + (size_t)row * (size_t)shape(s)->n_vocab;
    if (d->writing.held_blank && slot->n_new == 0)
        prompt_mask_logits(s->engine->model, slot->logits);
    slot->live = slot->ready = true;
    d->unread = false;
}

/* Texts that a sequence has read: its pages, its logits. */
static int take_read(struct slots *s)
{
    int row = 0;
    size_t n_vocab = (size_t)shape(s)->n_vocab;
    for (int i = 0; i < s->n; i++) {
        struct desk *d = &s->desks[i];
        const struct sequence *read = d->writing.read;
        if (!d->busy || !d->unread || read == NULL || d->slot->n_new > 0)
            continue;
        kv_seq_fork(&d->seq, &read->kv, &s->engine->cache, read->kv.n);
        memcpy(s->engine->logits + (size_t)row * n_vocab, read->logits,
               n_vocab * sizeof *read->logits);
        begin_decoding(s, i, row++);
    }
    return row;
}

static int read_unread(struct slots *s)
{
    double start = clock_s();
    int row = take_read(s);
    for (;;) {
        int n = 0;
        for (int i = 0; i < s->n; i++) {
            struct desk *d = &s->desks[i];
            if (!d->busy || !d->unread)
                continue;
            share(s, i);
            if (should_wait(s, i, n))
                continue;
            if (d->slot->n_new == 0)
                d->writing.answer->n_reused = d->seq.n;
            s->feeds[n] = (struct engine_feed){
                .seq = &d->seq, .ids = d->text + d->seq.n, .n = d->slot->n_text - d->seq.n};
            s->fed[n++] = i;
        }
        if (n == 0)
            return 0;
        int rc = engine_feed(s->engine, s->feeds, n,
                             s->engine->logits + (size_t)row * (size_t)shape(s)->n_vocab,
                             s->host->progress);
        if (rc != 0)
            return rc;
        double now = clock_s();
        for (int i = 0; i < n; i++) {
            struct desk *d = &s->desks[s->fed[i]];
            if (d->slot->n_new == 0) {
                d->writing.answer->prefill_s = now - d->since_s;
                d->since_s = now;
            }
            begin_decoding(s, s->fed[i], row++);
        }
        s->prefill_s += now - start;
        start = now;
    }
}

static int add_text(struct slots *s, struct desk *d, size_t n)
{
    if (n == 0)
        return 0;
    if (s->host->text != NULL)
        s->host->text(s->host->user, d->writing.index, d->bytes, n);
    return buf_add(&d->writing.answer->text, d->bytes, n);
}

static int add_token(struct slots *s, struct desk *d, const struct sampled *token)
{
    struct answer *a = d->writing.answer;
    if (s->host->want_logprobs) {
        if (a->ids.n == d->logprobs_cap) {
            size_t cap = d->logprobs_cap == 0 ? 64 : 2 * d->logprobs_cap;
            float *grown =
                mem_grow(a->logprobs, d->logprobs_cap * sizeof *grown, cap * sizeof *grown);
            if (grown == NULL)
                return ERR_NOMEM;
            a->logprobs = grown;
            d->logprobs_cap = cap;
        }
        a->logprobs[a->ids.n] = token->logprob;
    }
    int rc = ids_add(&a->ids, &token->id, 1);
    return rc != 0 ? rc : add_text(s, d, stream_push(&d->shown, token->id, d->bytes));
}

static void take(void *user, const struct handed *h)
{
    struct slots *s = user;
    struct desk *d = &s->desks[h->slot];
    bool is_text = h->token.id != TOKEN_NONE && !(h->ended && h->finish == FINISH_STOP_TOKEN);
    int rc = is_text ? add_token(s, d, &h->token) : 0;
    if (rc != 0) {
        s->failed = rc;
        device_loop_halt(&s->loop);
    }
    d->ended = h->ended;
    d->finish = h->finish;
}

/* The newest half of a full context goes on as a text of its own: positions are
 * learned, so cached keys cannot be moved. */
static void slide(struct slots *s, struct desk *d)
{
    struct slot *slot = d->slot;
    int kept = prompt_kept(shape(s)->n_ctx);
    memmove(d->text, d->text + slot->n_text - kept, (size_t)kept * sizeof *d->text);
    slot->n_text = kept;
    kv_seq_truncate(&d->seq, &s->engine->cache, 0);
    d->unread = true;
    d->ended = false;
    d->writing.answer->slid = true;
    if (s->host->status != NULL && !s->slid_said) {
        char sentence[128];
        prompt_slid_sentence(sentence, sizeof sentence, s->engine->model);
        s->host->status(s->host->user, sentence);
    }
    s->slid_said = true;
}

static int end_text(struct slots *s, struct desk *d)
{
    struct answer *a = d->writing.answer;
    d->slot->live = d->busy = d->unread = d->ended = false;
    s->n_busy--;
    a->finish = d->finish;
    a->decode_s = clock_s() - d->since_s;
    int rc = add_text(s, d, stream_finish(&d->shown, d->bytes));
    return rc != 0 || s->ended == NULL ? rc : s->ended(s->user, d);
}

/* End, or slide, the texts that have come to their end; how many ended. */
static int end_texts(struct slots *s, int *n_ended)
{
    *n_ended = 0;
    for (int i = 0; i < s->n; i++) {
        struct desk *d = &s->desks[i];
        if (!d->busy || !d->ended)
            continue;
        if (d->finish == FINISH_CONTEXT && d->writing.generate->on_full == ON_FULL_SLIDE) {
            slide(s, d);
            continue;
        }
        int rc = end_text(s, d);
        if (rc != 0)
            return rc;
        ++*n_ended;
    }
    return 0;
}

/* End all that is being written, as interrupted. */
static int interrupt(struct slots *s)
{
    int n_ended, rc;
    for (int i = 0; i < s->n; i++)
        if (s->desks[i].busy) {
            s->desks[i].ended = true;
            s->desks[i].finish = FINISH_INTERRUPTED;
        }
    rc = end_texts(s, &n_ended);
    return rc != 0 ? rc : err_set(ERR_INTERRUPTED, "interrupted");
}

int slots_step(struct slots *s, int steps)
{
    int n_ended, rc = end_texts(s, &n_ended);
    if (rc != 0 || n_ended > 0)
        return rc;
    if ((rc = read_unread(s)) != 0)
        return rc == ERR_INTERRUPTED ? interrupt(s) : rc;
    double start = clock_s();
    device_loop_run(&s->loop, s->generate->device_loop ? steps : 1, s->generate->device_iterations,
                    true, take, s);
    s->decode_s += clock_s() - start;
    if (s->failed != 0)
        return s->failed;
    if ((rc = end_texts(s, &n_ended)) != 0)
        return rc;
    return interrupt_pending() && s->n_busy > 0 ? interrupt(s) : 0;
}
