#ifndef PRATTLE_MODEL_MODEL_H
#define PRATTLE_MODEL_MODEL_H
/*
 * A model in memory: configuration, parameters, tokenizer and provenance.
 */
#include "model/params_hash.h"
#include "model/tokenizer/tokenizer.h"

enum { MODEL_TYPES = 96 };

struct model {
    char *name;   /* for display: the last component of the path, or general.name in GGUF; owned */
    char *source; /* what was loaded: a path, or "random:gpt2"; saving may read it again; owned */
    uint64_t source_stamp; /* of the source's files (source.h), by which a change is detected */
    struct config config;
    struct params params;
    struct tokenizer *tokenizer;  /* NULL: the source has none, and only token ids work; owned */
    char file_types[MODEL_TYPES]; /* of the matrices in the source (source_types) */
    uint64_t version; /* incremented whenever a weight changes; caches are valid for one version */
    bool narrower;    /* they are in q8, which the source is not: it was written from them */
    bool changed;     /* the weights differ from the source and are not saved */
    unsigned char fingerprint[32]; /* valid when fingerprint_version == version */
    uint64_t fingerprint_version;
    struct adapter *adapter;   /* model/adapter_switch.h; NULL: none; owned */
    char *defaults;            /* the settings stored with the model, as YAML; NULL: none; owned */
    const char *defaults_file; /* the name of their file, for messages; a literal, or NULL */
    struct kept_files kept; /* of a Hugging Face folder: config.json, generation_config.json */
};

void model_free(struct model *m); /* accepts NULL */
/* The precision of the weights in memory: "fp16" or "fp32". */
const char *model_precision(const struct model *m);
/* SHA-256 [32] of configuration and weights, computed once for each version; borrowed. NULL only
 * where layers are read from a file (layer_stream.h), and cannot be. */
const unsigned char *model_fingerprint(struct model *m);

#endif
