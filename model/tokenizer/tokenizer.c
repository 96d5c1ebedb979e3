#include "model/tokenizer/tokenizer.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/tokenizer/byte_text.h"
#include "model/tokenizer/pretokenize.h"
#include "model/tokenizer/token_order.h"
#include "model/tokenizer/token_table.h"
#include "model/tokenizer/word_cache.h"

#include <stdatomic.h>
#include <string.h>
#include <utf8proc.h>

struct tokenizer {
    struct token_table table;
    token_id eos;
    bool add_prefix_space, begins;
    struct piece_vocab pieces; /* file: owned; without a list. encode NULL: byte-level BPE */
    _Atomic(struct token_order *) order; /* NULL until somebody asks for it */
    struct kept_files kept;
};

int tokenizer_new(struct tokenizer **out, const struct vocab *v)
{
    struct tokenizer *t = mem_alloc(sizeof *t);
    if (t == NULL)
        return ERR_NOMEM;
    int rc = token_table_init(&t->table, v);
    t->add_prefix_space = v->add_prefix_space;
    t->begins = v->begins;
    t->eos = v->eos >= 0 && v->eos < v->n_tokens ? v->eos : TOKEN_NONE;
    if (rc == 0)
        *out = t;
    else
        tokenizer_free(t);
    return rc;
}

int tokenizer_new_pieces(struct tokenizer **out, const struct piece_vocab *p)
{
    struct tokenizer *t = mem_alloc(sizeof *t);
    char *file = mem_alloc(p->n_file);
    if (t == NULL || file == NULL) {
        mem_free(t);
        mem_free(file);
        p->close(p->user);
        return ERR_NOMEM;
    }
    memcpy(file, p->file, p->n_file);
    t->pieces = *p;
    t->pieces.file = file;
    t->pieces.list = NULL;
    t->add_prefix_space = p->add_prefix_space;
    t->eos = p->eos >= 0 && p->eos < p->n_tokens ? p->eos : TOKEN_NONE;
    int rc = token_table_init_pieces(&t->table, p);
    if (rc == 0)
        *out = t;
    else
        tokenizer_free(t);
    return rc;
}

size_t tokenizer_memory(const struct tokenizer *t)
{
    return sizeof *t + token_table_bytes(&t->table) + t->pieces.n_file + kept_files_bytes(&t->kept);
}

static void free_order(struct token_order *o)
{
    if (o != NULL)
        token_order_release(o);
    mem_free(o);
}

void tokenizer_free(struct tokenizer *t)
{
    if (t == NULL)
        return;
    token_table_release(&t->table);
    free_order(atomic_load(&t->order));
    kept_files_release(&t->kept);
    if (t->pieces.encode != NULL) {
        t->pieces.close(t->pieces.user);
        mem_free((char *)t->pieces.file);
    }
    mem_free(t);
}

/* Of two that ask at the same time for the first time one's work is lost. */
int tokenizer_order(const struct tokenizer *t, const struct token_order **out)
{
    struct tokenizer *own = (struct tokenizer *)t; /* what it holds for later is no part of it */
    struct token_order *made, *held = NULL;
    if ((*out = atomic_load(&own->order)) != NULL)
        return 0;
    if ((made = mem_alloc(sizeof *made)) == NULL)
        return ERR_NOMEM;
    int rc = token_order_init(made, &t->table);
    if (rc == 0 && atomic_compare_exchange_strong(&own->order, &held, made)) {
        *out = made;
        return 0;
    }
    free_order(made);
    *out = held;
    return rc;
}

enum { AHEAD = 16 };

/* Of one call. */
struct encode_scratch {
    struct bpe_scratch bpe;
    struct word_cache *cache; /* NULL: none */
};

