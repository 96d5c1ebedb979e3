/*
 * A set is three files, and whole only with the third, which is written last:
 *
 *   texts, their form, tokenizer --SHA-256--> KEY
 *   KEY.bin, KEY.idx      the ids (token_writer.h)
 *   KEY.sha256            the checksum of these two
 *
 *   open: KEY.sha256 is there --> checksum of .bin and .idx --> same: use them
 *                 |                        |
 *                 no                     differs --> encode: .sha256 goes, .idx, .bin, .sha256 come
 *                 +------------------------^
 *
 * One process encodes: it has KEY.lock. Others that want the set wait for that, and look again.
 *
 * Of a pair of prompt and completion, the prompt is the first sequence of its document, and
 * what follows the second.
 *
 * Encoding goes round by round: chunks are read by one thread, encoded by the team, and written by
 * one thread in the order in which they were read. A text that has changed since its bytes were
 * hashed, by its stamp, ends it: KEY would name other bytes than those encoded.
 */
#include "train/data/text_cache.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "model/tokenizer/word_cache.h"
#include "model/base/sha256.h"
#include "train/data/cache_lock.h"
#include "train/data/text_cache_folder.h"
#include "train/data/text_reader.h"
#include "train/data/token_writer.h"
#include "train/data/working_file.h"
#include "train/data/tokenizer_hash.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 200, SLOTS_PER_THREAD = 4 };
static const char CHECKING[] = "checking the encoded text";

/* What is to be encoded. */
struct texts {
    const struct data_source *list; /* [n], borrowed, as are these three */
    size_t n;
    const struct text_form *form;
    const struct tokenizer *tokenizer;
    const struct progress *progress;
    uint64_t total;   /* bytes */
    uint64_t *stamps; /* [n] of the files, as they were when the key was made; owned */
};

/* ---- the key ---- */

/* The file's bytes behind its kind and size. */
static int hash_file(struct sha256 *h, const char *path, uint64_t kind, uint64_t *stamp,
                     struct sha256_progress *p)
{
    struct file f;
    int rc = file_open(&f, path);
    if (rc != 0)
        return rc;
    const uint64_t head[2] = {kind, f.bytes};
    sha256_add(h, head, sizeof head);
    *stamp = f.stamp;
    rc = sha256_add_file(h, &f, p);
    file_close(&f);
    return rc;
}

/* Bytes of all files. */
static int count_bytes(uint64_t *total, const struct data_source *list, size_t n)
{
    int rc = 0;
    *total = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct file f;
        if ((rc = file_open(&f, list[i].path)) == 0) {
            *total += f.bytes;
            file_close(&f);
        }
    }
    return rc;
}

/* What is not said of lines leaves the keys of older sets as they are, and so it is without lines.
 */
static void hash_lines(struct sha256 *h, const struct texts *t)
{
    const struct pairs *p = t->form->pairs;
    size_t i = 0;
    while (i < t->n && t->list[i].kind != DATA_JSON_LINES && !t->list[i].packed)
        i++;
    if (i == t->n)
        return;
    if (strcmp(t->form->field, TEXT_FIELD) != 0) {
        tokenizer_hash_text(h, "field");
        tokenizer_hash_text(h, t->form->field);
    }
    if (p->given) {
        tokenizer_hash_text(h, "templates");
        tokenizer_hash_text(h, p->prompt);
        tokenizer_hash_text(h, p->completion);
    }
}

static int make_key(char key[SHA256_HEX], struct texts *t)
{
    struct sha256 h;
    struct sha256_progress p = {
        .what = "looking at texts", .progress = t->progress, .total = t->total};
    size_t n_file;
    int rc = sha256_init(&h);
    if (rc != 0)
        return rc;
    tokenizer_hash_text(&h, "prattle text cache 1");
    tokenizer_hash_text(&h, t->form->separator);
    tokenizer_hash(&h, t->tokenizer);
    if (t->form->special)
        tokenizer_hash_text(&h, "special");
    hash_lines(&h, t);
    if (tokenizer_file(t->tokenizer, &n_file) != NULL)
        tokenizer_hash_text(&h, "parts"); /* sets without it may have spaces that are not joined */
    for (size_t i = 0; i < t->n && rc == 0; i++)
        rc = hash_file(&h, t->list[i].path,
                       (t->list[i].kind == DATA_JSON_LINES) | (uint64_t)t->list[i].utf16 << 1,
                       &t->stamps[i], &p);
    sha256_end_hex(&h, key);
    sha256_release(&h);
    return rc;
}

