#include "train/prepare/prepare.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/sha256.h"
#include "train/data/markup.h"
#include "train/data/source.h"
#include "train/data/token_note.h"
#include "train/data/tokenizer_hash.h"
#include "train/prepare/deal.h"
#include "train/prepare/intake.h"
#include "train/prepare/own_output.h"
#include "train/prepare/placing.h"
#include "train/prepare/token_intake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UINT16 = 65536 };
static const double SAVE_EVERY_S = 20;

struct preparation {
    const struct prepare_config *config;
    const struct tokenizer *tokenizer; /* of texts, where ids are prepared, or of IN's ids */
    bool from_tokens;                  /* else the next is zeroed */
    struct token_documents documents;
    bool text; /* the store and OUT have text */
    int n_ids; /* ids of OUT are below it; 0: text */
    const struct progress *progress;
    struct data_sources sources;
    uint64_t *texts; /* [n sources + 1]: what the first i are known by; owned */
    struct store store;
    struct store_place place;
    char *folder;               /* of the store; owned */
    char command[SHA256_HEX];   /* what OUT depends on */
    char *paths[PREPARE_PARTS]; /* owned */
    struct output outputs[PREPARE_PARTS];
    struct token_note note; /* of them */
    struct prepare_report *report;
};

/* What an earlier call made of a folder, in it, is no more of its texts. */
static int leave_out_outputs(const struct preparation *p, struct data_sources *s)
{
    size_t n = 0;
    char *own = NULL;
    for (size_t i = 0; i < s->n; i++) {
        if (!own_output_is(&s->list[i], p->report->format, p->paths, p->report->n_parts)) {
            s->list[n++] = s->list[i];
            continue;
        }
        mem_free(own);
        own = s->list[i].path;
    }
    s->n = n;
    const bool texts = n > 0 && data_kind_is_text(s->list[0].kind);
    int rc = own == NULL || texts ? 0 : own_output_refuse(own);
    mem_free(own);
    return rc;
}

/* All are texts, or all are tokens: whether their ids are of one vocabulary nobody knows. */
static int check_sources(bool *tokens, const struct data_sources *s)
{
    char shown[256], other[256];
    *tokens = s->n > 0 && !data_kind_is_text(s->list[0].kind);
    for (size_t i = 1; i < s->n; i++) {
        if (data_kind_is_text(s->list[i].kind) != *tokens)
            continue;
        file_show(shown, sizeof shown, s->list[*tokens ? 0 : i].path);
        file_show(other, sizeof other, s->list[*tokens ? i : 0].path);
        return err_set(ERR_FORMAT, "%s has tokens already, %s is a text: prepare each by itself",
                       shown, other);
    }
    return 0;
}

/* The documents of token files; where they end must be known. */
static int open_documents(struct preparation *p, const char *in)
{
    int rc = token_documents_open(&p->documents, in, p->tokenizer, "reading tokens", p->progress);
    if (rc == 0 && !p->documents.summary.bounds)
        rc = err_set(ERR_MISSING,
                     p->tokenizer != NULL
                         ? "where the documents of these files end is not known: the tokenizer has "
                           "no end-of-text token"
                         : "where the documents of these files end only the tokenizer of their ids "
                           "says: load its model, or give tokenizer=PATH");
    if (rc == 0 && !p->text)
        p->n_ids = token_documents_ids(&p->documents, p->tokenizer);
    p->report->unmoved =
        rc == 0 && p->documents.end == TOKEN_NONE && !p->text &&
        token_documents_begin_with_end(&p->documents) != (p->report->format == OUTPUT_LLMC);
    return rc;
}

/* From texts to ids, or back. */
static int check_tokenizer(const struct preparation *p)
{
    if (p->tokenizer != NULL || p->text != p->from_tokens)
        return 0;
    return p->text ? err_set(ERR_MISSING, "JSON lines need the tokenizer of the ids: load a model "
                                          "that has it, or give tokenizer=PATH")
                   : err_set(ERR_MISSING, "cannot encode the texts: there is no tokenizer; load a "
                                          "model that has one, or give tokenizer=PATH");
}

