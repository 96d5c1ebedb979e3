#ifndef PRATTLE_WEIGHTS_LLMC_SOURCE_LLMC_H
#define PRATTLE_WEIGHTS_LLMC_SOURCE_LLMC_H
/* A model of llm.c as a source of weights; its tokenizer is that of files beside it. */
#include "model/base/file.h"
#include "model/base/progress.h"
#include "weights/tensors/save_config.h"
#include "weights/tensors/source.h"

/* file is open; s takes it over, or it is closed on failure. */
int source_open_llmc(struct source *s, struct file file, const struct progress *p);
/*
 * Write one, in fp32, or in bf16 where all of the source is bf16. Atomic: on failure nothing on
 * disk is changed. ERR_EXISTS without c->force; ERR_UNSUPPORTED: what llm.c cannot compute, or
 * fp16.
 */
int source_save_llmc(struct source *s, const char *path, const struct save_config *c,
                     const struct progress *p);

#endif