/* ---- a set as it lies there ---- */

/* The checksum of a set's two files. */
static int make_sum(char sum[SHA256_HEX], const char *prefix, struct sha256_progress *p)
{
    uint64_t stamp;
    struct sha256 h = {0};
    struct data_source set[] = {{.path = mem_sprintf("%s.bin", prefix)},
                                {.path = mem_sprintf("%s.idx", prefix)}};
    int rc =
        set[0].path == NULL || set[1].path == NULL ? ERR_NOMEM : count_bytes(&p->total, set, 2);
    if (rc == 0 && (rc = sha256_init(&h)) == 0) {
        for (uint64_t i = 0; i < 2 && rc == 0; i++)
            rc = hash_file(&h, set[i].path, i, &stamp, p);
        sha256_end_hex(&h, sum);
    }
    sha256_release(&h);
    for (int i = 0; i < 2; i++)
        mem_free(set[i].path);
    return rc;
}

/* Without an allocation: it may be the want of memory that ends a set. */
static void drop_file(const char *prefix, const char *ending)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s%s", prefix, ending) < (int)sizeof path)
        unlink(path);
}

/* PREFIX.sha256 says what the set was when it was made; without it there is none. */
static int write_sum(char sum[SHA256_HEX], const char *prefix, const struct progress *p)
{
    /* What was just encoded is not thrown away for the seconds that this takes. */
    struct sha256_progress sums = {.what = CHECKING, .progress = p, .ignores_interrupt = true};
    char *path = mem_sprintf("%s.sha256", prefix);
    int rc = path == NULL ? ERR_NOMEM : make_sum(sum, prefix, &sums);
    if (rc == 0)
        rc = file_write_whole(path, sum, SHA256_HEX - 1, true);
    mem_free(path);
    return rc;
}

/* Whether there is a set, and it is what was made: of that sum; *there: it has a sum. */
static int check_set(bool *there, bool *whole, char sum[SHA256_HEX], const char *prefix,
                     const struct progress *p)
{
    struct buf said = {0};
    struct sha256_progress sums = {.what = CHECKING, .progress = p};
    char *path = mem_sprintf("%s.sha256", prefix);
    *there = path != NULL && file_exists(path);
    int rc = path == NULL ? ERR_NOMEM : *there ? file_read_all(&said, path, SHA256_HEX) : 0;
    if (rc == 0 && *there)
        rc = make_sum(sum, prefix, &sums);
    *whole = rc == 0 && *there && strcmp(buf_text(&said), sum) == 0;
    buf_release(&said);
    mem_free(path);
    return rc == ERR_INTERRUPTED || rc == ERR_NOMEM ? rc : 0;
}

/* The path of a set without its endings, its folder made; in fresh memory. */
static int make_prefix(char **out, const char *key, const struct progress *p)
{
    if ((*out = working_shared(key)) != NULL)
        return 0;
    char *folder = working_folder(p);
    int rc = folder == NULL ? err_last() : 0;
    *out = rc != 0 ? NULL : file_join(folder, key);
    if (rc == 0 && *out == NULL)
        rc = ERR_NOMEM;
    if (rc == 0)
        text_cache_sweep(folder);
    mem_free(folder);
    return rc;
}

/* ---- encoding ---- */

/* A chunk of text and what it becomes. */
struct chunk {
    struct buf text;
    struct ids ids;
    size_t source;
    bool ends;   /* its document */
    bool prompt; /* what is to be learned begins behind it */
    int flags;   /* of the tokenizer */
    int rc;
    char sentence[NAME_BYTES + 200]; /* of the failure: errors are kept by thread */
};

struct encoder {
    const struct texts *texts;
    struct text_reader reader;
    struct token_writer writer;
    struct chunk *chunks;     /* [n_chunks]; owned */
    struct word_cache *words; /* [n_threads]; owned */
    int n_chunks, filled;
    bool inside; /* a document, whose beginning was read */
    bool prompt; /* its last chunk was a prompt */
    atomic_int next;
};