/* What the documents in the store depend on, but for the texts. */
static int make_key(char key[SHA256_HEX], const struct preparation *p)
{
    struct sha256 h;
    char numbers[64];
    const struct prepare_config *c = p->config;
    int rc = sha256_init(&h);
    if (rc != 0)
        return rc;
    snprintf(numbers, sizeof numbers, "prepared 4: %d %d", c->min_length, c->duplicates);
    tokenizer_hash_text(&h, numbers);
    tokenizer_hash_text(&h, c->field);
    tokenizer_hash_text(&h, c->separator);
    if (p->tokenizer != NULL)
        tokenizer_hash(&h, p->tokenizer);
    if (p->tokenizer != NULL && c->special)
        tokenizer_hash_text(&h, "special");
    if (p->from_tokens) {
        snprintf(numbers, sizeof numbers, "tokens: %d %d %d", p->documents.end, p->n_ids, p->text);
        tokenizer_hash_text(&h, numbers);
        sha256_add(&h, p->documents.data.identity, sizeof p->documents.data.identity);
    }
    sha256_end_hex(&h, key);
    sha256_release(&h);
    return rc;
}

/* What a text is known by, and all before it. */
static int chain_text(uint64_t *out, uint64_t before, const char *path)
{
    struct sha256 h;
    struct file f;
    char hex[SHA256_HEX];
    int rc = file_open(&f, path);
    if (rc != 0)
        return rc;
    if ((rc = sha256_init(&h)) == 0) {
        sha256_add(&h, &before, sizeof before);
        tokenizer_hash_text(&h, f.path);
        sha256_add(&h, &f.stamp, sizeof f.stamp);
        sha256_end_hex(&h, hex);
        sha256_release(&h);
        hex[15] = '\0'; /* below 2^60 */
        *out = strtoull(hex, NULL, 16);
    }
    file_close(&f);
    return rc;
}

static int chain_texts(struct preparation *p)
{
    const size_t n = p->sources.n;
    p->texts = mem_array(n + 1, sizeof *p->texts);
    int rc = p->texts == NULL ? ERR_NOMEM : 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = chain_text(&p->texts[i + 1], p->texts[i], p->sources.list[i].path);
    return rc;
}

/* The store counts as far as it has the texts in their order; others may have come behind them. */
static int check_texts(struct preparation *p)
{
    const uint64_t n = p->sources.n, begun = p->place.source + (p->place.chunks > 0);
    if (begun <= n && p->place.now.texts == p->texts[begun]) {
        p->place.complete = p->place.complete && begun == n;
        return 0;
    }
    if (p->place.source > n || p->place.then.texts != p->texts[p->place.source])
        p->place = (struct store_place){0};
    return store_rewind(&p->store, &p->place);
}

static int id_bytes(const struct preparation *p)
{
    return p->n_ids <= MOST_UINT16 ? 2 : 4;
}

/* Of all files; where duplicates go, nobody knows yet how many tokens stay. */
static uint64_t most_tokens(const struct preparation *p)
{
    const uint64_t most = output_most_tokens(p->report->format);
    return most == UINT64_MAX || p->config->duplicates != DUPLICATES_KEEP
               ? UINT64_MAX
               : most * (uint64_t)p->report->n_parts;
}

static int read_texts(struct preparation *p)
{
    const struct intake intake = {.list = p->sources.list,
                                  .n = p->sources.n,
                                  .texts = p->texts,
                                  .separator = prepare_separator(p->config),
                                  .field = p->config->field,
                                  .special = p->config->special,
                                  .tokenizer = p->tokenizer,
                                  .hash = p->config->duplicates != DUPLICATES_KEEP,
                                  .near = p->config->duplicates == DUPLICATES_NEAR,
                                  .min_length = (uint64_t)p->config->min_length,
                                  .record_max = (size_t)p->config->record_limit * 1000000,
                                  .most_tokens = most_tokens(p),
                                  .save_every_s = SAVE_EVERY_S,
                                  .progress = p->progress};
    return intake_run(&intake, &p->store, &p->place);
}

