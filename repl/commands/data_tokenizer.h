#ifndef PRATTLE_REPL_COMMANDS_DATA_TOKENIZER_H
#define PRATTLE_REPL_COMMANDS_DATA_TOKENIZER_H
/*
 * The tokenizer that `data` encodes and reads with: the one named by tokenizer=PATH, else that of
 * the model in memory or of the one that is named. No weights are read for it.
 */
#include "repl/commands/command.h"
#include "train/data/token_note.h"
#include "weights/tensors/source.h"

struct data_tokenizer {
    const struct tokenizer *tokenizer; /* borrowed; NULL: none */
    int n_vocab;                       /* of the model where there is one; 0: none is known */
    bool has_model;                    /* else n_vocab is the tokenizer's */
    char *name;                        /* what it was opened by; owned */
    struct source source;
};
/* Whether one is named; in the shell the model that ships is not. path: of tokenizer=, "": none. */
bool data_tokenizer_is_named(const struct repl *r, const char *path);
/* Open it; the model that ships serves where none is named. None at all is no error, but a path
 * without a tokenizer is: ERR_MISSING. */
int data_tokenizer_open(struct data_tokenizer *d, const struct repl *r, const char *path);
/* The one that a data set's files are noted to be of (token_note.h), if it is here, and has not
 * changed: else *d is zeroed. Nothing is downloaded for it. ERR_NOMEM. */
int data_tokenizer_open_noted(struct data_tokenizer *d, const struct repl *r,
                              const struct token_note *n);
void data_tokenizer_close(struct data_tokenizer *d);
/* How many words of a call stand before a last one tokenizer=PATH; *path is borrowed, "" where
 * there is none. */
int data_tokenizer_take(const struct call *c, const char **path);

#endif