/* ERR_RANGE, showing the character in which byte `at` lies, which cannot be encoded. */
static int refuse_byte(const struct tokenizer *t, const char *text, size_t n, size_t at)
{
    utf8proc_int32_t c;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    const utf8proc_ssize_t length =
        utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(n - at), &c);
    if (length < 1)
        return err_set(ERR_RANGE, "the vocabulary of %d tokens lacks the byte 0x%02X",
                       t->table.n_tokens, (unsigned char)text[at]);
    char raw[8] = {0}, shown[64];
    memcpy(raw, text + at, (size_t)length);
    return err_set(ERR_RANGE, "the vocabulary of %d tokens lacks the character U+%04X (%s)",
                   t->table.n_tokens, (unsigned)c,
                   c == 0 ? "NUL" : file_show(shown, sizeof shown, raw));
}

/* One pre-token, for whose ids there is room. */
static int encode_word(const struct tokenizer *t, struct ids *out, struct bpe_scratch *scratch,
                       const char *text, size_t n)
{
    const struct token_table *table = &t->table;
    token_id id = n <= table->longest ? token_table_find(table, text, n) : TOKEN_NONE;
    size_t left;
    if (id != TOKEN_NONE && atomic_load_explicit(&table->whole[id], memory_order_relaxed)) {
        out->data[out->n++] = id;
        return 0;
    }
    if (token_table_spell(table, out->data + out->n, &left, text, n) != 0)
        return refuse_byte(t, text, n, left);
    int rc = bpe_merge(&table->bpe, scratch, out->data + out->n, left, &left);
    if (rc != 0)
        return rc;
    if (id != TOKEN_NONE && left == 1 && out->data[out->n] == id)
        atomic_store_explicit(&table->whole[id], true, memory_order_relaxed);
    out->n += left;
    return 0;
}

/* The same of a short one: from the cache, or into it. There is room for CACHED_IDS too. */
static int encode_cached(const struct tokenizer *t, struct ids *out, struct encode_scratch *s,
                         const char *text, size_t n)
{
    struct cached_word key = word_cache_key(text, n), *at = word_cache_place(s->cache, &key);
    token_id *ids = out->data + out->n;
    if (word_cache_has(at, &key)) {
        memcpy(ids, at->ids, sizeof at->ids);
        out->n += at->n_ids;
        return 0;
    }
    const size_t before = out->n;
    int rc = encode_word(t, out, &s->bpe, text, n);
    const size_t got = out->n - before;
    if (rc == 0 && got <= CACHED_IDS) {
        key.n_ids = (uint16_t)got;
        memset(key.ids, 0, sizeof key.ids);
        memcpy(key.ids, ids, got * sizeof *ids);
        *at = key;
    }
    return rc;
}

/* The next words, up to AHEAD; the processor is told to fetch what the cache has of them. */
static int find_words(size_t words[AHEAD], const struct encode_scratch *s, const char *text,
                      size_t n)
{
    int k = 0;
    for (size_t at = 0; at < n && k < AHEAD; at += words[k++]) {
        words[k] = pretokenize_next(text + at, n - at);
        if (s->cache == NULL || words[k] > CACHED_BYTES)
            continue;
        const struct cached_word key = word_cache_key(text + at, words[k]);
        __builtin_prefetch(word_cache_place(s->cache, &key));
    }
    return k;
}

static int encode_text(const struct tokenizer *t, struct ids *out, struct encode_scratch *s,
                       const char *text, size_t n)
{
    size_t words[AHEAD];
    int rc = 0;
    while (n > 0 && rc == 0) {
        const int n_words = find_words(words, s, text, n);
        for (int k = 0; k < n_words && rc == 0; k++) {
            const bool cached = s->cache != NULL && words[k] <= CACHED_BYTES;
            const size_t room = cached ? CACHED_BYTES : words[k];
            if (out->cap - out->n < room && (rc = ids_reserve(out, room)) != 0)
                return rc;
            rc = cached ? encode_cached(t, out, s, text, words[k])
                        : encode_word(t, out, &s->bpe, text, words[k]);
            text += words[k];
            n -= words[k];
        }
    }
    return rc;
}