static int read_tokens(struct preparation *p)
{
    const struct token_intake intake = {.documents = &p->documents,
                                        .tokenizer = p->text ? p->tokenizer : NULL,
                                        .id_bytes = id_bytes(p),
                                        .hash = p->config->duplicates != DUPLICATES_KEEP,
                                        .near = p->config->duplicates == DUPLICATES_NEAR,
                                        .min_length = (uint64_t)p->config->min_length,
                                        .save_every_s = SAVE_EVERY_S,
                                        .progress = p->progress};
    return token_intake_run(&intake, &p->store, &p->place);
}

static int fill_store(struct preparation *p)
{
    static const size_t mark_bytes[] = {[DUPLICATES_KEEP] = 0,
                                        [DUPLICATES_EXACT] = sizeof(struct text_hash),
                                        [DUPLICATES_NEAR] = sizeof(struct store_mark)};
    char key[SHA256_HEX];
    int rc = make_key(key, p);
    if (rc == 0)
        rc = store_open(&p->store, &p->place, p->folder, key, mark_bytes[p->config->duplicates]);
    if (rc == 0 && !p->from_tokens)
        rc = check_texts(p);
    p->report->went_on = rc == 0 && p->store.n > 0;
    if (rc == 0 && !p->place.complete)
        rc = p->from_tokens ? read_tokens(p) : read_texts(p);
    if (rc == 0 && p->store.n == 0)
        rc = err_set(ERR_RANGE, p->place.now.short_ones > 0
                                    ? "all documents are shorter than min_length"
                                    : "there is no text to prepare");
    return rc;
}

/* ---- the files ---- */

/* Beside the documents, what is made of them. */
static int name_command(struct preparation *p)
{
    struct sha256 h;
    char key[SHA256_HEX], numbers[64];
    const struct prepare_config *c = p->config;
    int rc = make_key(key, p);
    if (rc == 0)
        rc = sha256_init(&h);
    if (rc != 0)
        return rc;
    snprintf(numbers, sizeof numbers, "%d %d %llu", p->report->format, c->shuffle,
             (unsigned long long)c->seed);
    tokenizer_hash_text(&h, key);
    tokenizer_hash_text(&h, numbers);
    tokenizer_hash_text(&h, c->split);
    if (!p->from_tokens)
        sha256_add(&h, &p->texts[p->sources.n], sizeof *p->texts);
    sha256_end_hex(&h, p->command);
    sha256_release(&h);
    return 0;
}

/* The path of each part of the split. */
static int name_outputs(struct preparation *p, const char *out, int n)
{
    static const char *const names[] = {"-train", "-validation", "-test"};
    p->folder = placing_folder(out, "preparing");
    int rc = p->folder == NULL ? ERR_NOMEM : 0;
    for (int i = 0; i < n && rc == 0; i++) {
        p->paths[i] = output_path(out, n == 1 ? "" : names[i], p->report->format);
        rc = p->paths[i] == NULL ? ERR_NOMEM : 0;
        p->report->n_parts = i + 1;
    }
    return rc;
}

/* What is in the way is said before the work. */
static int check_outputs(struct preparation *p, bool force)
{
    const enum output_format f = p->report->format;
    int rc = name_command(p);
    for (int i = 0; i < p->report->n_parts && rc == 0; i++) {
        rc = placing_take_back(p->folder, p->command, f, p->paths[i]);
        if (rc == 0)
            rc = output_check(f, p->paths[i], p->n_ids, force);
    }
    return rc;
}

static int open_outputs(struct preparation *p, bool force)
{
    struct prepare_report *r = p->report;
    const token_id end = p->from_tokens         ? p->documents.end
                         : p->tokenizer == NULL ? TOKEN_NONE
                                                : tokenizer_eos(p->tokenizer);
    int rc = 0;
    for (int i = 0; i < r->n_parts && rc == 0; i++) {
        output_sweep(r->format, p->paths[i]);
        file_show(r->parts[i].path, sizeof r->parts[i].path, p->paths[i]);
        rc = output_open(&p->outputs[i], r->format, p->paths[i], p->n_ids, end, force);
    }
    return rc;
}

/* Of the tokenizer that made the ids. */
static int note_tokenizer(struct preparation *p, const char *in)
{
    if (p->text || (!p->from_tokens && p->config->opened_by == NULL))
        return 0;
    if (!p->from_tokens)
        return token_note_make(&p->note, p->config->opened_by, p->tokenizer);
    token_note_read(&p->note, in);
    return 0;
}

