#ifndef PRATTLE_WEIGHTS_HF_VOCAB_WRITE_H
#define PRATTLE_WEIGHTS_HF_VOCAB_WRITE_H
#include "model/tokenizer/tokenizer.h"

/*
 * Write vocab.json, merges.txt and tokenizer.json into an existing folder, and
 * tokenizer_config.json if there is one already, the tokenizer adds a prefix space, or `begin` is a
 * token that texts begin with (TOKEN_NONE: none), which both then say. ERR_EXISTS:
 * one of them exists, without force. None is replaced before all are written. Of a tokenizer of
 * SentencePiece, tokenizer.model alone. Of one that was read from a folder, that folder's files of
 * it, byte for byte, and no others.
 */
int vocab_write_folder(const struct tokenizer *t, token_id begin, const char *folder, bool force);
/* Check in advance whether vocab_write_folder would fail. */
int vocab_check_folder(const char *folder, bool force);

#endif
