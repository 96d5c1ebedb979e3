#include "model/tokenizer/tokenizer.h"

#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/tokenizer/bpe.h"
#include "model/tokenizer/byte_text.h"
#include "model/tokenizer/pretokenize.h"

#include <stdlib.h>
#include <string.h>

struct span {
    uint32_t at, n; /* within one of the two blobs */
};

struct token {
    struct span bytes; /* what it decodes to */
    struct span text;  /* as files have it */
    bool special;
    bool whole; /* merging its own bytes gives it: a piece that equals it needs no merging */
};

struct tokenizer {
    int n_tokens, n_merges;
    struct token *tokens; /* [n_tokens]; n == 0 for a hole */
    char *bytes, *texts;  /* blobs */
    struct span *merges;  /* [n_merges], in texts */
    struct slot *slots;   /* [mask + 1], by bytes */
    uint32_t mask;
    struct bpe bpe;
    token_id of_byte[256];   /* TOKEN_NONE for a byte the vocabulary lacks */
    uint32_t longest;        /* bytes of the longest token that is not special */
    uint32_t *special_sizes; /* [n_special_sizes], descending, without repeats */
    int n_special_sizes;
    bool special_head[256]; /* bytes that begin a special token */
    token_id bos, eos;
    bool add_prefix_space;
};

struct slot {
    uint32_t hash;
    token_id id; /* TOKEN_NONE: free */
};

static inline uint64_t load(const char *p, size_t n)
{
    uint64_t v = 0;
    memcpy(&v, p, n);
    return v;
}

