#include "train/prepare/check.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/tokenizer/word_cache.h"
#include "train/data/dataset.h"
#include "train/data/source.h"
#include "train/prepare/check_index.h"
#include "train/prepare/kinds.h"
#include "train/prepare/slot.h"

#include <inttypes.h>

enum { IDS_AT_ONCE = 1 << 16, NAME_BYTES = 200, REPORT_EVERY = 64 };

struct comparison {
    const struct dataset *data;
    const struct tokenizer *tokenizer;
    struct data_sources texts;
    struct text_reader reader;
    bool special; /* tokens are read as such */
    struct kinds kinds;
    struct slot part; /* what was read last, and its ids */
    struct word_cache words;
    token_id *found;   /* [IDS_AT_ONCE], of the data */
    uint64_t document; /* in progress */
    uint64_t first;    /* its first token, behind the end-of-text token that llm.c has there */
    uint64_t at;       /* its next token */
    bool inside;
    const struct progress *progress;
};

/* All ids: opening looks only into very large files. */
static int check_ids(struct check_report *r, const struct dataset *d, const struct progress *p)
{
    token_id *ids = mem_array(IDS_AT_ONCE, sizeof *ids);
    int rc = ids == NULL ? ERR_NOMEM : 0;
    r->least = INT32_MAX;
    r->most = TOKEN_NONE;
    for (uint64_t at = 0; at < d->n_tokens && rc == 0; at += IDS_AT_ONCE) {
        const uint64_t left = d->n_tokens - at;
        const size_t n = left < IDS_AT_ONCE ? (size_t)left : IDS_AT_ONCE;
        rc = dataset_read(d, ids, at, n);
        for (size_t i = 0; i < n && rc == 0; i++) {
            r->least = ids[i] < r->least ? ids[i] : r->least;
            r->most = ids[i] > r->most ? ids[i] : r->most;
        }
        if (rc == 0)
            rc = progress_step(p, "checking tokens", at + n, d->n_tokens);
    }
    mem_free(ids);
    return rc;
}

/* Of TFRecord files; training does not need them. */
static int check_indexes(struct check_report *r, const char *paths, const struct progress *p)
{
    struct data_sources s;
    int rc = data_sources_find(&s, paths);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < s.n && rc == 0; i++) {
        uint64_t n = 0;
        if (s.list[i].kind == DATA_TFRECORD && !s.list[i].packed)
            rc = check_index(&n, s.list[i].path, p);
        r->indexed += n;
    }
    data_sources_release(&s);
    return rc;
}

/* ---- texts ---- */

static const char *source_name(const struct comparison *c, size_t source, char shown[NAME_BYTES])
{
    return file_show(shown, NAME_BYTES, c->texts.list[source].path);
}

static int begin_document(struct comparison *c)
{
    const struct dataset *d = c->data;
    token_id id = TOKEN_NONE;
    int rc = 0;
    c->first = c->at = d->documents[c->document];
    if (dataset_begins_with_end(d, c->first) && (rc = dataset_read(d, &id, c->first, 1)) == 0)
        c->first = c->at += id == tokenizer_eos(c->tokenizer);
    return rc;
}

/* Where the document's ids end, without the end-of-text token. */
static uint64_t document_end(struct comparison *c, int *rc)
{
    const struct dataset *d = c->data;
    uint64_t end = d->documents[c->document + 1];
    token_id last = TOKEN_NONE;
    if (end > c->at && !dataset_begins_with_end(d, d->documents[c->document]))
        *rc = dataset_read(d, &last, end - 1, 1);
    return last != TOKEN_NONE && last == tokenizer_eos(c->tokenizer) ? end - 1 : end;
}

static int compare_ids(struct comparison *c, size_t source)
{
    char shown[NAME_BYTES];
    int rc = 0;
    const uint64_t end = document_end(c, &rc);
    const struct ids *ids = &c->part.ids;
    for (size_t done = 0; done < ids->n && rc == 0;) {
        const size_t left = ids->n - done;
        size_t n = left < IDS_AT_ONCE ? left : IDS_AT_ONCE;
        if (c->at == end)
            return err_set(ERR_MISMATCH,
                           "%s: document %" PRIu64 " has %" PRIu64 " tokens, its text has more",
                           source_name(c, source, shown), c->document + 1, end - c->first);
        n = end - c->at < n ? (size_t)(end - c->at) : n;
        rc = dataset_read(c->data, c->found, c->at, n);
        for (size_t i = 0; i < n && rc == 0; i++)
            if (c->found[i] != ids->data[done + i])
                rc = err_set(ERR_MISMATCH,
                             "%s: token %" PRIu64 " of document %" PRIu64 " is %" PRId32
                             ", the text gives %" PRId32,
                             source_name(c, source, shown), c->at + i - c->first + 1,
                             c->document + 1, c->found[i], ids->data[done + i]);
        c->at += n;
        done += n;
    }
    return rc;
}

