#ifndef PRATTLE_MODEL_TOKENIZER_BPE_TRAIN_H
#define PRATTLE_MODEL_TOKENIZER_BPE_TRAIN_H
/*
 * Training of GPT-2's byte-level BPE: the merges that BpeTrainer of Hugging Face's
 * tokenizers learns from the same texts, with its ByteLevel pretokenizer without a
 * prefix space, <|endoftext|> as the one special token and all 256 bytes as the
 * initial alphabet. So <|endoftext|> is 0, the bytes are 1 to 256 in the order of
 * their signs in GPT-2's alphabet, and tokens follow as they are made.
 *
 * The pair of the highest count is merged, of several the one with the smallest ids.
 * The trainer's queue is followed: an entry holds the words in which its pair came up in
 * one step, and takes the pair's present count when it reaches the head. What the library
 * leaves to the order of its hash tables (two entries alike) never comes up: merged from
 * left to right everywhere, a text between two token bounds always parses alike, so no
 * token is made twice and no pair queued twice. Counts do not wrap at 2^31. Hence the
 * order of the texts makes no difference.
 */
#include "model/base/progress.h"
#include "model/tokenizer/bpe_words.h"
#include "model/tokenizer/tokenizer.h"

#include <stdint.h>

enum { BPE_MIN_VOCAB = 257, BPE_MAX_VOCAB = 10000000 };

struct bpe_train_config {
    int vocab_size;        /* BPE_MIN_VOCAB to BPE_MAX_VOCAB */
    int64_t min_frequency; /* pairs of a lower count are not merged */
};
void bpe_train_config_init(struct bpe_train_config *c);

/*
 * Learn merges until there are vocab_size tokens or no pair is left; fewer tokens get a note. The
 * words are consumed, also on failure. ERR_RANGE: settings out of range; ERR_FORMAT: no words;
 * ERR_INTERRUPTED.
 */
int bpe_train(struct tokenizer **out, struct bpe_words *w, const struct bpe_train_config *c,
              const struct progress *p);

#endif
