#ifndef PRATTLE_WEIGHTS_SOURCE_H
#define PRATTLE_WEIGHTS_SOURCE_H
/*
 * A place weights come from, whatever its format: a Hugging Face folder (safetensors
 * or pytorch_model.bin, whole or sharded), one such file beside its config.json, a
 * GGUF file, or a random initialisation. After source_open everything has been
 * checked: names, types, shapes against the configuration, bytes against shapes,
 * offsets against the file. Reading can then fail only where the file changes.
 */
#include "model/base/progress.h"
#include "model/model.h"
#include "model/params.h"
#include "model/tokenizer/tokenizer.h"

struct source {
    struct config config;
    struct params table;           /* params_describe of config: names, kinds, shapes */
    struct tensor_reader *readers; /* [table.n_tensors], in the table's order */
    enum dtype dtype;              /* of the matrices (the first one's, when mixed) */
    uint64_t stamp;                /* of the files that have the weights; 0: there are none */
    struct tokenizer *tokenizer;   /* NULL when it has none */
    bool tokenizer_borrowed;       /* it is the model's: source_open_model */
    char *name;
    char *defaults;            /* settings, as YAML text (an HF folder's prattle.yaml or
                                  generation_config.json), or NULL */
    const char *defaults_file; /* which of these, for sentences; static */
    void *format;              /* the format's own state: open files, headers */
    void (*close)(void *format);
};

/*
 * path: a folder, model.safetensors, *.index.json, *.bin, *.gguf, bundled, random:NAME,
 * an adapter's folder (merged into the base it names), random:config.json (seed for these),
 * random:NAME,n_layer=4,vocab_size=512,tokenizer=PATH with other sizes, or the vocabulary of what
 * is at PATH (vocab_padded=512: unless that has 512 tokens or less than 128 fewer, its size).
 * Warnings go to progress. What has a vocabulary but no weights (a GGUF file, a folder) opens with
 * source->table empty when need_weights is false, else ERR_MISSING.
 */
int source_open(struct source *s, const char *path, uint64_t seed, bool need_weights,
                const struct progress *p);
void source_close(struct source *s);

/* The formats; each fills a zeroed source as above. */
int source_open_hf(struct source *s, const char *path, bool need_weights, const struct progress *p);
int source_open_gguf(struct source *s, const char *path, bool need_weights,
                     const struct progress *p);
int source_open_random(struct source *s, const char *name, uint64_t seed);
/* A source that reads the parameters of a model in memory (weights that changed). */
int source_open_model(struct source *s, const struct model *m);
/* That, or the files m was loaded from while they have its weights: another precision is then
 * kept. Says so where they have been written to since. */
int source_of_model(struct source *s, const struct model *m, const struct progress *p);
/* The weights in memory are in these files now. Takes path; NULL changes nothing. */
void source_moved(struct model *m, char *path);
/* The same for other parameters of its shape (training's). */
int source_open_params(struct source *s, const struct params *p, const struct model *m);

#endif