static int end_document(struct comparison *c, size_t source)
{
    char shown[NAME_BYTES];
    int rc = 0;
    const uint64_t end = document_end(c, &rc);
    if (rc == 0 && c->at < end)
        return err_set(
            ERR_MISMATCH, "%s: document %" PRIu64 " has %" PRIu64 " tokens, its text only %" PRIu64,
            source_name(c, source, shown), c->document + 1, end - c->first, c->at - c->first);
    c->document++;
    if (rc == 0)
        rc = begin_document(c);
    if (rc == 0 && c->document % REPORT_EVERY == 0)
        rc = progress_step(c->progress, "comparing documents", c->document, c->data->n_documents);
    return rc;
}

/* The part that was read, encoded as data prepare does. */
static int encode_part(struct comparison *c, bool ends)
{
    const struct slot_encoder encoder = {.tokenizer = c->tokenizer, .special = c->special};
    const struct part p = {.text_end = c->part.text.n,
                           .begins = !c->inside,
                           .ends = ends,
                           .wiki = kinds_is_wiki(&c->kinds, &c->reader)};
    c->part.n = 0;
    int rc = slot_add(&c->part, &p);
    if (rc != 0)
        return rc;
    slot_encode(&c->part, &encoder, &c->words);
    return c->part.rc;
}

/* A part of a text's document; one without any text, as of a dump's page, is none. */
static int compare_part(struct comparison *c, size_t source, bool ends)
{
    char shown[NAME_BYTES];
    size_t n;
    int rc = encode_part(c, ends);
    if (rc != 0)
        return rc;
    slot_text(&c->part, 0, &n);
    if (!c->inside && ends && n == 0)
        return 0;
    if (c->document == c->data->n_documents)
        return err_set(ERR_MISMATCH, "%s has more documents than the %" PRIu64 " of the data",
                       source_name(c, source, shown), c->data->n_documents);
    c->inside = !ends;
    rc = compare_ids(c, source);
    return rc == 0 && ends ? end_document(c, source) : rc;
}

static int compare_texts(struct comparison *c)
{
    size_t source = 0;
    bool ends = false;
    int rc = 0;
    while (rc == 0) {
        rc = text_reader_next(&c->reader, &c->part.text, &ends, &source);
        if (rc != 0 || source == c->texts.n)
            break;
        rc = compare_part(c, source, ends);
    }
    if (rc == 0 && c->document < c->data->n_documents)
        rc = err_set(ERR_MISMATCH, "the data has %" PRIu64 " documents, the texts %" PRIu64,
                     c->data->n_documents, c->document);
    return rc;
}

static int check_texts(struct check_report *r, const struct dataset *d, const char *texts,
                       const struct prepare_config *as, const struct tokenizer *t,
                       const struct progress *p)
{
    struct comparison c = {.data = d, .tokenizer = t, .special = as->special, .progress = p};
    char shown[NAME_BYTES];
    if (t == NULL)
        return err_set(ERR_MISSING, "texts need the tokenizer that made the tokens: load a model "
                                    "that has it, or give tokenizer=PATH");
    int rc = data_sources_find(&c.texts, texts);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < c.texts.n && rc == 0; i++)
        if (c.texts.list[i].kind != DATA_TEXT && c.texts.list[i].kind != DATA_JSON_LINES)
            rc = err_set(ERR_FORMAT, "%s is not a text", source_name(&c, i, shown));
    if (rc == 0 && (c.found = mem_array(IDS_AT_ONCE, sizeof *c.found)) == NULL)
        rc = ERR_NOMEM;
    text_reader_init(&c.reader, c.texts.list, c.texts.n, prepare_separator(as));
    c.reader.special = as->special ? t : NULL;
    c.reader.line_max = (size_t)as->record_limit * 1000000;
    kinds_use(&c.kinds, &c.reader, as->field);
    if (rc == 0 && (rc = begin_document(&c)) == 0)
        rc = compare_texts(&c);
    r->texts = c.document;
    text_reader_release(&c.reader);
    kinds_release(&c.kinds);
    data_sources_release(&c.texts);
    slot_release(&c.part);
    word_cache_release(&c.words);
    mem_free(c.found);
    return rc;
}

int check_run(struct check_report *r, const char *path, const struct data_lines *lines,
              const char *texts, const struct prepare_config *as, const struct tokenizer *t,
              int n_vocab, const struct progress *p)
{
    struct dataset d = {0};
    char *folder = file_expand(path);
    *r = (struct check_report){0};
    int rc = folder == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && file_is_folder(folder) && (rc = check_folder(r, folder)) == 0)
        rc = check_lists(r, folder);
    char *escaped = rc == 0 ? data_list_path(path) : NULL;
    if (rc == 0)
        rc = escaped == NULL ? ERR_NOMEM : dataset_open_whole(&d, escaped, lines, t, n_vocab, p);
    if (rc == 0 && (rc = check_ids(r, &d, p)) == 0)
        rc = check_indexes(r, escaped, p);
    r->documents = d.n_documents;
    r->tokens = d.n_tokens;
    if (rc == 0 && texts != NULL)
        rc = check_texts(r, &d, texts, as, t, p);
    dataset_close(&d);
    mem_free(escaped);
    mem_free(folder);
    return rc;
}
