#include "train/prepare/intake.h"

#include "model/base/clock.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/tokenizer/word_cache.h"
#include "train/data/text_reader.h"
#include "train/prepare/kinds.h"
#include "train/prepare/slot.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum {
    SLOTS_PER_THREAD = 2,
    FEWEST_SLOTS = 16,
    SMALL_BYTES = 1 << 16,
    MOST_PARTS = 1024,
    NAME_BYTES = 200,
    REPORT_EVERY = 256
};

struct worker {
    const struct intake *intake;
    struct slot_encoder encoder;
    struct text_reader reader;
    struct kinds kinds;
    struct store *store;
    struct store_place *place; /* behind the last document of the store */
    struct store_place at;     /* behind the last chunk */
    uint64_t bytes;            /* of the document in progress */
    struct word_cache *words;  /* [n_threads]; owned */
    struct slot *slots[2];     /* [n_slots] each: read, and encoded meanwhile; owned */
    int n_threads, n_slots, filled[2], busy;
    bool inside;     /* a document of which a chunk was read */
    uint64_t length; /* characters of the document that is stored */
    size_t faulty;   /* the file that cannot be read or encoded; n: none */
    struct store_mark mark;
    struct buf chunk;
    double saved_s;
    uint64_t total; /* bytes of all files */
    atomic_int next;
};

static void encode_slots(void *arg, int thread, int n_threads)
{
    struct worker *w = arg;
    (void)n_threads;
    for (int i; (i = atomic_fetch_add(&w->next, 1)) < w->filled[w->busy];)
        slot_encode(&w->slots[w->busy][i], &w->encoder, &w->words[thread]);
}

/* ---- reading ---- */

/* Read until the slot has some text; *more false: the texts are at their end. */
static int fill_slot(struct worker *w, struct slot *s, bool *more)
{
    int rc = 0;
    s->n = s->text.n = 0;
    while (s->text.n < SMALL_BYTES && s->n < MOST_PARTS && rc == 0) {
        struct part p = {0};
        rc = text_reader_next(&w->reader, &w->chunk, &p.ends, &p.source);
        if (rc != 0)
            w->faulty = w->reader.at;
        if (rc != 0 || p.source == w->intake->n) {
            *more = false;
            return rc;
        }
        p.begins = !w->inside;
        p.wiki = kinds_is_wiki(&w->kinds, &w->reader);
        w->inside = !p.ends;
        if ((rc = buf_add(&s->text, w->chunk.data, w->chunk.n)) == 0) {
            p.text_end = s->text.n;
            rc = slot_add(s, &p);
        }
    }
    return rc;
}

static int fill_round(struct worker *w, int side, bool *more)
{
    int rc = 0;
    for (w->filled[side] = 0; w->filled[side] < w->n_slots && *more && rc == 0;) {
        struct slot *s = &w->slots[side][w->filled[side]];
        rc = fill_slot(w, s, more);
        w->filled[side] += s->n > 0;
    }
    return rc;
}

/* ---- writing ---- */

static int id_bytes(const struct worker *w)
{
    return tokenizer_size(w->intake->tokenizer) > UINT16_MAX + 1 ? 4 : 2;
}

static int store_ids(struct worker *w, const token_id *ids, size_t n)
{
    return store_add_ids(w->store, ids, n, id_bytes(w));
}

static int end_document(struct worker *w)
{
    const struct tokenizer *t = w->intake->tokenizer;
    const token_id end = t == NULL ? TOKEN_NONE : tokenizer_eos(t);
    int rc;
    if (w->bytes == 0 || w->length < w->intake->min_length) {
        w->at.now.short_ones += w->bytes > 0;
        w->at.now.text_bytes += w->bytes;
        rc = store_drop(w->store);
    } else {
        w->at.now.text_bytes += w->bytes;
        rc = end == TOKEN_NONE ? 0 : store_ids(w, &end, 1);
        if (w->intake->near)
            min_hash_end(&w->mark.near);
        if (rc == 0)
            rc = store_end(w->store, &w->mark);
    }
    *w->place = w->at;
    return rc;
}

static void begin_source(struct worker *w, size_t source)
{
    w->at.source = source;
    w->at.chunks = 0;
    w->at.then = w->at.now;
    w->at.then.documents = w->store->n;
    w->at.then.bytes = w->store->last;
    w->at.then.texts = w->intake->texts[source];
    w->at.now.texts = w->intake->texts[source + 1];
}

