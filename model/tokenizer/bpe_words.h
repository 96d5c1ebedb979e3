#ifndef PRATTLE_MODEL_TOKENIZER_BPE_WORDS_H
#define PRATTLE_MODEL_TOKENIZER_BPE_WORDS_H
/*
 * The words of a text as GPT-2's pretokenizer cuts it, each once, with how often it was
 * there: what a BPE is learned from.
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
    struct buf bytes;      /* the words' bytes, one behind the other */
    struct bpe_word *list; /* [n], in the order they were first met; owned */
    size_t n, cap;
    struct bpe_slot *slots; /* [mask + 1], by bytes; owned */
    size_t mask;
};
void bpe_words_release(struct bpe_words *w);

/* The index of these n >= 1 bytes, put there with a count of 0 if they are new. */
int bpe_words_find(struct bpe_words *w, size_t *index, const char *word, size_t n);

/*
 * Count the words of n bytes, which are a text or a piece of one that ends where a word
 * always does. <|endoftext|> ends a text and is no part of it. After ERR_NOMEM some words
 * are counted.
 */
int bpe_words_add(struct bpe_words *w, const char *text, size_t n);

#endif
