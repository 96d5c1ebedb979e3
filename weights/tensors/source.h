#ifndef PRATTLE_WEIGHTS_TENSORS_SOURCE_H
#define PRATTLE_WEIGHTS_TENSORS_SOURCE_H
/*
 * A source of weights, whatever its format: a Hugging Face folder (safetensors or
 * pytorch_model.bin, whole or sharded), one such file next to its config.json, a GGUF file, a
 * random initialization, or a model in memory. Opening checks everything: names, types, shapes
 * against the configuration, bytes against shapes, offsets against the file. Reading then fails
 * only if a file changes.
 */
#include "model/base/file.h"
#include "model/model.h"

struct source {
    struct config config;
    struct params table;           /* params_describe of config: names, kinds, shapes */
    struct tensor_reader *readers; /* [table.n_tensors], in the table's order */
    enum dtype dtype;              /* of the matrices as read (of the first, if they differ) */
    uint64_t stamp;                /* of the files with the weights (file.h); 0: no files */
    const struct file **files; /* [n_files] with the weights, open; the array is owned. None: the
                                  panels of these weights are not kept (panel_cache.h) */
    int n_files;
    struct tokenizer *tokenizer; /* NULL: none; owned unless borrowed */
    bool in_memory; /* a model's weights as they are there, with its adapter if that is on */
    bool tokenizer_borrowed; /* it belongs to a model in memory */
    char *name;              /* for display; NULL: its file's; owned */
    char *base; /* of the adapter that is merged into what is read: its path; NULL: none; owned */
    char *defaults;            /* stored settings as YAML; NULL: none; owned */
    const char *defaults_file; /* the name of their file, for messages; a literal */
    struct kept_files kept; /* of a Hugging Face folder: config.json, generation_config.json, to be
                               written again */
    struct buf keys; /* of a GGUF file: n_keys of its own, to be written again (gguf_keep.h) */
    uint64_t n_keys;
    struct buf token_types; /* and the types of its tokens, if there is one for each row */
    void *format;           /* the format's state: open files, headers */
    void (*close)(void *format);
};

/* Accepts NULL and zeroed or half-filled sources. */
void source_close(struct source *s);
/* The token that its texts begin with by the settings stored with it, else by its tokenizer;
 * TOKEN_NONE: none. */
token_id source_begin_token(const struct source *s);
/* Whether all matrices are in Q8_0, but for those that it cannot hold (linear_dtype). */
bool source_is_q8(const struct source *s);
/* The types of the matrices by the file's names, that of most elements first: "F16", or "Q4_K, Q6_K
 * and F32". QUANTIZED: only those from which reading computes another type; WIDENED: of these,
 * those that cannot be had as they are (read_q8) either. Returns out. */
enum source_types { SOURCE_TYPES_ALL, SOURCE_TYPES_QUANTIZED, SOURCE_TYPES_WIDENED };
const char *source_types(char out[MODEL_TYPES], const struct source *s, enum source_types which);

#endif
