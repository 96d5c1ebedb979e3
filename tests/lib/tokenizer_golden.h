#ifndef PRATTLE_TESTS_TOKENIZER_GOLDEN_H
#define PRATTLE_TESTS_TOKENIZER_GOLDEN_H
/* What tests/golden/tokenizer_oracle.py says, for the tokenizer's tests. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/mem.h"
#include "weights/hf/vocab.h"

#define GOLDEN "tests/golden/tokenizer/"

json_t *golden_json(const char *path);
struct tokenizer *golden_tokenizer(const char *merges);

/* DATA's folder, or NULL after saying what is left out. */
const char *golden_data(const char *what);

#endif
