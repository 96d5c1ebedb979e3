#ifndef PRATTLE_TRAIN_PREPARE_CONVERT_H
#define PRATTLE_TRAIN_PREPARE_CONVERT_H
/*
 * Token files from one format to another, document by document, to the last id.
 */
#include "model/base/progress.h"
#include "model/tokenizer/tokenizer.h"
#include "train/prepare/output.h"

struct convert_report {
    enum output_format format;
    char path[256];
    uint64_t documents, tokens; /* of JSON lines: bytes of text */
    bool unsplit; /* documents whose ends only a tokenizer with an end-of-text token says are one */
    bool unmoved; /* llm.c's documents begin with the end-of-text token, others end with it: it is
                     not known, and stays where it is */
    bool joins;   /* the format has no bounds but the end-of-text token, and documents lack it */
};
/*
 * in   one data set, as data_config.data has it
 * f    OUTPUT_FORMATS: by the name of out
 * t    needed for JSON lines, whose texts are the documents without the end-of-text token; where it
 *      is given, every id must be one of its
 * ERR_FORMAT: in is a text; ERR_RANGE: ids that t or the format does not have; ERR_EXISTS without
 * force, or where a folder is read that has OUT; ERR_IO, ERR_INTERRUPTED.
 */
int convert_run(struct convert_report *r, enum output_format f, const char *in, const char *out,
                const struct tokenizer *t, bool force, const struct progress *p);

#endif
