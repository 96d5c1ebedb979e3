#ifndef PRATTLE_MODEL_TOKENIZER_TOKEN_TABLE_H
#define PRATTLE_MODEL_TOKENIZER_TOKEN_TABLE_H
/*
 * A vocabulary for encoding and decoding: tokens by id and by their bytes, merges by their pair.
 */
#include "model/tokenizer/bpe.h"
#include "model/tokenizer/byte_hash.h"
#include "model/tokenizer/pieces.h"
#include "model/tokenizer/vocab.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

struct token_span {
    uint32_t at, n; /* within one of the two blobs */
};

struct token {
    struct token_span bytes; /* the bytes that it decodes to */
    struct token_span text;  /* its text in files (byte_text.h) */
    bool special;
};

struct token_slot {
    uint32_t hash;
    token_id id; /* TOKEN_NONE: free */
};

struct token_table {
    int n_tokens, n_merges;
    struct token *tokens;      /* [n_tokens]; a hole has no bytes */
    atomic_bool *whole;        /* [n_tokens]: merging its bytes has given the token itself, so a
                                  pre-token that equals it needs no merging; set by encoders */
    char *bytes, *texts;       /* blobs */
    size_t blob_bytes;         /* of both */
    struct token_span *merges; /* [n_merges], in texts */
    struct token_slot *slots;  /* [mask + 1], by bytes */
    uint32_t mask;
    struct bpe bpe;
    token_id of_byte[256];   /* TOKEN_NONE: the vocabulary lacks the byte */
    uint32_t longest;        /* bytes of the longest ordinary token */
    uint32_t *special_sizes; /* [n_special_sizes], descending, without repeats */
    int n_special_sizes;
    bool special_head[256]; /* the bytes with which special tokens begin */
};

/* Fill a zeroed table; copies what it needs. Fails as tokenizer_new; to be released also then. */
int token_table_init(struct token_table *t, const struct vocab *v);
/* The same of pieces: without merges. Of several with the same bytes the first is found. */
int token_table_init_pieces(struct token_table *t, const struct piece_vocab *p);
void token_table_release(struct token_table *t);
size_t token_table_bytes(const struct token_table *t); /* of all that it owns */
/*
 * ids [n], of which *n_ids are set: the tokens of the single bytes, and of a character in UTF-8
 * that has a byte without a token, its own: vocabularies of characters have such. ERR_RANGE,
 * without a message: there is neither for byte *n_ids.
 */
int token_table_spell(const struct token_table *t, token_id *ids, size_t *n_ids, const char *text,
                      size_t n);

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
