#ifndef PRATTLE_MODEL_TOKENIZER_TOKENIZER_H
#define PRATTLE_MODEL_TOKENIZER_TOKENIZER_H
/*
 * GPT-2's byte-level BPE (Radford et al. 2019; Sennrich et al. 2016): the text is cut
 * by the pretokenizer, each pre-token's bytes are merged by rank. Any bytes can be
 * encoded, valid UTF-8 or not, and decode(encode(b)) = b, but for a space that
 * add_prefix_space puts before it.
 */
#include "model/base/buf.h"
#include "model/base/ids.h"
#include "model/tokenizer/vocab.h"

#include <stdbool.h>
#include <stddef.h>

struct tokenizer;

/*
 * Copies what it needs. ERR_FORMAT: a merge whose parts or result are no token, a
 * text outside the byte alphabet, a text twice. A missing single byte is legal: its
 * bytes are then left out of what can be encoded (see tokenizer_encode).
 */
int tokenizer_new(struct tokenizer **out, const struct vocab *v);
void tokenizer_free(struct tokenizer *t);

/*
 * add_prefix_space, as ByteLevel of Hugging Face's tokenizers has it: a text, and what stands
 * behind a special token in it, is read with a space before it unless it begins with one or is
 * empty. ENCODE_GOES_ON: this goes on from other text, so that its own beginning has none.
 */
enum {
    ENCODE_TEXT = 0,
    ENCODE_SPECIAL = 1, /* special tokens in the text count as such */
    ENCODE_GOES_ON = 2
};
/*
 * Append the ids of n bytes. A byte that the vocabulary cannot say (small character
 * vocabularies) is an ERR_RANGE that shows it; out is then unchanged.
 */
int tokenizer_encode(const struct tokenizer *t, struct ids *out, const char *text, size_t n,
                     int flags);
/* Bytes of its tables. */
size_t tokenizer_memory(const struct tokenizer *t);
/* Append the bytes of ids. Ids outside the vocabulary give nothing. */
int tokenizer_decode(const struct tokenizer *t, struct buf *out, const token_id *ids, size_t n);
/* The bytes of one token, borrowed; NULL, 0 for a hole or an id out of range. */
const char *tokenizer_bytes(const struct tokenizer *t, token_id id, size_t *n);

int tokenizer_size(const struct tokenizer *t);
bool tokenizer_is_special(const struct tokenizer *t, token_id id);
bool tokenizer_adds_prefix_space(const struct tokenizer *t);
token_id tokenizer_eos(const struct tokenizer *t); /* TOKEN_NONE when there is none */
/* The id whose text as files have it (the byte alphabet; special tokens literally) is
 * exactly this; TOKEN_NONE. */
token_id tokenizer_find(const struct tokenizer *t, const char *text, size_t n);
/* For writing files: the token's text as they have it (NULL for a hole), and the merges
 * by rank; borrowed. */
const char *tokenizer_text(const struct tokenizer *t, token_id id);
int tokenizer_merges(const struct tokenizer *t);
const char *tokenizer_merge(const struct tokenizer *t, int rank); /* "left right" */

#endif
