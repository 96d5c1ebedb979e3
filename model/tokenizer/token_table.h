#ifndef PRATTLE_MODEL_TOKENIZER_TOKEN_TABLE_H
#define PRATTLE_MODEL_TOKENIZER_TOKEN_TABLE_H
/*
 * A vocabulary as encoding and decoding want it: tokens by id and by their bytes, merges by the
 * pair that they join.
 */
#include "model/tokenizer/bpe.h"
#include "model/tokenizer/byte_hash.h"
#include "model/tokenizer/vocab.h"

#include <stdint.h>
#include <string.h>

struct token_span {
    uint32_t at, n; /* within one of the two blobs */
};

struct token {
    struct token_span bytes; /* what it decodes to */
    struct token_span text;  /* as files have it */
    bool special;
    bool whole; /* merging its own bytes gives it: text that equals it needs no merging */
};

struct token_slot {
    uint32_t hash;
    token_id id; /* TOKEN_NONE: free */
};

struct token_table {
    int n_tokens, n_merges;
    struct token *tokens;      /* [n_tokens]; n == 0 for a hole */
    char *bytes, *texts;       /* blobs */
    struct token_span *merges; /* [n_merges], in texts */
    struct token_slot *slots;  /* [mask + 1], by bytes */
    uint32_t mask;
    struct bpe bpe;
    token_id of_byte[256];   /* TOKEN_NONE for a byte the vocabulary lacks */
    uint32_t longest;        /* bytes of the longest token that is not special */
    uint32_t *special_sizes; /* [n_special_sizes], descending, without repeats */
    int n_special_sizes;
    bool special_head[256]; /* bytes that begin a special token */
};

/* Of a zeroed one; copies what it needs. Errors as tokenizer_new; then too it is to be released. */
int token_table_init(struct token_table *t, const struct vocab *v);
void token_table_release(struct token_table *t);
/* The ids of the single bytes; ERR_RANGE, without a sentence, for a byte without one. */
int token_table_spell(const struct token_table *t, token_id *ids, const char *text, size_t n);

/* The token of exactly these bytes, special or not; TOKEN_NONE. */
static inline token_id token_table_find(const struct token_table *t, const char *bytes, size_t n)
{
    uint32_t hash = byte_hash(bytes, n);
    for (uint32_t i = hash & t->mask;; i = (i + 1) & t->mask) {
        const struct token_slot *s = &t->slots[i];
        if (s->id == TOKEN_NONE)
            return TOKEN_NONE;
        const struct token_span *b = &t->tokens[s->id].bytes;
        if (s->hash == hash && b->n == n && memcmp(t->bytes + b->at, bytes, n) == 0)
            return s->id;
    }
}

#endif
