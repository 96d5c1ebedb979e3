#ifndef PRATTLE_WEIGHTS_HF_VOCAB_WRITE_H
#define PRATTLE_WEIGHTS_HF_VOCAB_WRITE_H
#include "model/tokenizer/tokenizer.h"

/*
 * Write vocab.json, merges.txt and tokenizer.json into an existing folder, and
 * tokenizer_config.json where there is one already or it has something to say. ERR_EXISTS
 * where one of them is there and force is not given. None is replaced before all
 * are written.
 */
int vocab_write_folder(const struct tokenizer *t, const char *folder, bool force);
/* What vocab_write_folder would say, before there is anything to write. */
int vocab_check_folder(const char *folder, bool force);

#endif
