#ifndef PRATTLE_WEIGHTS_FOREIGN_META_VOCAB_H
#define PRATTLE_WEIGHTS_FOREIGN_META_VOCAB_H
/* nanoGPT's meta.pkl (data/shakespeare_char/prepare.py): a vocabulary of characters. */
#include "model/base/progress.h"
#include "model/config.h"
#include "model/tokenizer/tokenizer.h"

/* The tokenizer of a folder's meta.pkl; *out NULL: it has none. ERR_MISMATCH: more characters than
 * the model has tokens. Tokens of several characters, which the tokenizer can write but not
 * read, get a note. */
int meta_vocab_open(struct tokenizer **out, const char *folder, const struct config *c,
                    const struct progress *p);

/* The same beside a file of tokens: in its folder. *path: of the meta.pkl, in fresh memory. Both
 * NULL: there is none with characters. ERR_NOMEM. */
int meta_vocab_beside(struct tokenizer **out, char **path, const char *file);

#endif
