#ifndef PRATTLE_MODEL_TOKENIZER_BPE_WORDS_H
#define PRATTLE_MODEL_TOKENIZER_BPE_WORDS_H
/*
 * The distinct pre-tokens of a text (pretokenize.h), with counts: the input of BPE training.
 */
#include "model/base/buf.h"

#include <stdint.h>

#define BPE_END_OF_TEXT "<|endoftext|>"

struct bpe_word {
    size_t at, n; /* in the bytes */
    uint64_t count;
};

/* Zeroed to begin with. */
struct bpe_words {
    struct buf bytes;      /* the words' bytes, one after another */
    struct bpe_word *list; /* [n], in order of first occurrence; owned */
    size_t n, cap;
    struct bpe_slot *slots; /* [mask + 1], by bytes; owned */
    size_t mask;
};
void bpe_words_release(struct bpe_words *w);

/* The index of a word of n >= 1 bytes, added with a count of 0 if it is new. ERR_NOMEM, ERR_RANGE.
 */
int bpe_words_find(struct bpe_words *w, size_t *index, const char *word, size_t n);

/*
 * Count the words of n bytes: texts separated by <|endoftext|>, or a part of one that ends at a
 * word boundary. After ERR_NOMEM some of the words are counted.
 */
int bpe_words_add(struct bpe_words *w, const char *text, size_t n);

#endif