/* A document that ends with the end-of-text token, read as such, gets no second one. */
static void encode_chunk(struct encoder *e, struct chunk *s, int thread)
{
    const struct texts *t = e->texts;
    const token_id end = tokenizer_eos(t->tokenizer);
    s->ids.n = 0;
    s->rc = tokenizer_encode_much(t->tokenizer, &e->words[thread], &s->ids, buf_text(&s->text),
                                  s->text.n,
                                  s->flags | (t->form->special ? ENCODE_SPECIAL : ENCODE_TEXT));
    if (s->rc != 0)
        snprintf(s->sentence, sizeof s->sentence, "%s", err_text());
    else if (t->form->special && s->ends && s->ids.n > 0 && s->ids.data[s->ids.n - 1] == end)
        s->ids.n--;
}

static void encode_chunks(void *arg, int thread, int n_threads)
{
    struct encoder *e = arg;
    (void)n_threads;
    for (int i; (i = atomic_fetch_add(&e->next, 1)) < e->filled;)
        encode_chunk(e, &e->chunks[i], thread);
}

/* Read, encode and write as many chunks as there is room for; none: the texts are at their end. */
static int encode_round(struct encoder *e)
{
    int rc = 0;
    for (e->filled = 0; e->filled < e->n_chunks && rc == 0; e->filled++) {
        struct chunk *s = &e->chunks[e->filled];
        rc = text_reader_next(&e->reader, &s->text, &s->ends, &s->source);
        if (rc == 0 && s->source == e->texts->n)
            break;
        /* A prompt is encoded by itself, as where the model is given it. */
        s->flags = !e->inside ? ENCODE_TEXT : e->prompt ? ENCODE_GOES_ON : ENCODE_PART;
        s->prompt = e->prompt = e->reader.prompt;
        e->inside = !s->ends && (e->inside || s->text.n > 0);
    }
    if (rc != 0)
        return rc;
    atomic_store(&e->next, 0);
    par_run(encode_chunks, e);
    token_id end = tokenizer_eos(e->texts->tokenizer);
    for (int i = 0; i < e->filled && rc == 0; i++) {
        const struct chunk *s = &e->chunks[i];
        char shown[NAME_BYTES];
        if (s->rc != 0)
            return err_set(s->rc, "%s: %s",
                           file_show(shown, sizeof shown, e->texts->list[s->source].path),
                           s->sentence);
        rc = token_writer_add(&e->writer, s->ids.data, s->ids.n);
        if (rc == 0 && s->prompt)
            rc = token_writer_cut(&e->writer);
        if (rc == 0 && s->ends && end != TOKEN_NONE)
            rc = token_writer_add(&e->writer, &end, 1);
        if (rc == 0 && s->ends)
            rc = token_writer_end(&e->writer);
    }
    return rc;
}

/* The ids are those of the bytes that the key is of. */
static int check_stamps(const struct texts *t)
{
    int rc = 0;
    for (size_t i = 0; i < t->n && rc == 0; i++) {
        struct file f;
        char shown[NAME_BYTES];
        if ((rc = file_open(&f, t->list[i].path)) != 0)
            break;
        if (f.stamp != t->stamps[i])
            rc = err_set(ERR_FORMAT,
                         "%s has changed while it was read: try again when nothing "
                         "writes to it",
                         file_show(shown, sizeof shown, f.path));
        file_close(&f);
    }
    return rc;
}

static int encode_rounds(struct encoder *e)
{
    const struct texts *t = e->texts;
    int rc = 0;
    do {
        rc = encode_round(e);
        if (rc == 0)
            rc = progress_step(t->progress, "encoding texts", text_reader_bytes(&e->reader),
                               t->total);
    } while (rc == 0 && e->filled > 0);
    text_reader_note(&e->reader, t->progress);
    if (rc == 0 && e->writer.n_tokens == 0)
        rc = err_set(ERR_RANGE, "they are empty");
    return rc != 0 ? rc : check_stamps(t);
}

/* All of a set takes its place, or nothing. */
static int commit_cache(struct encoder *e, char sum[SHA256_HEX], const char *prefix)
{
    drop_file(prefix, ".sha256");
    int rc = token_writer_commit(&e->writer);
    if (rc == 0)
        rc = write_sum(sum, prefix, e->texts->progress);
    if (rc != 0) {
        drop_file(prefix, ".bin");
        drop_file(prefix, ".idx");
        drop_file(prefix, ".sha256");
    }
    return rc;
}