static int store_part(struct worker *w, const struct slot *s, size_t k)
{
    const struct part *p = &s->parts[k];
    size_t n;
    const char *text = slot_text(s, k, &n);
    const size_t ids = k == 0 ? 0 : s->parts[k - 1].ids_end;
    int rc;
    if (w->at.chunks == 0 || p->source != w->at.source)
        begin_source(w, p->source);
    w->at.chunks++;
    if (p->begins) {
        w->length = w->bytes = 0;
        store_mark_begin(&w->mark);
    }
    w->length += p->characters;
    w->bytes += n;
    text_hash_join(&w->mark.hash, &p->mark.hash);
    if (w->intake->near)
        min_hash_join(&w->mark.near, &p->mark.near);
    if (w->intake->tokenizer == NULL)
        rc = store_add(w->store, text, n);
    else
        rc = store_ids(w, s->ids.data + ids, p->ids_end - ids);
    return rc == 0 && p->ends ? end_document(w) : rc;
}

static int store_round(struct worker *w, int side)
{
    char shown[NAME_BYTES];
    int rc = 0;
    for (int i = 0; i < w->filled[side] && rc == 0; i++) {
        const struct slot *s = &w->slots[side][i];
        if (s->rc != 0) {
            w->faulty = s->parts[s->failed].source;
            return err_set(s->rc, "%s: %s",
                           file_show(shown, sizeof shown, w->intake->list[w->faulty].path),
                           s->sentence);
        }
        for (size_t k = 0; k < s->n && rc == 0; k++)
            rc = store_part(w, s, k);
    }
    return rc;
}

/* What can never be written is said as soon as it is known; what there is stays, for another
 * format. */
static int check_tokens(struct worker *w)
{
    const uint64_t most = w->intake->most_tokens;
    if (w->intake->tokenizer == NULL || w->store->open)
        return 0;
    const uint64_t n = w->store->last / (uint64_t)id_bytes(w);
    if (n <= most)
        return 0;
    int rc = store_save(w->store, w->place);
    return rc != 0 ? rc
                   : err_set(ERR_RANGE,
                             "there are more than the %" PRIu64 " tokens that files of this format "
                             "can have; split= makes several files, format=megatron has no limit",
                             most);
}

/* From time to time, between two documents. */
static int save_place(struct worker *w)
{
    if (w->store->open || clock_s() - w->saved_s < w->intake->save_every_s)
        return 0;
    w->saved_s = clock_s();
    return store_save(w->store, w->place);
}

/* Ctrl-C: what is stored counts, but for a document in progress. */
static int report_progress(struct worker *w)
{
    int rc =
        progress_step(w->intake->progress, "preparing", text_reader_bytes(&w->reader), w->total);
    if (rc != ERR_INTERRUPTED)
        return rc;
    int saved = w->store->open ? store_drop(w->store) : 0;
    if (saved == 0)
        saved = store_save(w->store, w->place);
    return saved != 0 ? saved : err_set(ERR_INTERRUPTED, "interrupted");
}

/* What came of a file that is at fault is forgotten: it may be mended, or taken away. */
static int keep_whole_sources(struct worker *w, int failure)
{
    char sentence[SLOT_SENTENCE + NAME_BYTES];
    snprintf(sentence, sizeof sentence, "%s", err_text());
    int rc = w->store->open ? store_drop(w->store) : 0;
    if (rc == 0)
        rc = w->place->source == w->faulty && w->place->chunks > 0
                 ? store_rewind(w->store, w->place)
                 : store_save(w->store, w->place);
    return rc == 0 ? err_set(failure, "%s", sentence) : rc;
}

/* What was encoded takes its place in the store. */
static int finish_round(struct worker *w, int side)
{
    int rc = store_round(w, side);
    w->filled[side] = 0;
    if (rc == 0)
        rc = check_tokens(w);
    return rc == 0 ? save_place(w) : rc;
}

/*
 * While the team encodes one side, the other is stored and then filled again: so the team has its
 * next work as soon as it is done, and does not spin on the processor that this thread needs. What
 * was read before a text failed counts: it is stored first.
 */