static inline uint32_t hash_of(const char *p, size_t n)
{
    uint64_t a, b, h = n * 0x9e3779b97f4a7c15u;
    while (n > 16) {
        h = (h ^ load(p, 8)) * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
        p += 8;
        n -= 8;
    }
    if (n >= 8) {
        a = load(p, 8);
        b = load(p + n - 8, 8);
    } else if (n >= 4) {
        a = load(p, 4);
        b = load(p + n - 4, 4);
    } else {
        a = n > 0 ? (unsigned char)p[0] : 0;
        b = n > 0 ? (uint64_t)(unsigned char)p[n / 2] << 8 | (unsigned char)p[n - 1] : 0;
    }
    h = (h ^ a) * 0xd6e8feb86659fd93u;
    h = ((h ^ h >> 32) + b) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

/* The token of exactly these bytes, special or not. */
static inline token_id look_up(const struct tokenizer *t, const char *bytes, size_t n)
{
    uint32_t hash = hash_of(bytes, n);
    for (uint32_t i = hash & t->mask;; i = (i + 1) & t->mask) {
        const struct slot *s = &t->slots[i];
        if (s->id == TOKEN_NONE)
            return TOKEN_NONE;
        const struct span *b = &t->tokens[s->id].bytes;
        if (s->hash == hash && b->n == n && memcmp(t->bytes + b->at, bytes, n) == 0)
            return s->id;
    }
}

static bool vocab_special(const struct vocab *v, int id)
{
    return v->special != NULL ? v->special[id] != 0 : strcmp(v->tokens[id], "<|endoftext|>") == 0;
}

/* A sentence about token id, whose text may be anything. */
static int token_error(const char *text, int id, const char *what)
{
    char shown[96];
    return err_set(ERR_FORMAT, "token %d \"%s\" %s", id, file_show(shown, sizeof shown, text),
                   what);
}

/* One block for everything of known size. */
static int reserve(struct tokenizer *t, const struct vocab *v)
{
    size_t texts = 0, bytes = 0;
    uint32_t size = 64;
    while (size < 2 * (uint64_t)v->n_tokens)
        size *= 2;
    for (int i = 0; i < v->n_tokens; i++)
        bytes += v->tokens[i] == NULL ? 0 : strlen(v->tokens[i]);
    for (int i = 0; i < v->n_merges; i++)
        texts += strlen(v->merges[i]) + 1;
    texts += bytes + (size_t)v->n_tokens;
    if (texts > UINT32_MAX)
        return err_set(ERR_RANGE, "the vocabulary has %zu bytes of text, at most %u", texts,
                       UINT32_MAX);
    t->n_tokens = v->n_tokens;
    t->n_merges = v->n_merges;
    t->mask = size - 1;
    t->tokens = mem_array((size_t)v->n_tokens, sizeof *t->tokens);
    t->merges = mem_array((size_t)v->n_merges, sizeof *t->merges);
    t->slots = mem_array(size, sizeof *t->slots);
    t->bytes = mem_alloc(bytes);
    t->texts = mem_alloc(texts);
    if (t->tokens == NULL || t->merges == NULL || t->slots == NULL || t->bytes == NULL ||
        t->texts == NULL)
        return ERR_NOMEM;
    for (uint32_t i = 0; i < size; i++)
        t->slots[i].id = TOKEN_NONE;
    for (int i = 0; i < 256; i++)
        t->of_byte[i] = TOKEN_NONE;
    return bpe_init(&t->bpe, v->n_merges);
}

static int add_token(struct tokenizer *t, const struct vocab *v, int id, struct span *free_at)
{
    const char *text = v->tokens[id];
    struct token *token = &t->tokens[id];
    size_t n = strlen(text);
    if (n == 0)
        return token_error(text, id, "has no text");
    token->special = n > 1 && vocab_special(v, id);
    token->text = (struct span){free_at->n, (uint32_t)n};
    memcpy(t->texts + free_at->n, text, n + 1);
    free_at->n += (uint32_t)n + 1;

    char *bytes = t->bytes + free_at->at;
    long n_bytes = (long)n;
    if (token->special)
        memcpy(bytes, text, n);
    else
        n_bytes = byte_text_decode((unsigned char *)bytes, text, n);
    if (n_bytes < 0)
        return token_error(text, id, "is not in GPT-2's byte alphabet");
    token_id twin = look_up(t, bytes, (size_t)n_bytes);
    if (twin != TOKEN_NONE)
        return token_error(text, id, "stands for the same bytes as another token");
    token->bytes = (struct span){free_at->at, (uint32_t)n_bytes};
    free_at->at += (uint32_t)n_bytes;

    uint32_t hash = hash_of(bytes, (size_t)n_bytes), i = hash & t->mask;
    while (t->slots[i].id != TOKEN_NONE)
        i = (i + 1) & t->mask;
    t->slots[i] = (struct slot){hash, id};
    if (!token->special && n_bytes == 1)
        t->of_byte[(unsigned char)bytes[0]] = id;
    return 0;
}

/* A token that a merge joins or makes: an ordinary one, whatever else the files say. */
static token_id merge_token(struct tokenizer *t, const unsigned char *bytes, long n)
{
    token_id id = n <= 0 ? TOKEN_NONE : look_up(t, (const char *)bytes, (size_t)n);
    if (id != TOKEN_NONE)
        t->tokens[id].special = false;
    return id;
}

static int merge_error(const char *text, int rank, const char *what)
{
    char shown[96];
    return err_set(ERR_FORMAT, "merge %d \"%s\" %s", rank, file_show(shown, sizeof shown, text),
                   what);
}

static int add_merge(struct tokenizer *t, const char *text, int rank, struct span *free_at,
                     struct buf *bytes)
{
    size_t n = strlen(text);
    const char *blank = memchr(text, ' ', n);
    if (blank == NULL || blank == text || blank == text + n - 1 || strchr(blank + 1, ' ') != NULL)
        return merge_error(text, rank, "is not two texts with a blank between");
    t->merges[rank] = (struct span){free_at->n, (uint32_t)n};
    memcpy(t->texts + free_at->n, text, n + 1);
    free_at->n += (uint32_t)n + 1;

    bytes->n = 0;
    int rc = buf_reserve(bytes, n);
    if (rc != 0)
        return rc;
    unsigned char *b = (unsigned char *)bytes->data;
    long n_left = byte_text_decode(b, text, (size_t)(blank - text));
    long n_right =
        n_left < 0 ? -1 : byte_text_decode(b + n_left, blank + 1, (size_t)(text + n - blank - 1));
    if (n_right < 0)
        return merge_error(text, rank, "is not in GPT-2's byte alphabet");
    token_id left = merge_token(t, b, n_left), right = merge_token(t, b + n_left, n_right);
    token_id merged = merge_token(t, b, n_left + n_right);
    if (left == TOKEN_NONE || right == TOKEN_NONE)
        return merge_error(text, rank, "joins what is no token");
    if (merged == TOKEN_NONE)
        return merge_error(text, rank, "makes what is no token");
    bpe_add(&t->bpe, left, right, merged, rank);
    return 0;
}

/* The symbols of a piece; ERR_RANGE for a byte without one. */
static int spell(const struct tokenizer *t, token_id *ids, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ids[i] = t->of_byte[(unsigned char)text[i]];
        if (ids[i] == TOKEN_NONE)
            return ERR_RANGE;
    }
    return 0;
}

/* Which tokens their own bytes merge into: those need no merging when met. */
static int find_whole(struct tokenizer *t)
{
    struct bpe_scratch scratch = {0};
    token_id *ids = mem_array(t->longest, sizeof *ids);
    int rc = ids == NULL ? ERR_NOMEM : 0;
    for (int id = 0; id < t->n_tokens && rc == 0; id++) {
        struct token *token = &t->tokens[id];
        size_t n = token->bytes.n, left = 0;
        if (n == 0 || token->special || spell(t, ids, t->bytes + token->bytes.at, n) != 0)
            continue;
        rc = bpe_merge(&t->bpe, &scratch, ids, n, &left);
        token->whole = rc == 0 && left == 1 && ids[0] == id;
    }
    bpe_scratch_release(&scratch);
    mem_free(ids);
    return rc;
}