static int encode_texts(char sum[SHA256_HEX], const char *prefix, const struct texts *t)
{
    struct encoder e = {.texts = t, .writer.bin.fd = -1};
    const int n_threads = par_threads();
    e.n_chunks = SLOTS_PER_THREAD * n_threads;
    e.words = mem_array((size_t)n_threads, sizeof *e.words);
    e.chunks = mem_array((size_t)e.n_chunks, sizeof *e.chunks);
    text_reader_init(&e.reader, t->list, t->n, t->form->separator);
    e.reader.special = t->form->special ? t->tokenizer : NULL;
    e.reader.field = t->form->field;
    e.reader.pairs = t->form->pairs;
    int rc = e.chunks == NULL || e.words == NULL ? ERR_NOMEM : 0;
    if (rc == 0 && (rc = token_writer_open(&e.writer, prefix, tokenizer_size(t->tokenizer))) == 0 &&
        (rc = encode_rounds(&e)) == 0)
        rc = commit_cache(&e, sum, prefix);
    for (int i = 0; i < e.n_chunks && e.chunks != NULL; i++) {
        buf_release(&e.chunks[i].text);
        ids_release(&e.chunks[i].ids);
    }
    for (int i = 0; i < n_threads && e.words != NULL; i++)
        word_cache_release(&e.words[i]);
    mem_free(e.words);
    mem_free(e.chunks);
    text_reader_release(&e.reader);
    token_writer_abandon(&e.writer);
    return rc == 0 || rc == ERR_INTERRUPTED ? rc : err_wrap("cannot encode the texts");
}

/* Once nobody else encodes them: it may have been these. */
static int encode_in_turn(char sum[SHA256_HEX], const char *prefix, const struct texts *t)
{
    struct cache_lock lock;
    bool there = false, whole = false;
    int rc = cache_lock_open(&lock, prefix, t->progress);
    if (rc == 0)
        rc = check_set(&there, &whole, sum, prefix, t->progress);
    if (rc == 0 && there && !whole)
        progress_note(t->progress, "the encoded text in the cache is damaged and is encoded again");
    if (rc == 0 && !whole)
        rc = encode_texts(sum, prefix, t);
    cache_lock_close(&lock);
    return rc;
}

static int open_set(struct token_file *out, const char *prefix, const struct texts *t)
{
    bool there, whole;
    char sum[SHA256_HEX];
    int rc = check_set(&there, &whole, sum, prefix, t->progress);
    if (rc == 0 && !whole)
        rc = encode_in_turn(sum, prefix, t);
    if (rc == 0)
        rc = token_file_open(out, TOKENS_MEGATRON, prefix, TOKEN_NONE, NULL);
    /* Another process may have cleared the cache since. */
    if (rc == ERR_MISSING && whole && (rc = encode_in_turn(sum, prefix, t)) == 0)
        rc = token_file_open(out, TOKENS_MEGATRON, prefix, TOKEN_NONE, NULL);
    if (rc != 0)
        return rc;
    out->prompts = out->seconds != NULL;
    memcpy(out->sum, sum, sizeof out->sum);
    out->n_texts = t->n;
    out->json_lines = true;
    for (size_t i = 0; i < t->n; i++)
        out->json_lines &= t->list[i].kind == DATA_JSON_LINES && !t->list[i].parquet;
    return 0;
}

int text_cache_open(struct token_file *out, const struct data_source *list, size_t n,
                    const struct text_form *form, const struct tokenizer *t,
                    const struct progress *p)
{
    char key[SHA256_HEX], *prefix = NULL;
    struct texts texts = {.list = list, .n = n, .form = form, .tokenizer = t, .progress = p};
    if (t == NULL)
        return err_set(ERR_MISSING, "cannot encode the texts: the model has no tokenizer; put its "
                                    "tokenizer.json, or vocab.json and merges.txt, beside its "
                                    "files (a new model: tokenizer=PATH)");
    texts.stamps = mem_array(n, sizeof *texts.stamps);
    int rc = texts.stamps == NULL ? ERR_NOMEM : count_bytes(&texts.total, list, n);
    if (rc == 0)
        rc = make_key(key, &texts);
    if (rc == 0)
        rc = make_prefix(&prefix, key, p);
    if (rc == 0)
        rc = open_set(out, prefix, &texts);
    mem_free(texts.stamps);
    mem_free(prefix);
    return rc;
}
