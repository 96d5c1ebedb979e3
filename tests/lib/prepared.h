#ifndef PRATTLE_TESTS_PREPARED_H
#define PRATTLE_TESTS_PREPARED_H
/* Preparing data of the scratch folder (data_set.h), within it. */
#include "tests/lib/data_set.h"
#include "train/prepare/prepare.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* words: of the command, NULL behind the last, or NULL. Replaces what is there. */
int prepare_with(struct prepare_report *r, const char *in, const char *out,
                 const char *const *words, const struct tokenizer *t, const struct progress *p);
/* The k-th allocation fails, for each k, until all is done, with so many documents: a sentence, no
 * file of this name, and nothing is lost (ASan). */
void prepare_without_memory(const char *in, const char *out, const char *const *words,
                            const char *file, uint64_t documents);

#endif
