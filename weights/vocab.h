#ifndef PRATTLE_VOCAB_H
#define PRATTLE_VOCAB_H
/*
 * GPT-2's tokenizer files: vocab.json and merges.txt, as OpenAI wrote them, and
 * tokenizer.json, as Hugging Face's tokenizers library writes it.
 */
#include "model/base/progress.h"
#include "model/config.h"
#include "model/tokenizer.h"

/*
 * The tokenizer of a folder; vocab.json with merges.txt goes before tokenizer.json.
 * *out is NULL with 0 when the folder has none of these files. c may be NULL; else its
 * special ids count, and a tokenizer with more tokens than c->n_vocab is refused
 * (ERR_MISMATCH), one with fewer gets a note.
 */
int vocab_open_folder(struct tokenizer **out, const char *folder, const struct config *c,
                      const struct progress *p);

/* The same from texts in memory (names only for the sentences). json and merges: the
 * two files of OpenAI; merges NULL, 0: json is a tokenizer.json. */
int vocab_parse(struct tokenizer **out, const char *json, size_t n_json, const char *merges,
                size_t n_merges, const struct config *c, const struct progress *p);

/* Write vocab.json, merges.txt and tokenizer.json, so that transformers opens them.
 * ERR_EXISTS without force; each file is whole or not there. */
int vocab_write_folder(const struct tokenizer *t, const char *folder, bool force);

#endif
