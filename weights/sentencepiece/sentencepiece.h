#ifndef PRATTLE_WEIGHTS_SENTENCEPIECE_SENTENCEPIECE_H
#define PRATTLE_WEIGHTS_SENTENCEPIECE_SENTENCEPIECE_H
/*
 * SentencePiece's models (Kudo and Richardson 2018) as tokenizers, through libsentencepiece, which
 * is found at run time (face.h).
 */
#include "model/base/progress.h"
#include "model/config.h"
#include "model/tokenizer/tokenizer.h"

/* What the file of such a model is called in a model's folder; NULL-terminated, and the first is
 * written. */
extern const char *const sentencepiece_names[];
/* Whether a file of this name that begins with these bytes is such a model. */
bool sentencepiece_is_file(const char *path, const char *head, size_t n);

/*
 * A tokenizer from the n bytes of a file.
 *
 * c may be NULL; else its end-of-text token counts where it has one, a model with more pieces than
 * c->n_vocab is refused (ERR_MISMATCH), and one with fewer gets a note. ERR_MISSING: the library is
 * not installed, and how to get it. ERR_FORMAT: the library does not take the file.
 */
int sentencepiece_open(struct tokenizer **out, const char *bytes, size_t n, const struct config *c,
                       const struct progress *p);

#endif
