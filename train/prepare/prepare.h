#ifndef PRATTLE_TRAIN_PREPARE_PREPARE_H
#define PRATTLE_TRAIN_PREPARE_PREPARE_H
/*
 * Texts, or token files, to data for training, in two steps: the documents are encoded into a store
 * on disk (store.h), in their order; then they are dealt to the files that training reads, in
 * another order where one is wanted, without the duplicates, and split. Memory does not grow with
 * the texts, and the bytes do not depend on the number of threads. Work that was interrupted goes
 * on from the store; files take their places when all of them are whole.
 */
#include "model/base/progress.h"
#include "model/tokenizer/tokenizer.h"
#include "train/prepare/output.h"
#include "train/prepare/prepare_config.h"

struct prepare_report {
    enum output_format format;
    uint64_t documents, text_bytes;  /* read, with those left out */
    uint64_t tokens;                 /* the same where IN has tokens, without end-of-text tokens */
    uint64_t short_ones, duplicates; /* left out */
    int n_parts;
    struct {
        char path[256];
        uint64_t documents, tokens; /* of JSON lines: bytes of text */
    } parts[PREPARE_PARTS];
    bool unmoved, joins; /* of tokens: as of convert_report */
    bool went_on;        /* from the store of interrupted work */
    bool stays;          /* after a failure: the store, from which the same call goes on */
};

/*
 * in       paths as data_config.data has them, all of texts or all of tokens
 * t        from texts to JSON lines, and between token files, it may be NULL; every token of a file
 *          must be one of its
 * returns  0; ERR_MISSING, ERR_FORMAT, ERR_RANGE, ERR_EXISTS (without force, or where IN has a
 *          folder of tokens with OUT in it), ERR_IO, ERR_INTERRUPTED: the same call goes on, also
 *          when a file that is at fault has been mended or taken away
 */
int prepare_run(struct prepare_report *report, const struct prepare_config *c, const char *in,
                const char *out, const struct tokenizer *t, bool force, const struct progress *p);

#endif
