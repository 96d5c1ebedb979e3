#include "train/data/text_cache.h"

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/par.h"
#include "train/data/text_reader.h"
#include "train/data/token_writer.h"

#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_BYTES = 1 << 20, DIGEST = 32, NAME_BYTES = 200, SLOTS_PER_THREAD = 4 };

/* Texts and numbers with their lengths, so that no two lists give the same bytes. */
static void hash_bytes(EVP_MD_CTX *h, const char *s, uint64_t n)
{
    EVP_DigestUpdate(h, &n, sizeof n);
    if (n > 0)
        EVP_DigestUpdate(h, s, n);
}

static void hash_text(EVP_MD_CTX *h, const char *s)
{
    hash_bytes(h, s == NULL ? "" : s, s == NULL ? 0 : strlen(s));
}

static void hash_tokenizer(EVP_MD_CTX *h, const struct tokenizer *t)
{
    token_id end = tokenizer_eos(t);
    EVP_DigestUpdate(h, &end, sizeof end);
    for (token_id i = 0; i < tokenizer_size(t); i++)
        hash_text(h, tokenizer_text(t, i));
    for (int i = 0; i < tokenizer_merges(t); i++)
        hash_text(h, tokenizer_merge(t, i));
}

/* One file behind a head of its own; *done counts the bytes of all. */
static int hash_file(EVP_MD_CTX *h, char *part, const char *path, uint64_t kind, uint64_t *done,
                     uint64_t total, const struct progress *p)
{
    struct file f;
    int rc = file_open(&f, path);
    if (rc != 0)
        return rc;
    uint64_t head[2] = {kind, f.bytes};
    EVP_DigestUpdate(h, head, sizeof head);
    for (uint64_t at = 0; at < f.bytes && rc == 0; at += HASH_BYTES) {
        uint64_t left = f.bytes - at;
        size_t n = left < HASH_BYTES ? (size_t)left : HASH_BYTES;
        rc = file_read_at(&f, part, at, n);
        if (rc == 0) {
            EVP_DigestUpdate(h, part, n);
            *done += n;
            rc = progress_step(p, "looking at texts", *done, total);
        }
    }
    file_close(&f);
    return rc;
}

enum { KEY_BYTES = 2 * DIGEST + 1 };

static void finish_key(char key[KEY_BYTES], EVP_MD_CTX *h)
{
    unsigned char digest[DIGEST];
    EVP_DigestFinal_ex(h, digest, NULL);
    text_hex(key, digest, DIGEST);
}

static int begin_key(EVP_MD_CTX **h, char **part)
{
    *part = mem_alloc(HASH_BYTES);
    *h = EVP_MD_CTX_new();
    if (*part == NULL)
        return ERR_NOMEM;
    if (*h == NULL || EVP_DigestInit_ex(*h, EVP_sha256(), NULL) != 1)
        return err_set(ERR_NOMEM, "libcrypto has no SHA-256");
    return 0;
}

/* Bytes of all texts. */
static int add_up(uint64_t *total, const struct data_source *list, size_t n)
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

static int make_key(char key[KEY_BYTES], const struct data_source *list, size_t n, uint64_t total,
                    const char *separator, const struct tokenizer *t, const struct progress *p)
{
    uint64_t done = 0;
    char *part = NULL;
    EVP_MD_CTX *h = NULL;
    int rc = begin_key(&h, &part);
    if (rc == 0) {
        hash_text(h, "prattle text cache 1");
        hash_text(h, separator);
        hash_tokenizer(h, t);
    }
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = hash_file(h, part, list[i].path, list[i].kind == DATA_JSON_LINES, &done, total, p);
    if (rc == 0)
        finish_key(key, h);
    EVP_MD_CTX_free(h);
    mem_free(part);
    return rc;
}

/* Of a set as it lies there. */
static int make_sum(char sum[KEY_BYTES], const char *prefix)
{
    static const char *const endings[] = {".bin", ".idx"};
    uint64_t done = 0;
    char *part = NULL;
    EVP_MD_CTX *h = NULL;
    int rc = begin_key(&h, &part);
    for (int i = 0; i < 2 && rc == 0; i++) {
        char *path = mem_sprintf("%s%s", prefix, endings[i]);
        rc = path == NULL ? ERR_NOMEM : hash_file(h, part, path, (uint64_t)i, &done, 0, NULL);
        mem_free(path);
    }
    if (rc == 0)
        finish_key(sum, h);
    EVP_MD_CTX_free(h);
    mem_free(part);
    return rc;
}

/* PREFIX.sha256 says what the set was when it was made. */
static int write_sum(const char *prefix)
{
    char sum[KEY_BYTES];
    struct file_writer f = {.fd = -1};
    char *path = mem_sprintf("%s.sha256", prefix);
    int rc = path == NULL ? ERR_NOMEM : make_sum(sum, prefix);
    if (rc == 0 && (rc = file_create(&f, path, true)) == 0 &&
        (rc = file_write(&f, sum, KEY_BYTES - 1)) == 0)
        rc = file_commit(&f);
    file_abandon(&f);
    mem_free(path);
    return rc;
}

/* Whether there is a set, and it is what was made. */
static bool is_whole(const char *prefix, const struct progress *p)
{
    char sum[KEY_BYTES];
    struct buf said = {0};
    char *path = mem_sprintf("%s.sha256", prefix);
    bool there = path != NULL && file_exists(path);
    bool whole = there && file_read_all(&said, path, KEY_BYTES) == 0 &&
                 make_sum(sum, prefix) == 0 && strcmp(buf_text(&said), sum) == 0;
    if (there && !whole)
        progress_note(p, "the encoded text in the cache is damaged: it is encoded anew");
    buf_release(&said);
    mem_free(path);
    return whole;
}

