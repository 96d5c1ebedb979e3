#ifndef PRATTLE_TRAIN_DATA_TOKEN_NOTE_H
#define PRATTLE_TRAIN_DATA_TOKEN_NOTE_H
/*
 * Which tokenizer the ids of a file are of: an extended attribute of the file, since its bytes are
 * a format of other programs that has no place for it. It goes where the file is moved; file
 * systems without attributes and plain copies have none.
 */
#include "model/base/sha256.h"
#include "model/tokenizer/tokenizer.h"

enum { TOKEN_NOTE_NAME = 2000 };
struct token_note {
    char hash[SHA256_HEX];      /* of the tokenizer */
    char name[TOKEN_NOTE_NAME]; /* what it was opened by: a path from the root, or another name; "":
                                   there is no note */
};

/* Of a tokenizer that was opened by this name; a name that is too long makes none. ERR_NOMEM. */
int token_note_make(struct token_note *n, const char *name, const struct tokenizer *t);
/* Of the open file, where its file system can. */
void token_note_write(const struct token_note *n, int fd);
/* The note of the files of a data set, as data_config.data has it: only if all have the same. */
void token_note_read(struct token_note *n, const char *data);
/* Whether this is the tokenizer. ERR_NOMEM. */
int token_note_compare(bool *same, const struct token_note *n, const struct tokenizer *t);

#endif