/* The same after a space, if the vocabulary has one. */
static int encode_prefixed(const struct tokenizer *t, struct ids *out, struct encode_scratch *s,
                           const char *text, size_t n)
{
    if (n == 0 || *text == ' ' || t->table.of_byte[' '] == TOKEN_NONE)
        return encode_text(t, out, s, text, n);
    struct buf with_space = {0};
    int rc = buf_reserve(&with_space, n + 1);
    if (rc == 0 && (rc = buf_char(&with_space, ' ')) == 0 &&
        (rc = buf_add(&with_space, text, n)) == 0)
        rc = encode_text(t, out, s, with_space.data, with_space.n);
    buf_release(&with_space);
    return rc;
}

/* The position of the next special token (n: none) and its id: the leftmost, of these the longest.
 */
static size_t next_special(const struct tokenizer *t, const char *text, size_t n, token_id *id)
{
    for (size_t at = 0; at < n; at++) {
        if (!t->table.special_head[(unsigned char)text[at]])
            continue;
        for (int i = 0; i < t->table.n_special_sizes; i++) {
            uint32_t size = t->table.special_sizes[i];
            *id = size <= n - at ? token_table_find(&t->table, text + at, size) : TOKEN_NONE;
            if (*id != TOKEN_NONE && t->table.tokens[*id].special)
                return at;
        }
    }
    return n;
}

static enum piece_text piece_text_of(int flags, bool first)
{
    return !first || (flags & ENCODE_GOES_ON) == 0 ? PIECES_WHOLE
           : (flags & ENCODE_PART) == ENCODE_PART  ? PIECES_PART
                                                   : PIECES_GO_ON;
}

int tokenizer_encode_much(const struct tokenizer *t, struct word_cache *cache, struct ids *out,
                          const char *text, size_t n, int flags)
{
    struct encode_scratch scratch = {.cache = cache};
    size_t before = out->n;
    bool prefixed = t->add_prefix_space && !(flags & ENCODE_GOES_ON), first = true;
    int rc = cache == NULL ? 0 : word_cache_reserve(cache);
    while (n > 0 && rc == 0) {
        token_id special = TOKEN_NONE;
        size_t part = flags & ENCODE_SPECIAL ? next_special(t, text, n, &special) : n;
        rc = t->pieces.encode != NULL
                 ? t->pieces.encode(t->pieces.user, out, text, part, piece_text_of(flags, first))
             : prefixed ? encode_prefixed(t, out, &scratch, text, part)
                        : encode_text(t, out, &scratch, text, part);
        prefixed = t->add_prefix_space;
        first = false;
        if (rc == 0 && part < n) {
            rc = ids_add(out, &special, 1);
            part += t->table.tokens[special].bytes.n;
        }
        text += part;
        n -= part;
    }
    if (rc != 0)
        out->n = before;
    bpe_scratch_release(&scratch.bpe);
    return rc;
}

int tokenizer_encode(const struct tokenizer *t, struct ids *out, const char *text, size_t n,
                     int flags)
{
    return tokenizer_encode_much(t, NULL, out, text, n, flags);
}

const char *tokenizer_bytes(const struct tokenizer *t, token_id id, size_t *n)
{
    bool there = id >= 0 && id < t->table.n_tokens && t->table.tokens[id].bytes.n > 0;
    *n = there ? t->table.tokens[id].bytes.n : 0;
    return there ? t->table.bytes + t->table.tokens[id].bytes.at : NULL;
}

int tokenizer_decode(const struct tokenizer *t, struct buf *out, const token_id *ids, size_t n)
{
    size_t before = out->n;
    for (size_t i = 0; i < n; i++) {
        size_t bytes;
        const char *token = tokenizer_bytes(t, ids[i], &bytes);
        int rc = token == NULL ? 0 : buf_add(out, token, bytes);
        if (rc != 0) {
            out->n = before;
            return rc;
        }
    }
    return 0;
}

