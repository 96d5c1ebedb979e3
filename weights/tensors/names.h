#ifndef PRATTLE_WEIGHTS_TENSORS_NAMES_H
#define PRATTLE_WEIGHTS_TENSORS_NAMES_H
/*
 * The names of parameters in each format. The table of params.h has the names of schema.h, which
 * are GPT-2's in Hugging Face files without "transformer.": "h.0.attn.c_attn.weight". A naming says
 * how another kind of files names and divides them.
 */
#include "model/config.h"

#include <stdbool.h>
#include <stddef.h>

enum { NAMES_BYTES = 96 }; /* enough for every name of the table, in every format */
enum { NAMING_PARTS = 3 }; /* tensors of a file that make one of the table, at most */

struct naming_row {
    const char *tensor; /* in schema.h */
    /* In files, with NAMING_LAYER for a layer's number. Several parts are the tensor's outputs one
     * after another: queries, keys and values. */
    const char *parts[NAMING_PARTS];
};
#define NAMING_LAYER "%d"

struct naming {
    const char *title;  /* of such a model, for messages: "GPT-Neo" */
    const char *prefix; /* that writers put before all names but the head's */
    bool out_major;     /* matrices are [out,in], as nn.Linear keeps them; else Conv1D's [in,out] */
    bool may_lack_biases;  /* a bias of a matrix or a layer norm that is missing is zero */
    bool scales_embedding; /* x is wte sqrt(C) + wpe, which reading puts into wte */
    bool sinusoidal;       /* wpe is not stored but computed (Vaswani et al. 2017, as in fairseq) */
    int skip_positions;    /* rows of wpe before that of position 0 */
    const struct naming_row *rows; /* [n_rows], of tensors with other names than schema.h's */
    int n_rows;
};

/* That of Hugging Face files of this type. */
const struct naming *naming_hf(enum model_type type);
/* Into how many parts the tensor of this name is divided. */
int naming_parts(const struct naming *n, const char *name);
/* The name of one of them in out [size], without the prefix. */
void naming_part(char *out, size_t size, const struct naming *n, const char *name, int part);

/* The GGUF name of a parameter of the table: "blk.0.attn_qkv.weight". A name that is none of
 * GPT-2's gives "". */
void names_gguf(char *out, size_t n, const char *name);

/* A name as a file has it, without what wrappers put before it: "transformer.", "module.",
 * "_orig_mod."; borrowed from it. */
const char *names_plain(const char *name);
/* Whether a name without "transformer." is that of the output head. */
bool names_is_head(const char *plain);
/* Whether it is a buffer of old files that no one needs: the causal mask "h.0.attn.bias", or
 * "h.0.attn.masked_bias", in GPT-Neo "h.0.attn.attention.bias". */
bool names_is_mask(const char *plain);

#endif