static int descending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

/* What encoding wants to know about the two kinds of tokens. */
static int list_sizes(struct tokenizer *t)
{
    int n = 0, kept = 0;
    for (int i = 0; i < t->n_tokens; i++) {
        const struct token *token = &t->tokens[i];
        n += token->special;
        if (token->special)
            t->special_head[(unsigned char)t->bytes[token->bytes.at]] = true;
        else if (token->bytes.n > t->longest)
            t->longest = token->bytes.n;
    }
    uint32_t *sizes = mem_array((size_t)n, sizeof *sizes);
    if (sizes == NULL)
        return ERR_NOMEM;
    n = 0;
    for (int i = 0; i < t->n_tokens; i++)
        if (t->tokens[i].special)
            sizes[n++] = t->tokens[i].bytes.n;
    qsort(sizes, (size_t)n, sizeof *sizes, descending);
    for (int i = 0; i < n; i++)
        if (i == 0 || sizes[i] != sizes[kept - 1])
            sizes[kept++] = sizes[i];
    t->special_sizes = sizes;
    t->n_special_sizes = kept;
    return 0;
}

int tokenizer_new(struct tokenizer **out, const struct vocab *v)
{
    struct span free_at = {0};
    struct buf bytes = {0};
    struct tokenizer *t = mem_alloc(sizeof *t);
    if (t == NULL)
        return ERR_NOMEM;
    int rc = reserve(t, v);
    for (int i = 0; i < v->n_tokens && rc == 0; i++)
        if (v->tokens[i] != NULL)
            rc = add_token(t, v, i, &free_at);
    for (int i = 0; i < v->n_merges && rc == 0; i++)
        rc = add_merge(t, v->merges[i], i, &free_at, &bytes);
    if (rc == 0)
        rc = list_sizes(t);
    if (rc == 0)
        rc = find_whole(t);
    t->bos = v->bos >= 0 && v->bos < v->n_tokens ? v->bos : TOKEN_NONE;
    t->add_prefix_space = v->add_prefix_space;
    t->eos = v->eos >= 0 && v->eos < v->n_tokens ? v->eos : TOKEN_NONE;
    buf_release(&bytes);
    if (rc == 0)
        *out = t;
    else
        tokenizer_free(t);
    return rc;
}

void tokenizer_free(struct tokenizer *t)
{
    if (t == NULL)
        return;
    mem_free(t->tokens);
    mem_free(t->merges);
    mem_free(t->slots);
    mem_free(t->bytes);
    mem_free(t->texts);
    mem_free(t->special_sizes);
    bpe_release(&t->bpe);
    mem_free(t);
}

/* The sentence for a piece that cannot be spelled: its first such character. */
static int unsayable(const struct tokenizer *t, const char *text, size_t n)
{
    size_t at = 0, length = 1;
    while (at < n && t->of_byte[(unsigned char)text[at]] != TOKEN_NONE)
        at++;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80)
        at--;
    char_class(text + at, n - at, &length);
    char raw[8] = {0}, shown[64];
    memcpy(raw, text + at, length);
    return err_set(ERR_RANGE, "the vocabulary of %d tokens has no sign for \"%s\"", t->n_tokens,
                   raw[0] == '\0' ? "\\x00" : file_show(shown, sizeof shown, raw));
}

static int encode_text(const struct tokenizer *t, struct ids *out, struct bpe_scratch *scratch,
                       const char *text, size_t n)
{
    int rc = 0;
    while (n > 0) {
        size_t piece = pretokenize_next(text, n), left;
        token_id id = piece <= t->longest ? look_up(t, text, piece) : TOKEN_NONE;
        if ((rc = ids_reserve(out, piece)) != 0)
            return rc;
        if (id != TOKEN_NONE && t->tokens[id].whole) {
            out->data[out->n++] = id;
        } else {
            if (spell(t, out->data + out->n, text, piece) != 0)
                return unsayable(t, text, piece);
            rc = bpe_merge(&t->bpe, scratch, out->data + out->n, piece, &left);
            if (rc != 0)
                return rc;
            out->n += left;
        }
        text += piece;
        n -= piece;
    }
    return 0;
}