/* The path of a set without its endings, its folder made; in fresh memory. */
static int make_prefix(char **out, const char *key)
{
    char *folder = file_home(HOME_CACHE, "data");
    int rc = folder == NULL ? err_last() : file_make_folder(folder);
    *out = rc != 0 ? NULL : file_join(folder, key);
    if (rc == 0 && *out == NULL)
        rc = ERR_NOMEM;
    mem_free(folder);
    return rc;
}

/* A piece of text and what it becomes. */
struct slot {
    struct buf text;
    struct ids ids;
    size_t source;
    bool ends; /* its document */
    int rc;
    char sentence[NAME_BYTES + 200]; /* of the failure: errors are kept by thread */
};

struct encoder {
    const struct tokenizer *tokenizer;
    const struct data_source *list;
    size_t n;
    struct text_reader reader;
    struct token_writer writer;
    struct slot *slots; /* [n_slots]; owned */
    int n_slots, filled;
    atomic_int next;
};

static void encode_slots(void *arg, int thread, int n_threads)
{
    struct encoder *e = arg;
    (void)thread;
    (void)n_threads;
    for (int i; (i = atomic_fetch_add(&e->next, 1)) < e->filled;) {
        struct slot *s = &e->slots[i];
        s->ids.n = 0;
        s->rc = tokenizer_encode(e->tokenizer, &s->ids, buf_text(&s->text), s->text.n, ENCODE_TEXT);
        if (s->rc != 0)
            snprintf(s->sentence, sizeof s->sentence, "%s", err_text());
    }
}

/* Read, encode and write as many pieces as there are slots; none: the texts are at their end. */
static int encode_round(struct encoder *e)
{
    int rc = 0;
    for (e->filled = 0; e->filled < e->n_slots && rc == 0; e->filled++) {
        struct slot *s = &e->slots[e->filled];
        rc = text_reader_next(&e->reader, &s->text, &s->ends, &s->source);
        if (rc == 0 && s->source == e->n)
            break;
    }
    if (rc != 0)
        return rc;
    atomic_store(&e->next, 0);
    par_run(encode_slots, e);
    token_id end = tokenizer_eos(e->tokenizer);
    for (int i = 0; i < e->filled && rc == 0; i++) {
        const struct slot *s = &e->slots[i];
        char shown[NAME_BYTES];
        if (s->rc != 0)
            return err_set(s->rc, "%s: %s", file_show(shown, sizeof shown, e->list[s->source].path),
                           s->sentence);
        rc = token_writer_add(&e->writer, s->ids.data, s->ids.n);
        if (rc == 0 && s->ends && end != TOKEN_NONE)
            rc = token_writer_add(&e->writer, &end, 1);
        if (rc == 0 && s->ends)
            rc = token_writer_end(&e->writer);
    }
    return rc;
}

static int encode_all(struct encoder *e, uint64_t total, const struct progress *p)
{
    int rc = 0;
    do {
        rc = encode_round(e);
        if (rc == 0)
            rc = progress_step(p, "encoding texts", text_reader_bytes(&e->reader), total);
    } while (rc == 0 && e->filled > 0);
    if (rc == 0 && e->writer.n_tokens == 0)
        rc = err_set(ERR_RANGE, "there is no text in them");
    return rc != 0 ? rc : token_writer_commit(&e->writer);
}

static int encode(const char *prefix, const struct data_source *list, size_t n, uint64_t total,
                  const char *separator, const struct tokenizer *t, const struct progress *p)
{
    struct encoder e = {.tokenizer = t, .list = list, .n = n, .writer.bin.fd = -1};
    e.n_slots = SLOTS_PER_THREAD * par_threads();
    e.slots = mem_array((size_t)e.n_slots, sizeof *e.slots);
    text_reader_init(&e.reader, list, n, separator);
    int rc = e.slots == NULL ? ERR_NOMEM : 0;
    if (rc == 0)
        rc = token_writer_open(&e.writer, prefix, tokenizer_size(t));
    if (rc == 0)
        rc = encode_all(&e, total, p);
    for (int i = 0; i < e.n_slots && e.slots != NULL; i++) {
        buf_release(&e.slots[i].text);
        ids_release(&e.slots[i].ids);
    }
    mem_free(e.slots);
    text_reader_release(&e.reader);
    token_writer_abandon(&e.writer);
    return rc == 0 || rc == ERR_INTERRUPTED ? rc : err_wrap("cannot encode the texts");
}

int text_cache_open(struct token_file *out, const struct data_source *list, size_t n,
                    const char *separator, const struct tokenizer *t, const struct progress *p)
{
    char key[KEY_BYTES], *prefix = NULL;
    uint64_t total;
    if (t == NULL)
        return err_set(ERR_MISSING, "cannot encode the texts: there is no tokenizer; load a model "
                                    "that has one, or name it: --model PATH");
    int rc = add_up(&total, list, n);
    if (rc == 0)
        rc = make_key(key, list, n, total, separator, t, p);
    if (rc == 0)
        rc = make_prefix(&prefix, key);
    if (rc == 0 && (!is_whole(prefix, p) || token_file_open(out, TOKENS_MEGATRON, prefix) != 0)) {
        rc = encode(prefix, list, n, total, separator, t, p);
        if (rc == 0 && (rc = write_sum(prefix)) == 0)
            rc = token_file_open(out, TOKENS_MEGATRON, prefix);
    }
    if (rc == 0)
        out->n_texts = n;
    mem_free(prefix);
    return rc;
}