static int run_rounds(struct worker *w)
{
    bool more = true;
    char sentence[SLOT_SENTENCE + NAME_BYTES] = "";
    int rc = 0, read = fill_round(w, 0, &more);
    if (read != 0)
        snprintf(sentence, sizeof sentence, "%s", err_text());
    for (w->busy = 0; rc == 0 && w->filled[w->busy] > 0;) {
        const int other = !w->busy;
        atomic_store(&w->next, 0);
        par_start(encode_slots, w);
        rc = finish_round(w, other);
        if (rc == 0 && more && read == 0 && (read = fill_round(w, other, &more)) != 0)
            snprintf(sentence, sizeof sentence, "%s", err_text());
        par_wait();
        if (rc == 0 && (w->filled[other] == 0 || interrupt_pending()))
            rc = finish_round(w, w->busy);
        if (rc == 0)
            rc = report_progress(w);
        w->busy = other;
    }
    if (rc == 0 && read == ERR_INTERRUPTED)
        return report_progress(w);
    return rc == 0 && read != 0 ? err_set(read, "%s", sentence) : rc;
}

/* ---- where it begins ---- */

/* Pass over what the store has already. */
static int skip_chunks(struct worker *w)
{
    bool ends = true;
    size_t source = w->reader.at = w->place->source;
    int rc = 0;
    for (uint64_t i = 0; i < w->place->chunks && rc == 0; i++) {
        rc = text_reader_next(&w->reader, &w->chunk, &ends, &source);
        if (rc == 0 && i % REPORT_EVERY == 0)
            rc = progress_step(w->intake->progress, "going on", i + 1, w->place->chunks);
    }
    return rc;
}

static int count_total(struct worker *w)
{
    int rc = 0;
    for (size_t i = 0; i < w->intake->n && rc == 0; i++) {
        struct file f;
        if ((rc = file_open(&f, w->intake->list[i].path)) != 0)
            break;
        w->total += f.bytes;
        w->reader.done += i < w->place->source ? f.bytes : 0;
        file_close(&f);
    }
    return rc;
}

static void release_slots(struct worker *w)
{
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < w->n_slots && w->slots[side] != NULL; i++)
            slot_release(&w->slots[side][i]);
        mem_free(w->slots[side]);
    }
    for (int i = 0; i < w->n_threads && w->words != NULL; i++)
        word_cache_release(&w->words[i]);
    mem_free(w->words);
}

int intake_run(const struct intake *t, struct store *s, struct store_place *place)
{
    struct worker w = {.intake = t,
                       .encoder = {t->tokenizer, t->special, t->hash, t->near, t->min_length > 0},
                       .store = s,
                       .place = place,
                       .at = *place,
                       .faulty = t->n,
                       .saved_s = clock_s()};
    w.n_threads = par_threads();
    w.n_slots = SLOTS_PER_THREAD * w.n_threads;
    w.n_slots = w.n_slots < FEWEST_SLOTS ? FEWEST_SLOTS : w.n_slots;
    w.words = mem_array((size_t)w.n_threads, sizeof *w.words);
    w.slots[0] = mem_array((size_t)w.n_slots, sizeof *w.slots[0]);
    w.slots[1] = mem_array((size_t)w.n_slots, sizeof *w.slots[1]);
    text_reader_init(&w.reader, t->list, t->n, t->separator);
    w.reader.line_max = t->record_max;
    w.reader.special = t->special ? t->tokenizer : NULL;
    kinds_use(&w.kinds, &w.reader, t->field);
    int rc =
        w.words == NULL || w.slots[0] == NULL || w.slots[1] == NULL ? ERR_NOMEM : count_total(&w);
    if (rc == 0)
        rc = skip_chunks(&w);
    if (rc == 0)
        rc = run_rounds(&w);
    text_reader_note(&w.reader, t->progress);
    if (rc == 0) {
        place->complete = true;
        place->source = t->n;
        place->chunks = 0;
        place->now.texts = t->texts[t->n];
        rc = store_save(s, place);
    } else if (w.faulty < t->n && rc != ERR_NOMEM && rc != ERR_INTERRUPTED) {
        rc = keep_whole_sources(&w, rc);
    }
    release_slots(&w);
    text_reader_release(&w.reader);
    kinds_release(&w.kinds);
    buf_release(&w.chunk);
    return rc;
}
