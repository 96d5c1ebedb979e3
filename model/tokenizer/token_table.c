#include "model/tokenizer/token_table.h"

#include "model/base/buf.h"
#include "model/base/err.h"
#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/tokenizer/byte_text.h"

#include <stdlib.h>
#include <utf8proc.h>

static bool is_vocab_special(const struct vocab *v, int id)
{
    return v->special != NULL ? v->special[id] != 0 : strcmp(v->tokens[id], "<|endoftext|>") == 0;
}

/* Set an error about token id, whose text may be anything. */
static int token_error(const char *text, int id, const char *what)
{
    char shown[96];
    return err_set(ERR_FORMAT, "token %d \"%s\" %s", id, file_show(shown, sizeof shown, text),
                   what);
}

/* Allocate everything whose size the vocabulary determines: so many bytes of tokens, and of texts.
 */
static int reserve_table(struct token_table *t, int n_tokens, int n_merges, size_t bytes,
                         size_t texts)
{
    uint32_t size = 64;
    while (size < 2 * (uint64_t)n_tokens)
        size *= 2;
    if (texts > UINT32_MAX || bytes > UINT32_MAX)
        return err_set(ERR_RANGE, "the vocabulary has %zu bytes of text, at most %u",
                       texts > bytes ? texts : bytes, UINT32_MAX);
    t->n_tokens = n_tokens;
    t->n_merges = n_merges;
    t->mask = size - 1;
    t->blob_bytes = bytes + texts;
    t->tokens = mem_array((size_t)n_tokens, sizeof *t->tokens);
    t->whole = mem_array((size_t)n_tokens, sizeof *t->whole);
    t->merges = mem_array((size_t)n_merges, sizeof *t->merges);
    t->slots = mem_array(size, sizeof *t->slots);
    t->bytes = mem_alloc(bytes);
    t->texts = mem_alloc(texts);
    if (t->tokens == NULL || t->whole == NULL || t->merges == NULL || t->slots == NULL ||
        t->bytes == NULL || t->texts == NULL)
        return ERR_NOMEM;
    for (uint32_t i = 0; i < size; i++)
        t->slots[i].id = TOKEN_NONE;
    for (int i = 0; i < 256; i++)
        t->of_byte[i] = TOKEN_NONE;
    return bpe_init(&t->bpe, n_merges);
}

static int reserve_vocab(struct token_table *t, const struct vocab *v)
{
    size_t texts = 0, bytes = 0;
    for (int i = 0; i < v->n_tokens; i++)
        bytes += v->tokens[i] == NULL ? 0 : strlen(v->tokens[i]);
    for (int i = 0; i < v->n_merges; i++)
        texts += strlen(v->merges[i]) + 1;
    texts += bytes + (size_t)v->n_tokens;
    return reserve_table(t, v->n_tokens, v->n_merges, bytes, texts);
}

/* The token can be found by its bytes from now on. */
static void enter_token(struct token_table *t, token_id id)
{
    const struct token_span *span = &t->tokens[id].bytes;
    const char *bytes = t->bytes + span->at;
    uint32_t hash = byte_hash(bytes, span->n), i = hash & t->mask;
    while (t->slots[i].id != TOKEN_NONE)
        i = (i + 1) & t->mask;
    t->slots[i] = (struct token_slot){hash, id};
    if (!t->tokens[id].special && span->n == 1)
        t->of_byte[(unsigned char)bytes[0]] = id;
}

static int add_token(struct token_table *t, const struct vocab *v, int id,
                     struct token_span *free_at)
{
    const char *text = v->tokens[id];
    struct token *token = &t->tokens[id];
    size_t n = strlen(text);
    if (n == 0)
        return token_error(text, id, "has no text");
    token->special = n > 1 && is_vocab_special(v, id);
    token->text = (struct token_span){free_at->n, (uint32_t)n};
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
    token_id twin = token_table_find(t, bytes, (size_t)n_bytes);
    if (twin != TOKEN_NONE)
        return token_error(text, id, "stands for the same bytes as another token");
    token->bytes = (struct token_span){free_at->at, (uint32_t)n_bytes};
    free_at->at += (uint32_t)n_bytes;
    enter_token(t, id);
    return 0;
}

/* The token of these bytes, which a merge joins or makes: an ordinary one, even if the files call
 * it special. */
