#ifndef PRATTLE_MODEL_SCHEMA_H
#define PRATTLE_MODEL_SCHEMA_H
/*
 * The one list of a model's tensors: names, shapes, weight decay, and the field that the forward
 * pass reads. Parameters, training weights, names in files and adapters are all derived from it;
 * the names are GPT-2's, in the models of others too (weights/tensors/names.h). The rows of a layer
 * are contiguous, a matrix directly before its bias; rows of untied models come last. What is
 * frozen follows from the run alone (all of it with an adapter, else nothing), so no row says it.
 */
#include "model/tensors.h"

/* The token embedding, and the output head, which is the same matrix where they are tied. */
#define SCHEMA_EMBEDDING "wte.weight"
#define SCHEMA_HEAD "lm_head.weight"

struct schema_row {
    const char *name; /* in Hugging Face files, without "transformer." and "h.N." */
    const char *gguf; /* in GGUF, without "blk.N." and ".weight" or ".bias" */
    enum param_kind kind;
    /* In letters of config.h: "C", "3A", "F", "V"; "n" is n_ctx, "1" is 1. */
    const char *rows, *cols;
    bool in_layer;    /* one tensor for each layer; else one for the model */
    bool untied_only; /* exists only without tie_word_embeddings */
    bool gpt2_only;   /* GPT-Neo has no such tensor */
    bool decays;      /* weight decay on matrices applies */
    int fused;        /* as in struct param_tensor */
    /* Of the field in struct layer or struct params: a struct linear (CONV1D, EMBEDDING), or else a
     * float pointer. */
    size_t offset;
};

/* A tensor of a model: its row, and its layer, -1 outside the layers. */
struct schema_tensor {
    const struct schema_row *row;
    int layer;
};

/* How many tensors a model has, and tensor i of them. */
int schema_count(const struct config *c);
struct schema_tensor schema_tensor(const struct config *c, int i);
/* The index of layer 0's first tensor, and the number of tensors in each layer. */
int schema_first_of_layers(const struct config *c);
int schema_tensors_per_layer(const struct config *c);
/* The tensor's rows and columns, as in struct param_tensor. */
void schema_shape(const struct schema_row *row, const struct config *c, int *rows, int *cols);
/* The tensor's name in out [n]: "h.0.attn.c_attn.weight". */
void schema_name(char *out, size_t n, struct schema_tensor t);
/* The tensor of such a name; row NULL: there is none. */
struct schema_tensor schema_find(const char *name);

/* The row of matrix i of a layer (PARAM_CONV1D, in order); NULL past the last. */
const struct schema_row *schema_matrix(int i);

static inline bool schema_is_linear(const struct schema_row *row)
{
    return row->kind == PARAM_CONV1D || row->kind == PARAM_EMBEDDING;
}
/* The tensor's field in p, for matrices and embeddings, and for all others. p->layers must exist if
 * the tensor is in a layer. */
struct linear *schema_linear(struct schema_tensor t, const struct params *p);
float *schema_data(struct schema_tensor t, const struct params *p);
void schema_set_data(struct schema_tensor t, struct params *p, float *data);

#endif
