#ifndef PRATTLE_WEIGHTS_TENSORS_SOURCE_H
#define PRATTLE_WEIGHTS_TENSORS_SOURCE_H
/*
 * A place weights come from, whatever its format: a Hugging Face folder (safetensors
 * or pytorch_model.bin, whole or sharded), one such file beside its config.json, a
 * GGUF file, a random initialisation, or a model in memory. Once it is open everything
 * has been checked: names, types, shapes against the configuration, bytes against
 * shapes, offsets against the file. Reading can then fail only where the file changes.
 */
#include "model/params.h"
#include "model/tokenizer/tokenizer.h"

struct source {
    struct config config;
    struct params table;           /* params_describe of config: names, kinds, shapes */
    struct tensor_reader *readers; /* [table.n_tensors], in the table's order */
    enum dtype dtype;              /* of the matrices (the first one's, when mixed) */
    uint64_t stamp;                /* of the files that have the weights; 0: there are none */
    struct tokenizer *tokenizer;   /* NULL when it has none */
    bool tokenizer_borrowed;       /* it is a model's in memory */
    char *name;
    char *defaults;            /* settings, as YAML text (an HF folder's prattle.yaml or
                                  generation_config.json), or NULL */
    const char *defaults_file; /* which of these, for sentences; static */
    void *format;              /* the format's own state: open files, headers */
    void (*close)(void *format);
};

/* Also of a zeroed or half-filled one. */
void source_close(struct source *s);

#endif