static bool text_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool tokenizer_same(const struct tokenizer *a, const struct tokenizer *b)
{
    if (a == NULL || b == NULL || a->add_prefix_space != b->add_prefix_space ||
        a->table.n_tokens != b->table.n_tokens || a->table.n_merges != b->table.n_merges ||
        a->pieces.n_file != b->pieces.n_file)
        return false;
    if (a->pieces.n_file > 0 && memcmp(a->pieces.file, b->pieces.file, a->pieces.n_file) != 0)
        return false;
    for (token_id i = 0; i < a->table.n_tokens; i++)
        if (!text_same(tokenizer_text(a, i), tokenizer_text(b, i)) ||
            a->table.tokens[i].special != b->table.tokens[i].special)
            return false;
    for (int i = 0; i < a->table.n_merges; i++)
        if (!text_same(tokenizer_merge(a, i), tokenizer_merge(b, i)))
            return false;
    return true;
}

int tokenizer_size(const struct tokenizer *t)
{
    return t->table.n_tokens;
}

bool tokenizer_is_special(const struct tokenizer *t, token_id id)
{
    return id >= 0 && id < t->table.n_tokens && t->table.tokens[id].special;
}

size_t tokenizer_special_bytes(const struct tokenizer *t)
{
    return t->table.n_special_sizes > 0 ? t->table.special_sizes[0] : 0;
}

bool tokenizer_special_reaches(const struct tokenizer *t, const char *text, size_t n, size_t k)
{
    const size_t longest = tokenizer_special_bytes(t);
    for (size_t at = k > longest ? k - longest : 0; at < k; at++)
        for (int i = 0; i < t->table.n_special_sizes && t->table.special_sizes[i] >= k - at; i++) {
            const uint32_t size = t->table.special_sizes[i];
            const token_id id =
                size <= n - at ? token_table_find(&t->table, text + at, size) : TOKEN_NONE;
            if (id != TOKEN_NONE && t->table.tokens[id].special)
                return true;
        }
    return false;
}

bool tokenizer_adds_prefix_space(const struct tokenizer *t)
{
    return t->add_prefix_space;
}

bool tokenizer_begins(const struct tokenizer *t)
{
    return t->begins;
}

token_id tokenizer_eos(const struct tokenizer *t)
{
    return t->eos;
}

const char *tokenizer_file(const struct tokenizer *t, size_t *n)
{
    *n = t->pieces.n_file;
    return t->pieces.file;
}

int tokenizer_keep(struct tokenizer *t, const char *name, const char *bytes, size_t n)
{
    return kept_files_add(&t->kept, name, bytes, n);
}

const struct kept_files *tokenizer_kept(const struct tokenizer *t)
{
    return &t->kept;
}

token_id tokenizer_find(const struct tokenizer *t, const char *text, size_t n)
{
    for (token_id id = 0; t->pieces.encode != NULL && id < t->table.n_tokens; id++)
        if (t->table.tokens[id].text.n == n && memcmp(tokenizer_text(t, id), text, n) == 0)
            return id;
    if (t->pieces.encode != NULL)
        return TOKEN_NONE;
    unsigned char small[256];
    unsigned char *bytes = n <= sizeof small ? small : mem_alloc(n);
    if (bytes == NULL)
        return TOKEN_NONE;
    long n_bytes = byte_text_decode(bytes, text, n);
    token_id id = n_bytes <= 0 ? TOKEN_NONE
                               : token_table_find(&t->table, (const char *)bytes, (size_t)n_bytes);
    if (bytes != small)
        mem_free(bytes);
    if (n == 0 || (id != TOKEN_NONE && !t->table.tokens[id].special))
        return id;
    id = token_table_find(&t->table, text, n);
    return id != TOKEN_NONE && t->table.tokens[id].special ? id : TOKEN_NONE;
}

const char *tokenizer_text(const struct tokenizer *t, token_id id)
{
    bool there = id >= 0 && id < t->table.n_tokens && t->table.tokens[id].text.n > 0;
    return there ? t->table.texts + t->table.tokens[id].text.at : NULL;
}

int tokenizer_merges(const struct tokenizer *t)
{
    return t->table.n_merges;
}

const char *tokenizer_merge(const struct tokenizer *t, int rank)
{
    return rank >= 0 && rank < t->table.n_merges ? t->table.texts + t->table.merges[rank].at : NULL;
}
