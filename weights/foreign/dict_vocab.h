#ifndef PRATTLE_WEIGHTS_FOREIGN_DICT_VOCAB_H
#define PRATTLE_WEIGHTS_FOREIGN_DICT_VOCAB_H
/*
 * fairseq's dict.txt: a line "SYMBOL COUNT" for each id from 4 on, behind <s>, <pad>, </s> and
 * <unk>; the symbols are the ids of GPT-2's tokens in decimal (examples/language_model with the
 * gpt2 encoder).
 */
#include "model/base/progress.h"
#include "model/config.h"
#include "model/tokenizer/tokenizer.h"

/*
 * The tokenizer of a folder with a dict.txt and GPT-2's vocab.json and merges.txt, or encoder.json
 * and vocab.bpe as fairseq calls them; *out NULL: without a dict.txt, and, with a note, without the
 * others. ERR_MISMATCH: more symbols than the model has tokens.
 */
int dict_vocab_open(struct tokenizer **out, const char *folder, const struct config *c,
                    const struct progress *p);

#endif