static token_id merge_token(struct token_table *t, const unsigned char *bytes, long n)
{
    token_id id = n <= 0 ? TOKEN_NONE : token_table_find(t, (const char *)bytes, (size_t)n);
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

static int add_merge(struct token_table *t, const char *text, int rank, struct token_span *free_at,
                     struct buf *bytes)
{
    size_t n = strlen(text);
    const char *space = memchr(text, ' ', n);
    if (space == NULL || space == text || space == text + n - 1 || strchr(space + 1, ' ') != NULL)
        return merge_error(text, rank, "is not two texts with a space between");
    t->merges[rank] = (struct token_span){free_at->n, (uint32_t)n};
    memcpy(t->texts + free_at->n, text, n + 1);
    free_at->n += (uint32_t)n + 1;

    bytes->n = 0;
    int rc = buf_reserve(bytes, n);
    if (rc != 0)
        return rc;
    unsigned char *b = (unsigned char *)bytes->data;
    long n_left = byte_text_decode(b, text, (size_t)(space - text));
    long n_right =
        n_left < 0 ? -1 : byte_text_decode(b + n_left, space + 1, (size_t)(text + n - space - 1));
    if (n_right < 0)
        return merge_error(text, rank, "is not in GPT-2's byte alphabet");
    token_id left = merge_token(t, b, n_left), right = merge_token(t, b + n_left, n_right);
    token_id merged = merge_token(t, b, n_left + n_right);
    if (left == TOKEN_NONE || right == TOKEN_NONE)
        return merge_error(text, rank, "joins what is not a token");
    if (merged == TOKEN_NONE)
        return merge_error(text, rank, "makes what is not a token");
    bpe_add(&t->bpe, left, right, merged, rank);
    return 0;
}

/* The token of the whole character in which byte `at` lies, *first..*end; TOKEN_NONE: none, or the
 * bytes are no character. */
static token_id find_character(const struct token_table *t, const char *text, size_t n, size_t at,
                               size_t *first, size_t *end)
{
    utf8proc_int32_t c;
    *first = at;
    while (*first > 0 && at - *first < 3 && ((unsigned char)text[*first] & 0xc0) == 0x80)
        --*first;
    const size_t left = n - *first < 4 ? n - *first : 4;
    const utf8proc_ssize_t length =
        utf8proc_iterate((const utf8proc_uint8_t *)text + *first, (utf8proc_ssize_t)left, &c);
    *end = length > 0 ? *first + (size_t)length : at;
    const token_id id = *end > at ? token_table_find(t, text + *first, *end - *first) : TOKEN_NONE;
    return id != TOKEN_NONE && !t->tokens[id].special ? id : TOKEN_NONE;
}

int token_table_spell(const struct token_table *t, token_id *ids, size_t *n_ids, const char *text,
                      size_t n)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        token_id id = t->of_byte[(unsigned char)text[i]];
        if (id == TOKEN_NONE) {
            size_t first, end;
            id = find_character(t, text, n, i, &first, &end);
            if (id == TOKEN_NONE) {
                *n_ids = i;
                return ERR_RANGE;
            }
            k -= i - first;
            i = end - 1;
        }
        ids[k++] = id;
    }
    *n_ids = k;
    return 0;
}

static int compare_sizes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

/* Fill longest, special_sizes and special_head. */
static int list_special_sizes(struct token_table *t)
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
    qsort(sizes, (size_t)n, sizeof *sizes, compare_sizes);
    for (int i = 0; i < n; i++)
        if (i == 0 || sizes[i] != sizes[kept - 1])
            sizes[kept++] = sizes[i];
    t->special_sizes = sizes;
    t->n_special_sizes = kept;
    return 0;
}

int token_table_init(struct token_table *t, const struct vocab *v)
{
    struct token_span free_at = {0};
    struct buf bytes = {0};
    int rc = reserve_vocab(t, v);
    for (int i = 0; i < v->n_tokens && rc == 0; i++)
        if (v->tokens[i] != NULL)
            rc = add_token(t, v, i, &free_at);
    for (int i = 0; i < v->n_merges && rc == 0; i++)
        rc = add_merge(t, v->merges[i], i, &free_at, &bytes);
    if (rc == 0)
        rc = list_special_sizes(t);
    buf_release(&bytes);
    return rc;
}

int token_table_init_pieces(struct token_table *t, const struct piece_vocab *p)
{
    size_t texts = 0, bytes = 0;
    for (int i = 0; i < p->n_tokens; i++) {
        texts += strlen(p->list[i].text) + 1;
        bytes += p->list[i].n;
    }
    int rc = reserve_table(t, p->n_tokens, 0, bytes, texts);
    struct token_span at = {0};
    for (int i = 0; i < p->n_tokens && rc == 0; i++) {
        const struct piece *piece = &p->list[i];
        const uint32_t n = (uint32_t)piece->n, n_text = (uint32_t)strlen(piece->text);
        t->tokens[i] = (struct token){.bytes = {at.at, n}, .text = {at.n, n_text}};
        t->tokens[i].special = piece->special && n > 0;
        memcpy(t->texts + at.n, piece->text, n_text + 1);
        if (n > 0)
            memcpy(t->bytes + at.at, piece->bytes, n);
        if (n > 0 && token_table_find(t, piece->bytes, n) == TOKEN_NONE)
            enter_token(t, i);
        at.at += n;
        at.n += n_text + 1;
    }
    return rc == 0 ? list_special_sizes(t) : rc;
}

void token_table_release(struct token_table *t)
{
    mem_free(t->tokens);
    mem_free(t->whole);
    mem_free(t->merges);
    mem_free(t->slots);
    mem_free(t->bytes);
    mem_free(t->texts);
    mem_free(t->special_sizes);
    bpe_release(&t->bpe);
}

size_t token_table_bytes(const struct token_table *t)
{
    return (size_t)t->n_tokens * (sizeof *t->tokens + sizeof *t->whole) +
           (size_t)t->n_merges * sizeof *t->merges + ((size_t)t->mask + 1) * sizeof *t->slots +
           t->blob_bytes + (size_t)t->n_special_sizes * sizeof *t->special_sizes +
           ((size_t)t->bpe.mask + 1) * sizeof *t->bpe.slots;
}