/* The same behind a space. A vocabulary that lacks it leaves it out, as any sign it lacks. */
static int encode_prefixed(const struct tokenizer *t, struct ids *out, struct bpe_scratch *scratch,
                           const char *text, size_t n)
{
    if (n == 0 || *text == ' ' || t->of_byte[' '] == TOKEN_NONE)
        return encode_text(t, out, scratch, text, n);
    struct buf with_space = {0};
    int rc = buf_reserve(&with_space, n + 1);
    if (rc == 0 && (rc = buf_char(&with_space, ' ')) == 0 &&
        (rc = buf_add(&with_space, text, n)) == 0)
        rc = encode_text(t, out, scratch, with_space.data, with_space.n);
    buf_release(&with_space);
    return rc;
}

/* Where the next special token begins (n for none) and its id: the leftmost, then the
 * longest. */
static size_t next_special(const struct tokenizer *t, const char *text, size_t n, token_id *id)
{
    for (size_t at = 0; at < n; at++) {
        if (!t->special_head[(unsigned char)text[at]])
            continue;
        for (int i = 0; i < t->n_special_sizes; i++) {
            uint32_t size = t->special_sizes[i];
            *id = size <= n - at ? look_up(t, text + at, size) : TOKEN_NONE;
            if (*id != TOKEN_NONE && t->tokens[*id].special)
                return at;
        }
    }
    return n;
}

int tokenizer_encode(const struct tokenizer *t, struct ids *out, const char *text, size_t n,
                     int flags)
{
    struct bpe_scratch scratch = {0};
    size_t before = out->n;
    bool prefixed = t->add_prefix_space && !(flags & ENCODE_GOES_ON);
    int rc = 0;
    while (n > 0 && rc == 0) {
        token_id special = TOKEN_NONE;
        size_t part = flags & ENCODE_SPECIAL ? next_special(t, text, n, &special) : n;
        rc = prefixed ? encode_prefixed(t, out, &scratch, text, part)
                      : encode_text(t, out, &scratch, text, part);
        prefixed = t->add_prefix_space;
        if (rc == 0 && part < n) {
            rc = ids_add(out, &special, 1);
            part += t->tokens[special].bytes.n;
        }
        text += part;
        n -= part;
    }
    if (rc != 0)
        out->n = before;
    bpe_scratch_release(&scratch);
    return rc;
}

const char *tokenizer_piece(const struct tokenizer *t, token_id id, size_t *n)
{
    bool there = id >= 0 && id < t->n_tokens && t->tokens[id].bytes.n > 0;
    *n = there ? t->tokens[id].bytes.n : 0;
    return there ? t->bytes + t->tokens[id].bytes.at : NULL;
}

int tokenizer_decode(const struct tokenizer *t, struct buf *out, const token_id *ids, size_t n)
{
    size_t before = out->n;
    for (size_t i = 0; i < n; i++) {
        size_t bytes;
        const char *piece = tokenizer_piece(t, ids[i], &bytes);
        int rc = piece == NULL ? 0 : buf_add(out, piece, bytes);
        if (rc != 0) {
            out->n = before;
            return rc;
        }
    }
    return 0;
}

int tokenizer_size(const struct tokenizer *t)
{
    return t->n_tokens;
}

bool tokenizer_is_special(const struct tokenizer *t, token_id id)
{
    return id >= 0 && id < t->n_tokens && t->tokens[id].special;
}

bool tokenizer_adds_prefix_space(const struct tokenizer *t)
{
    return t->add_prefix_space;
}

token_id tokenizer_bos(const struct tokenizer *t)
{
    return t->bos;
}

token_id tokenizer_eos(const struct tokenizer *t)
{
    return t->eos;
}

token_id tokenizer_find(const struct tokenizer *t, const char *text, size_t n)
{
    unsigned char small[256];
    unsigned char *bytes = n <= sizeof small ? small : mem_alloc(n);
    if (bytes == NULL)
        return TOKEN_NONE;
    long n_bytes = byte_text_decode(bytes, text, n);
    token_id id = n_bytes <= 0 ? TOKEN_NONE : look_up(t, (const char *)bytes, (size_t)n_bytes);
    if (bytes != small)
        mem_free(bytes);
    if (n == 0 || (id != TOKEN_NONE && !t->tokens[id].special))
        return id;
    id = look_up(t, text, n);
    return id != TOKEN_NONE && t->tokens[id].special ? id : TOKEN_NONE;
}

const char *tokenizer_text(const struct tokenizer *t, token_id id)
{
    bool there = id >= 0 && id < t->n_tokens && t->tokens[id].text.n > 0;
    return there ? t->texts + t->tokens[id].text.at : NULL;
}

int tokenizer_merges(const struct tokenizer *t)
{
    return t->n_merges;
}

const char *tokenizer_merge(const struct tokenizer *t, int rank)
{
    return rank >= 0 && rank < t->n_merges ? t->texts + t->merges[rank].at : NULL;
}
