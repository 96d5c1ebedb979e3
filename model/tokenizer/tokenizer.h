#ifndef PRATTLE_MODEL_TOKENIZER_TOKENIZER_H
#define PRATTLE_MODEL_TOKENIZER_TOKENIZER_H
/*
 * GPT-2's byte-level BPE (Radford et al. 2019; Sennrich et al. 2016): the pretokenizer divides a
 * text, and each pre-token's bytes are merged by rank. Any bytes can be encoded, valid UTF-8 or
 * not, and decode(encode(b)) = b, except for the space that add_prefix_space inserts.
 *
 * Or another vocabulary, of pieces that a library encodes (pieces.h), which may normalize a text
 * first.
 */
#include "model/base/buf.h"
#include "model/base/ids.h"
#include "model/base/kept_files.h"
#include "model/tokenizer/pieces.h"
#include "model/tokenizer/vocab.h"

#include <stdbool.h>
#include <stddef.h>

struct tokenizer;
struct word_cache;

/*
 * A tokenizer from a vocabulary; copies what it needs. ERR_FORMAT: a merge whose parts or result
 * are no token, a text outside the byte alphabet, two equal texts. A vocabulary without a token for
 * some byte is legal: that byte cannot be encoded (see tokenizer_encode) but in characters of UTF-8
 * that have a token of their own.
 */
int tokenizer_new(struct tokenizer **out, const struct vocab *v);
/* Of pieces: copies the list and the file; p->user is its own from then on, also after a failure.
 */
int tokenizer_new_pieces(struct tokenizer **out, const struct piece_vocab *p);
void tokenizer_free(struct tokenizer *t);

/*
 * add_prefix_space works as in ByteLevel of Hugging Face's tokenizers: a text, and what follows a
 * special token in it, is encoded with a space before it, unless it is empty or begins with a
 * space. ENCODE_GOES_ON: the text continues another one, so none is inserted at its beginning.
 * ENCODE_PART: and together they are one text, which was cut before a space or line break: where
 * SentencePiece joins the spaces of a text, it does here too.
 */
enum {
    ENCODE_TEXT = 0,
    ENCODE_SPECIAL = 1, /* special tokens in the text are encoded as such */
    ENCODE_GOES_ON = 2,
    ENCODE_PART = 4 | ENCODE_GOES_ON
};
/*
 * Append the ids of n bytes. ERR_RANGE shows a character that the vocabulary cannot encode (small
 * character vocabularies); out is then unchanged.
 */
int tokenizer_encode(const struct tokenizer *t, struct ids *out, const char *text, size_t n,
                     int flags);
/* The same ids, for those who encode many texts or long ones: words that come again are taken from
 * the cache (word_cache.h). ERR_NOMEM too. */
int tokenizer_encode_much(const struct tokenizer *t, struct word_cache *cache, struct ids *out,
                          const char *text, size_t n, int flags);
/* Bytes of its tables. */
size_t tokenizer_memory(const struct tokenizer *t);
/* Append the bytes of ids [n]. Ids outside the vocabulary add nothing. */
int tokenizer_decode(const struct tokenizer *t, struct buf *out, const token_id *ids, size_t n);
/* The bytes of one token, borrowed; NULL and *n = 0: a hole, or an id out of range. */
const char *tokenizer_bytes(const struct tokenizer *t, token_id id, size_t *n);

struct token_order;
/* Its tokens in the order of their bytes (token_order.h): sorted when first asked for, by any
 * thread, and the tokenizer's. ERR_NOMEM. */
int tokenizer_order(const struct tokenizer *t, const struct token_order **out);

/* Whether both encode and decode all texts alike: the same tokens, merges and special tokens.
 * Either may be NULL, none, which is like no other. */
bool tokenizer_same(const struct tokenizer *a, const struct tokenizer *b);
int tokenizer_size(const struct tokenizer *t);
bool tokenizer_is_special(const struct tokenizer *t, token_id id);
/* Bytes of the longest special token; 0: there is none. */
size_t tokenizer_special_bytes(const struct tokenizer *t);
/* Whether a special token in n bytes of text begins before byte k and does not end before it. */
bool tokenizer_special_reaches(const struct tokenizer *t, const char *text, size_t n, size_t k);
bool tokenizer_adds_prefix_space(const struct tokenizer *t);
bool tokenizer_begins(const struct tokenizer *t);  /* begins of struct vocab */
token_id tokenizer_eos(const struct tokenizer *t); /* TOKEN_NONE: none */
/* The id of the token with exactly this text in files (the byte alphabet; special tokens
 * literally); TOKEN_NONE: none. */
token_id tokenizer_find(const struct tokenizer *t, const char *text, size_t n);
/* The file of a tokenizer of pieces, n bytes, borrowed; NULL: it is byte-level BPE. */
const char *tokenizer_file(const struct tokenizer *t, size_t *n);
/* Keep a copy of a file that it came from; the name is a literal. ERR_NOMEM. */
int tokenizer_keep(struct tokenizer *t, const char *name, const char *bytes, size_t n);
/* The files that it was given to keep, borrowed: written as they are, they are this tokenizer. */
const struct kept_files *tokenizer_kept(const struct tokenizer *t);
/* For writing files: a token's text (NULL: a hole), and the merges by rank; borrowed. */
const char *tokenizer_text(const struct tokenizer *t, token_id id);
int tokenizer_merges(const struct tokenizer *t);
const char *tokenizer_merge(const struct tokenizer *t, int rank); /* "left right" */

#endif
