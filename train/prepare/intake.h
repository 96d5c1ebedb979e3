#ifndef PRATTLE_TRAIN_PREPARE_INTAKE_H
#define PRATTLE_TRAIN_PREPARE_INTAKE_H
/*
 * The documents of texts into a store. One thread reads and writes, in the order of the texts,
 * while the team encodes what was read before.
 */
#include "model/base/progress.h"
#include "model/tokenizer/tokenizer.h"
#include "train/data/source.h"
#include "train/prepare/store.h"

struct intake {
    const struct data_source *list; /* [n], borrowed, as are the next four */
    size_t n;
    const uint64_t *texts; /* [n + 1]: what the first i of them are known by, below 2^63 */
    const char *separator, *field;
    bool special;                      /* special tokens are read as such */
    const struct tokenizer *tokenizer; /* NULL: the store gets text */
    bool hash, near;                   /* marks of duplicates: store_mark's hash, both */
    uint64_t min_length;               /* characters */
    size_t record_max;                 /* bytes of a line, a record or a word */
    uint64_t most_tokens;              /* that can be written */
    double save_every_s;               /* what is lost at most when the process is killed */
    const struct progress *progress;
};
/*
 * Read from *place on to the end of the texts; *place is then complete. On ERR_INTERRUPTED what
 * there is was saved; where a text is at fault, what came of the texts before it. ERR_FORMAT,
 * ERR_RANGE (a text that the tokenizer cannot encode), ERR_IO, ERR_NOMEM.
 */
int intake_run(const struct intake *t, struct store *s, struct store_place *place);

#endif
