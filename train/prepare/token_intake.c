#include "train/prepare/token_intake.h"

#include "model/base/clock.h"
#include "model/base/err.h"

#include <stdio.h>

enum { REPORT_EVERY = 256, SENTENCE = 600 };

struct worker {
    const struct token_intake *intake;
    struct store *store;
    struct store_place *place;
    struct store_mark mark; /* of the document in progress */
    uint64_t length;        /* its tokens, without the end-of-text token */
    bool something;         /* of it is in the store */
    struct buf text;
    double saved_s;
};

static int store_text(struct worker *w, const token_id *ids, size_t n)
{
    w->text.n = 0;
    int rc = tokenizer_decode(w->intake->tokenizer, &w->text, ids, n);
    if (rc != 0 || w->text.n == 0)
        return rc;
    w->something = true;
    return store_add(w->store, w->text.data, w->text.n);
}

static int take_ids(void *user, const token_id *ids, size_t n, bool last)
{
    struct worker *w = user;
    const struct token_intake *t = w->intake;
    const size_t own = n - (last && ids[n - 1] == t->documents->end);
    w->length += own;
    if (t->hash)
        text_hash_add_ids(&w->mark.hash, ids, own);
    if (t->near)
        min_hash_add_ids(&w->mark.near, ids, own);
    if (t->tokenizer != NULL)
        return store_text(w, ids, own);
    w->something = true;
    return store_add_ids(w->store, ids, n, t->id_bytes);
}

static int end_document(struct worker *w)
{
    struct store_count *now = &w->place->now;
    w->place->chunks++;
    const bool is_short = w->length < w->intake->min_length;
    if (is_short || !w->something) {
        now->short_ones += is_short;
        now->text_bytes += is_short ? w->length : 0;
        return store_drop(w->store);
    }
    now->text_bytes += w->length;
    if (w->intake->hash) /* documents of no tokens are the same, too */
        text_hash_add_ids(&w->mark.hash, &(token_id){TOKEN_NONE}, 1);
    if (w->intake->near)
        min_hash_end(&w->mark.near);
    return store_end(w->store, &w->mark);
}

static int save_place(struct worker *w)
{
    if (clock_s() - w->saved_s < w->intake->save_every_s)
        return 0;
    w->saved_s = clock_s();
    return store_save(w->store, w->place);
}

static int read_document(struct worker *w)
{
    const struct token_documents *d = w->intake->documents;
    const uint64_t i = w->place->chunks;
    store_mark_begin(&w->mark);
    w->length = 0;
    w->something = false;
    int rc = token_documents_read(w->intake->documents, i, take_ids, w);
    if (rc == 0)
        rc = end_document(w);
    if (rc == 0 && i % REPORT_EVERY == 0) {
        rc = save_place(w);
        if (rc == 0)
            rc = progress_step(d->progress, d->work, d->data.documents[i], d->data.n_tokens);
    }
    return rc;
}

/* Ctrl-C, and what fails: what is stored counts, but for a document in progress. */
static int keep_documents(struct worker *w, int failure)
{
    char sentence[SENTENCE];
    snprintf(sentence, sizeof sentence, "%s", err_text());
    int rc = w->store->open ? store_drop(w->store) : 0;
    if (rc == 0)
        rc = store_save(w->store, w->place);
    return rc == 0 ? err_set(failure, "%s", sentence) : rc;
}

int token_intake_run(const struct token_intake *t, struct store *s, struct store_place *place)
{
    struct worker w = {.intake = t, .store = s, .place = place, .saved_s = clock_s()};
    int rc = 0;
    while (place->chunks < t->documents->data.n_documents && rc == 0)
        rc = read_document(&w);
    place->complete = rc == 0;
    rc = rc == 0 ? store_save(s, place) : keep_documents(&w, rc);
    buf_release(&w.text);
    return rc;
}
