#ifndef PRATTLE_MODEL_MODEL_H
#define PRATTLE_MODEL_MODEL_H
/*
 * A model in memory: shape, parameters, tokenizer, and where it came from.
 */
#include "model/params.h"
#include "model/tokenizer/tokenizer.h"

struct model {
    char *name;            /* for people: the last part of the path, or general.name */
    char *source;          /* what was loaded ("random:gpt2", a path); :save reads it again */
    uint64_t source_stamp; /* of its files, as weights/tensors/source.h has it */
    struct config config;
    struct params params;
    struct tokenizer *tokenizer;   /* NULL: a folder without tokenizer files; ids only */
    enum dtype file_dtype;         /* of the matrices in the source */
    uint64_t version;              /* rises whenever a weight changes; caches carry it */
    bool changed;                  /* weights differ from the source, not saved */
    unsigned char fingerprint[32]; /* valid when fingerprint_version == version */
    uint64_t fingerprint_version;
    struct adapter *adapter;   /* model/adapter_switch.h; NULL: none */
    char *defaults;            /* settings stored with the model, as YAML text; NULL: none */
    const char *defaults_file; /* what they were read from, for sentences; static, or NULL */
};

void model_free(struct model *m);
/* "fp16" or "fp32": of the weights in memory. */
const char *model_precision(const struct model *m);
/* SHA-256 of the weights, computed when first asked after a change; borrowed. */
const unsigned char *model_fingerprint(struct model *m);

#endif