static int note_outputs(const struct preparation *p)
{
    int fds[2 * PREPARE_PARTS], n = 0;
    for (int i = 0; i < p->report->n_parts; i++) {
        token_note_write(&p->note, output_fd(&p->outputs[i]));
        n += output_fds(&p->outputs[i], fds + n);
    }
    return placing_write(p->folder, p->command, fds, (size_t)n);
}

static int commit_outputs(struct preparation *p)
{
    int rc = note_outputs(p);
    for (int i = 0; i < p->report->n_parts && rc == 0; i++) {
        p->report->parts[i].documents = p->outputs[i].n_documents;
        p->report->parts[i].tokens = p->outputs[i].n_tokens;
        p->report->joins |= p->from_tokens && output_joins(&p->outputs[i]);
        rc = output_commit(&p->outputs[i]);
    }
    return rc;
}

static int deal_outputs(struct preparation *p, const double *shares)
{
    struct deal d = {.store = &p->store,
                     .text = p->text,
                     .id_bytes = id_bytes(p),
                     .shuffle = p->config->shuffle,
                     .duplicates = (enum prepare_duplicates)p->config->duplicates,
                     .seed = p->config->seed,
                     .n_parts = p->report->n_parts,
                     .progress = p->progress};
    memcpy(d.shares, shares, sizeof d.shares);
    for (int i = 0; i < d.n_parts; i++)
        d.outputs[i] = &p->outputs[i];
    int rc = deal_run(&d, &p->report->duplicates);
    p->report->documents = p->store.n + p->place.now.short_ones;
    *(p->from_tokens ? &p->report->tokens : &p->report->text_bytes) = p->place.now.text_bytes;
    p->report->short_ones = p->place.now.short_ones;
    return rc == 0 ? commit_outputs(p) : rc;
}

/* Look at IN, and decide what is made of it. */
static int open_input(struct preparation *p, const char *in)
{
    int rc = data_sources_find(&p->sources, in);
    if (rc == 0)
        rc = leave_out_outputs(p, &p->sources);
    if (rc == 0)
        rc = check_sources(&p->from_tokens, &p->sources);
    if (rc == 0 && p->text && !p->from_tokens)
        p->tokenizer = NULL;
    if (rc == 0)
        rc = check_tokenizer(p);
    if (rc != 0)
        return rc;
    if (p->from_tokens)
        return open_documents(p, in);
    p->n_ids = p->text ? 0 : tokenizer_size(p->tokenizer);
    left_out_note(&p->sources.left_out, p->progress);
    markup_note(&p->sources, true, p->progress);
    return chain_texts(p);
}

int prepare_run(struct prepare_report *report, const struct prepare_config *c, const char *in,
                const char *out, const struct tokenizer *t, bool force, const struct progress *p)
{
    struct preparation a = {.config = c, .tokenizer = t, .progress = p, .report = report};
    double shares[PREPARE_PARTS] = {0};
    int n;
    *report = (struct prepare_report){0};
    report->format = c->format > 0 ? (enum output_format)(c->format - 1) : output_format_of(out);
    a.text = report->format == OUTPUT_JSON_LINES;
    int rc = prepare_shares(c, shares, &n);
    if (rc == 0)
        rc = name_outputs(&a, out, n);
    if (rc == 0)
        rc = open_input(&a, in);
    if (rc == 0)
        rc = note_tokenizer(&a, in);
    if (rc == 0)
        rc = check_outputs(&a, force);
    if (rc == 0)
        rc = fill_store(&a);
    if (rc == 0)
        rc = open_outputs(&a, force);
    if (rc == 0)
        rc = deal_outputs(&a, shares);
    for (int i = 0; i < report->n_parts; i++) {
        output_abandon(&a.outputs[i]);
        mem_free(a.paths[i]);
    }
    report->stays = rc != 0 && a.store.n > 0;
    if (report->stays)
        store_close(&a.store);
    else
        store_remove(&a.store);
    mem_free(a.folder);
    mem_free(a.texts);
    token_documents_close(&a.documents);
    data_sources_release(&a.sources);
    return rc;
}
